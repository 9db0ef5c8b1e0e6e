// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// model is a journal in maps.
type model struct {
	runs      map[types.UID]run.Run
	attempts  map[string]run.Attempt
	order     []string // of the attempts
	logs      map[string]string
	omissions map[string]run.Omission
}

func newModel() *model {
	return &model{runs: map[types.UID]run.Run{}, attempts: map[string]run.Attempt{}, logs: map[string]string{}, omissions: map[string]run.Omission{}}
}

func (m *model) record(news run.Run) {
	old, known := m.runs[news.UID]
	if !news.Outcome.Ended() {
		news.Ended = time.Time{}
	} else {
		news.Suspended = false
	}
	if known {
		over := old.Outcome.Ended() && (old.Outcome != run.Unknown || !old.Ended.IsZero())
		if over && (news.Outcome == run.Active || news.Outcome == run.Unknown && old.Outcome != run.Unknown) {
			if old.Started.IsZero() {
				old.Started = news.Started // that it began is true all the same
			}
			m.runs[old.UID] = old
			return
		}
		if news.Started.IsZero() {
			news.Started = old.Started
		}
		if news.Ended.IsZero() && news.Outcome.Ended() {
			news.Ended = old.Ended
		}
	}
	m.runs[news.UID] = news
}

// all are the runs as a reader is to give them.
func (m *model) all() []run.Run {
	var all []run.Run
	for _, r := range m.runs {
		var last *run.Attempt
		var span run.Span
		for _, id := range m.order {
			a := m.attempts[id]
			if a.RunUID != r.UID {
				continue
			}
			span.Add(&a)
			r.Attempts++
			r.CPU += a.CPU
			r.MemoryPeak = max(r.MemoryPeak, a.MemoryPeak)
			r.OutputBytes += a.OutputBytes
			if last == nil || a.Weight() > last.Weight() || a.Weight() == last.Weight() && !a.Ended.Before(last.Ended) {
				last = &a
				r.ExitCode = new(a.ExitCode)
			}
		}
		r.Refine(span)
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b run.Run) int { return b.Time().Compare(a.Time()) })
	return all
}

func (m *model) usual() map[types.UID]Usual {
	by := map[types.UID][]time.Duration{}
	for _, r := range m.all() { // newest first
		if r.Outcome == run.Succeeded && !r.Ended.IsZero() && len(by[r.Owner.UID]) < usualRuns {
			by[r.Owner.UID] = append(by[r.Owner.UID], max(0, r.Ended.Sub(r.Begun())))
		}
	}
	usual := map[types.UID]Usual{}
	for uid, d := range by {
		slices.Sort(d)
		usual[uid] = Usual{Runs: len(d), Median: (d[(len(d)-1)/2] + d[len(d)/2]) / 2, Most: d[len(d)-1]}
	}
	return usual
}

