// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// A run that is interrupted while its image comes ends as any other that is interrupted; what has come stays for the
// next pull.
func TestInterruptedPull(t *testing.T) {
	eachUser(t, func(w *imageUser) {
		t, marker := w.t, "31.41595"
		const size = 2 << 20
		reg := newImageRegistry(t)
		img := newImage(t, v1.Config{Entrypoint: probeEntry}, files{"big": noise(size)})
		gate := reg.holdUp(t, img)
		ref := reg.push(t, "public/big:1", img)
		job := imageJob{name: "big", image: ref, args: []string{"echo:" + marker}}.String()
		for name, args := range map[string][]string{"run": {"run", "-f", "-"}, "image pull": {"image", "pull", ref}} {
			cmd := exec.CommandContext(t.Context(), carillon, append(args, "--image-dir", w.images)...)
			cmd.Env = append(environment(), w.env...)
			cmd.Dir = w.dir
			if w.as != nil {
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: w.as}
			}
			cmd.Stdin = strings.NewReader(job)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			must(t, cmd.Start())
			soon(t, "the download of "+name, gate.hit)
			until(t, "half of it to be here", func() bool { return w.partSize(gate.digest) > size/4 })
			must(t, cmd.Process.Signal(os.Interrupt))
			if code := endsBy(t, cmd, forever/4); code != 130 {
				t.Errorf("%s: exit code %d\n%s", name, code, &out)
			}
			w.wantNothingRuns(marker)
			w.wantNothingTemporary()
			if w.wantWhole() != 0 {
				t.Errorf("%s: there are images after half a download", name)
			}
		}
		if got := w.command(job, "run", "-f", "-", "--timeout", "1s"); got.code != 124 {
			t.Errorf("with a timeout: %+v", got)
		}
		w.wantNothingTemporary()
		close(gate.open)
		// Two at once bring it once.
		before := reg.asked("GET", gate.digest)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if got := w.command(job, "run", "-f", "-"); got.code != 0 || got.stdout != marker+"\n" {
					t.Errorf("two at once: %+v", got)
				}
			})
		}
		both.Wait()
		if n := reg.asked("GET", gate.digest) - before; n != 1 || reg.asked("GET", gate.digest, "bytes=") == 0 {
			t.Errorf("two at once downloaded it %d times:\n%s", n, strings.Join(reg.seen, "\n"))
		}
		w.wantNothingLeft(marker)
	})
}
