// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"archive/tar"
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// BenchmarkLayer measures a layer of 20,000 small files and one of 150 MB, plain and zipped, beside tar -x of the same
// archive, and a million empty files for the memory they take.
func BenchmarkLayer(b *testing.B) {
	form := mustForm(b)
	for _, shape := range []struct {
		name  string
		files int
		size  func(*rand.Rand) int
		zips  []string
	}{
		{"small", 20_000, func(r *rand.Rand) int { return 200 + r.IntN(3800) }, []string{"tar -x", "plain", "gzip"}},
		{"large", 300, func(r *rand.Rand) int { return 250_000 + r.IntN(500_000) }, []string{"tar -x", "plain", "gzip", "zstd"}},
		{"million", 999_000, func(*rand.Rand) int { return 0 }, []string{"gzip"}},
	} {
		for _, zip := range shape.zips {
			b.Run(shape.name+"/"+zip, func(b *testing.B) {
				if shape.name == "million" && testing.Short() {
					b.Skip("takes long")
				}
				path := benchLayer(b, shape.files, shape.size, zip)
				for b.Loop() {
					b.StopTimer()
					g := &rig{t: b, store: newStore(b), form: form}
					dir, work, input := g.mkdir(), g.mkdir(), open(b, path)
					stop := watchMemory()
					b.StartTimer()
					if zip == "tar -x" {
						cmd := exec.Command("tar", "-x", "-C", dir)
						cmd.Stdin = input
						if out, err := cmd.CombinedOutput(); err != nil {
							b.Fatalf("%v %s", err, out)
						}
					} else if _, err := Layer(b.Context(), Request{Form: form, Store: g.store, Target: dir, Work: work, Compressed: input}); err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					b.ReportMetric(float64(stop())/1024, "MB-memory")
					input.Close()
					if err := Remove(dir); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
			})
		}
	}
}

func open(b *testing.B, path string) *os.File {
	b.Helper()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	return f
}

// benchLayer writes an archive of files that look like text to a zipper.
func benchLayer(b *testing.B, files int, size func(*rand.Rand) int, zip string) string {
	b.Helper()
	f, err := os.CreateTemp(b.TempDir(), "")
	if err != nil {
		b.Fatal(err)
	}
	buffered := bufio.NewWriterSize(f, 1<<20)
	var out io.WriteCloser = nopCloser{buffered}
	switch zip {
	case "gzip":
		out, _ = gzip.NewWriterLevel(buffered, gzip.BestSpeed)
	case "zstd":
		out, _ = zstd.NewWriter(buffered)
	}
	r := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 1<<20)
	for i := range text {
		text[i] = "etaoinshrdlu cmfwyp\n"[r.IntN(20)]
	}
	w := tar.NewWriter(out)
	for i := range files {
		n := size(r)
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("usr/lib/p%d/d%d/f%d", i/600, i/100, i), Mode: 0o644, Size: int64(n), ModTime: time.Unix(1e9, 0)}); err != nil {
			b.Fatal(err)
		}
		at := r.IntN(len(text) - n + 1)
		if _, err := w.Write(text[at : at+n]); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []io.Closer{w, out} {
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
	if err := buffered.Flush(); err != nil {
		b.Fatal(err)
	}
	return f.Name()
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// watchMemory looks at the most memory, in KiB, that a child of this process has while it runs.
func watchMemory() (stop func() int64) {
	var most atomic.Int64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
				lists, _ := filepath.Glob("/proc/self/task/*/children")
				for _, list := range lists {
					children, _ := os.ReadFile(list)
					for pid := range strings.FieldsSeq(string(children)) {
						status, _ := os.ReadFile("/proc/" + pid + "/status")
						_, after, ok := strings.Cut(string(status), "VmHWM:")
						if !ok || !strings.Contains(commOf(atoi(pid)), procName) {
							continue
						}
						most.Store(max(most.Load(), int64(atoi(strings.Fields(after)[0]))))
					}
				}
			}
		}
	}()
	return func() int64 { close(done); <-ended; return most.Load() }
}

func atoi(text string) int {
	n, _ := strconv.Atoi(text) // of the kernel
	return n
}