// A journal is what a map would be, whatever comes in whatever order, and also when it is closed and opened again
// between.
func TestJournalIsAMap(t *testing.T) {
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		defer os.RemoveAll(dir)
		m := newModel()
		start := func() *Journal {
			j, err := Open(dir, Options{KeepLogs: -1, limits: quiet(), Warn: func(s string) { t.Error(s) }})
			if err != nil {
				t.Fatal(err)
			}
			return j
		}
		j := start()
		defer func() { j.Close() }()
		numbers := rapid.IntRange(0, 30)
		var r *Reader
		t.Repeat(map[string]func(*rapid.T){
			"record": func(t *rapid.T) {
				var all []run.Run
				for range rapid.IntRange(1, 4).Draw(t, "runs") {
					news := aRun(numbers.Draw(t, "run"), rapid.SampledFrom(outcomes).Draw(t, "outcome"))
					news.Owner = owner(rapid.IntRange(0, 0).Draw(t, "owner"))
					news.Suspended = rapid.Bool().Draw(t, "suspended")
					news.Message = rapid.StringN(0, 10, 50).Draw(t, "message")
					if rapid.Bool().Draw(t, "not started") {
						news.Started = time.Time{}
					}
					if news.Outcome.Ended() {
						news.Ended = at(rapid.IntRange(0, 100).Draw(t, "end"))
						if rapid.IntRange(0, 3).Draw(t, "no end") == 0 {
							news.Ended = time.Time{}
						}
					}
					all = append(all, news)
					m.record(news)
				}
				if err := j.Record(t.Context(), all, nil); err != nil {
					t.Fatal(err)
				}
			},
			"omit": func(t *rapid.T) {
				o := run.Omission{
					Namespace: "default", Owner: owner(rapid.IntRange(0, 2).Draw(t, "owner")), ScheduledTime: at(numbers.Draw(t, "time")),
					Count: rapid.Int64Range(1, 1<<40).Draw(t, "count"), Missed: rapid.Bool().Draw(t, "missed"),
					Reason: rapid.String().Draw(t, "reason"), Seen: at(numbers.Draw(t, "seen")),
				}
				m.omissions[o.Owner.Name+o.ScheduledTime.String()] = o
				if err := j.Record(t.Context(), nil, []run.Omission{o}); err != nil {
					t.Fatal(err)
				}
			},
			"attempt": func(t *rapid.T) {
				a := anAttempt(numbers.Draw(t, "attempt"), numbers.Draw(t, "of"))
				a.Started = a.Started.Add(time.Duration(rapid.IntRange(-4, 4).Draw(t, "began")) * time.Second)
				a.Ended = at(rapid.IntRange(0, 5).Draw(t, "end")).Add(time.Duration(rapid.IntRange(-3, 3).Draw(t, "after")) * time.Second)
				a.ExitCode, a.Signal = rapid.SampledFrom([]int32{0, 1, 143}).Draw(t, "code"), rapid.Int32Range(0, 1).Draw(t, "signal")
				log := logText(rapid.IntRange(0, 3).Draw(t, "lines"))
				if _, known := m.attempts[a.ContainerID]; !known {
					kept := a
					kept.KeptBytes = int64(len(log))
					m.attempts[a.ContainerID], m.logs[a.ContainerID] = kept, log
					m.order = append(m.order, a.ContainerID)
				}
				if err := j.RecordAttempt(t.Context(), a, strings.NewReader(log)); err != nil {
					t.Fatal(err)
				}
			},
			"close and open": func(t *rapid.T) {
				if err := j.Close(); err != nil {
					t.Fatal(err)
				}
				j = start()
			},
			"": func(t *rapid.T) {
				if r == nil {
					var err error
					if r, err = OpenReader(dir); err != nil {
						t.Fatal(err)
					}
				}
				m.compare(t, r)
			},
		})
		if r != nil {
			r.Close()
		}
	})
}

func (m *model) compare(t *rapid.T, r *Reader) {
	got, err := r.Runs(t.Context(), Query{})
	if err != nil {
		t.Fatal(err)
	}
	want := m.all()
	if diff := gocmp.Diff(want, append([]run.Run(nil), got...)); diff != "" {
		t.Fatal(diff)
	}
	for _, w := range want {
		kept, err := r.Attempts(t.Context(), w.UID)
		if err != nil || len(kept) != w.Attempts {
			t.Fatal(err, kept)
		}
		for _, a := range kept {
			if diff := gocmp.Diff(m.attempts[a.ContainerID], a); diff != "" {
				t.Fatal(diff)
			}
			log, err := r.Tail(t.Context(), a.ContainerID, 100)
			if err != nil || string(log) != m.logs[a.ContainerID] {
				t.Fatalf("%v %q", err, log)
			}
		}
	}
	var omissions []run.Omission
	for _, o := range m.omissions {
		omissions = append(omissions, o)
	}
	found, err := r.Omissions(t.Context(), Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, all := range [][]run.Omission{omissions, found} {
		slices.SortFunc(all, func(a, b run.Omission) int {
			return cmp.Or(b.ScheduledTime.Compare(a.ScheduledTime), cmp.Compare(a.Owner.Name, b.Owner.Name))
		})
	}
	if diff := gocmp.Diff(omissions, append([]run.Omission(nil), found...)); diff != "" {
		t.Fatal(diff)
	}
	usual, err := r.Usual(t.Context(), []types.UID{owner(0).UID})
	if err != nil || !gocmp.Equal(m.usual(), usual) {
		t.Fatal(err, gocmp.Diff(m.usual(), usual))
	}
}

// What packs comes back, and different names stay different.
func TestPack(t *testing.T) {
	for name, size := range map[string]int{
		"0f0e0d0c-0000-4000-8000-0123456789ab":              16,
		"0F0E0D0C-0000-4000-8000-0123456789AB":              36,
		"carillon://" + strings.Repeat("0a", 32):            44,
		"carillon://" + strings.Repeat("0A", 32):            75,
		strings.Repeat("a/", 200) + strings.Repeat("0", 64): 464,
		"0f0e0d0c00004000800001234567890a":                  17,
		"":                                                  0, "x": 1, "manual\x00": 7,
	} {
		v := pack(name)
		if got := unpack(v); got != name {
			t.Errorf("%q became %q", name, got)
		}
		if n := len(fmt.Sprint(v)); size != n {
			if b, ok := v.([]byte); !ok || len(b) != size {
				t.Errorf("%q takes %v", name, v)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`([a-z]{0,5}://)?[0-9a-f]{0,70}`), rapid.StringMatching(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)).Draw(t, "name")
		if got := unpack(pack(s)); got != s {
			t.Fatalf("%q became %q", s, got)
		}
	})
}

// Chunks put together are the text, and each but the last ends with a line or is full.
func TestChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text []byte
		for range rapid.IntRange(0, 12).Draw(t, "lines") {
			text = append(text, bytes.Repeat([]byte{'x'}, rapid.IntRange(0, chunkSize*3/2).Draw(t, "length"))...)
			if rapid.IntRange(0, 5).Draw(t, "end") > 0 {
				text = append(text, '\n')
			}
		}
		c := newChunker(&slowReader{rest: text, step: rapid.IntRange(1<<10, 1<<20).Draw(t, "step")})
		var all []byte
		for {
			part, err := c.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || len(part) == 0 || len(part) > chunkSize {
				t.Fatal(len(part), err)
			}
			all = append(all, part...)
			if len(all) < len(text) && part[len(part)-1] != '\n' && len(part) < chunkSize {
				t.Fatal("a line was cut")
			}
			kept := compressed(part)
			if back, err := decompressed(kept.data, kept.size); err != nil || !bytes.Equal(back, part) {
				t.Fatal("a chunk does not come back:", err)
			}
		}
		if !bytes.Equal(all, text) {
			t.Fatal("the text does not come back")
		}
	})
}

// slowReader gives a few bytes at a time, and its end with the last of them.
type slowReader struct {
	rest []byte
	step int
}

func (r *slowReader) Read(p []byte) (int, error) {
	n := copy(p, r.rest[:min(len(r.rest), r.step)])
	r.rest = r.rest[n:]
	if len(r.rest) == 0 {
		return n, io.EOF
	}
	return n, nil
}

// Whatever is in a chunk's row: an error or a text of the size that the row tells.
func FuzzChunk(f *testing.F) {
	for _, text := range []string{"", "x", logText(100)} {
		c := compressed([]byte(text))
		f.Add(c.data, c.size)
		f.Add(c.data[:len(c.data)/2], c.size)
		f.Add(c.data, c.size+1)
	}
	f.Add([]byte(nil), int64(-1))
	f.Add([]byte("no frame"), int64(1<<62))
	f.Fuzz(func(t *testing.T, data []byte, size int64) {
		text, err := decompressed(data, size)
		if err == nil && int64(len(text)) != size {
			t.Errorf("%d bytes instead of %d", len(text), size)
		}
	})
}

// The end of a log is cut out of any bytes.
func FuzzTail(f *testing.F) {
	f.Add([]byte(logText(3)), 2)
	f.Add([]byte("2026-11-02T03:00:00Z stdout P a\n2026-11-02T03:00:00Z stdout F b\nc"), 1)
	f.Add([]byte("\n\n \n"), 2)
	f.Fuzz(func(t *testing.T, text []byte, lines int) {
		lines &= 0xff
		tail := lastLines(text, lines)
		if !bytes.HasSuffix(text, tail) {
			t.Fatal("it is not the end")
		}
		if got, want := countLines(tail), min(lines, countLines(text)); got != want {
			t.Errorf("%d lines instead of %d", got, want)
		}
	})
}

func FuzzUsual(f *testing.F) {
	f.Add(encodeUsual([]finished{{1, 2, 3}, {4, 5, -6}}))
	f.Add([]byte{0x80})
	f.Fuzz(func(t *testing.T, data []byte) {
		all := decodeUsual(data)
		if again := decodeUsual(encodeUsual(all)); !slices.Equal(all, again) {
			t.Error(all, again)
		}
	})
}
