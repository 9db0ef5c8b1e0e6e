// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// world is a run that goes on: its attempts, and what they have written.
type world struct {
	lookup.Source
	mu       sync.Mutex
	run      run.Run
	attempts []run.Attempt
	logs     map[string][]byte
}

func (w *world) Runs(context.Context, journal.Query) ([]run.Run, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return []run.Run{w.run}, nil
}

func (w *world) Attempts(context.Context, *run.Run) ([]run.Attempt, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]run.Attempt{}, w.attempts...), nil
}

func (w *world) Log(_ context.Context, a *run.Attempt) (io.ReadCloser, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return io.NopCloser(bytes.NewReader(bytes.Clone(w.logs[a.ContainerID]))), nil
}

var start = time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)

// begin starts an attempt, write lets it write lines, which all have one time, and end ends it.
func (w *world) begin(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := fmt.Sprint("c", n)
	w.attempts = append(w.attempts, run.Attempt{ContainerID: id, Pod: fmt.Sprint("pod-", n), PodUID: types.UID(id), Container: "main", Role: run.Main, Started: start.Add(time.Duration(n) * time.Minute)})
}

func (w *world) write(n int, lines ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := fmt.Sprint("c", n)
	for _, l := range lines {
		w.logs[id] = crilog.AppendRecord(w.logs[id], start, false, false, []byte(l))
	}
}

func (w *world) end(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempts[n-1].Ended = start.Add(time.Hour)
}

func (w *world) endRun() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.run.Outcome, w.run.Ended = run.Succeeded, start.Add(time.Hour)
}

// follow passes on what is written, as an API server does: it looks again every now and then.
func (w *world) follow(ctx context.Context, a run.Attempt, from crilog.Mark, pass func(crilog.Piece) error) (crilog.Mark, bool, error) {
	for {
		w.mu.Lock()
		ended := !w.attempts[len(a.ContainerID)-2+int(a.ContainerID[1]-'1')].Ended.IsZero()
		text := bytes.Clone(w.logs[a.ContainerID])
		w.mu.Unlock()
		pieces, rest := crilog.NewReader(bytes.NewReader(text)), crilog.Resumed{From: from}
		for {
			p, err := pieces.Next()
			if err != nil {
				break
			}
			if p, fresh := rest.Rest(p); fresh {
				from = from.After(p)
				if err := pass(p); err != nil {
					return from, false, err
				}
			}
		}
		if ended {
			return from, true, nil
		}
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return from, false, err
		}
	}
}

// newWorld has a run that goes on, and what serves it.
func newWorld(t *testing.T) (*world, *handlers) {
	w := &world{logs: map[string][]byte{}, run: run.Run{UID: "u", APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: "r", Created: start, Started: start, Outcome: run.Active}}
	site := uitest.Site(t, uitest.World{})
	site.Source = w
	return w, &handlers{site: site, follow: w.follow, streams: make(chan struct{}, 1)}
}

// viewer is who follows: what he was told, one line each.
type viewer struct {
	told   []string
	last   string
	stop   context.CancelFunc
	done   chan struct{}
	answer *httptest.ResponseRecorder
}

// watch asks for the stream as a browser does; last is the ID of the last event that it has.
func watch(t *testing.T, h *handlers, query, last string) *viewer {
	ctx, stop := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/run/default/r/log/events?"+query, nil)
	r.SetPathValue("namespace", "default")
	r.SetPathValue("name", "r")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	v := &viewer{stop: stop, done: make(chan struct{}), answer: httptest.NewRecorder(), last: last}
	go func() {
		defer close(v.done)
		if err := h.stream(v.answer, r); err != nil {
			v.told = append(v.told, err.Error())
		}
	}()
	return v
}

// leave ends it, and reads what came.
func (v *viewer) leave(t *testing.T) {
	v.stop()
	<-v.done
	name := ""
	for s := bufio.NewScanner(v.answer.Body); s.Scan(); {
		key, text, _ := strings.Cut(s.Text(), ": ")
		switch key {
		case "id":
			v.last = text
		case "event":
			name = text
		case "data":
			switch name {
			case "lines":
				var lines []line
				if err := json.Unmarshal([]byte(text), &lines); err != nil {
					t.Error(err)
				}
				for _, l := range lines {
					all := fmt.Sprint(l.Number, " ")
					for _, p := range l.Parts {
						all += p[1]
					}
					v.told = append(v.told, all)
				}
			default:
				v.told = append(v.told, name+" "+text)
			}
		}
	}
}

// A run is followed from its first line over a further attempt to its end.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := newWorld(t)
		v := watch(t, h, "follow=newest", "")
		time.Sleep(5 * time.Second)
		w.begin(1)
		w.write(1, "one", "two")
		time.Sleep(5 * time.Second)
		w.write(1, "three <b>")
		w.end(1)
		time.Sleep(5 * time.Second)
		w.begin(2)
		w.write(2, "again")
		time.Sleep(5 * time.Second)
		w.end(2)
		w.endRun()
		time.Sleep(5 * time.Second)
		v.leave(t)
		want := `attempt {"container":"main","id":"c1","number":1,"pod":"pod-1"};1 one;2 two;3 three <b>;attempt {"container":"main","id":"c2","number":2,"pod":"pod-2"};1 again;end {"run":true}`
		if got := strings.Join(v.told, ";"); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if h := v.answer.Header(); h.Get("Content-Type") != "text/event-stream" {
			t.Error(h)
		}
	})
}

// A viewer who comes again, however often, has each line once.
func TestStreamResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := newWorld(t)
		w.begin(1)
		var want, got []string
		last, query := "", "after="+url.QueryEscape(place{Container: "c1"}.String())
		for n := range 20 {
			for i := range n % 4 {
				text := fmt.Sprint("line ", i) // with one time and often the same text
				w.write(1, text)
				want = append(want, fmt.Sprint(len(want)+1, " ", text))
			}
			v := watch(t, h, query, last)
			time.Sleep(2 * time.Second)
			v.leave(t)
			got, last = append(got, v.told...), v.last
		}
		if strings.Join(got, ";") != strings.Join(want, ";") {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	})
}

// Who looks at one attempt is told when that has ended, and of no other.
func TestStreamOfOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := newWorld(t)
		w.begin(1)
		w.begin(2)
		w.write(1, "one")
		w.end(1)
		v := watch(t, h, "after="+url.QueryEscape(place{Container: "c1"}.String()), "")
		time.Sleep(5 * time.Second)
		v.leave(t)
		if got := strings.Join(v.told, ";"); got != `1 one;end {"run":false}` {
			t.Error(got)
		}
	})
}

// Where too many follow, the next one is told so; one that leaves makes room.
func TestStreamsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := newWorld(t)
		w.begin(1)
		first := watch(t, h, "", "")
		synctest.Wait()
		second := watch(t, h, "", "")
		synctest.Wait()
		second.leave(t)
		if len(second.told) != 1 || !strings.Contains(second.told[0], "1 outputs are followed already") && !strings.Contains(second.told[0], "Too many viewers") {
			t.Errorf("%q", second.told)
		}
		first.leave(t)
		third := watch(t, h, "", "")
		time.Sleep(time.Second)
		third.leave(t)
		if len(third.told) != 1 || !strings.HasPrefix(third.told[0], "attempt") {
			t.Errorf("%q", third.told)
		}
	})
}

// slow is a viewer who takes nothing after the first byte.
type slow struct {
	*httptest.ResponseRecorder
	taken chan struct{}
}

func (s *slow) Write(text []byte) (int, error) {
	if bytes.HasPrefix(text, []byte("retry")) {
		return len(text), nil
	}
	<-s.taken
	return 0, errors.New("the deadline has passed")
}

// What a slow viewer does not take is not read either: memory does not grow with what is written.
func TestSlowViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := newWorld(t)
		w.begin(1)
		read := 0
		h.follow = func(ctx context.Context, _ run.Attempt, from crilog.Mark, pass func(crilog.Piece) error) (crilog.Mark, bool, error) {
			for ; ; read++ {
				if err := pass(crilog.Piece{Time: start, Text: []byte("line")}); err != nil {
					return from, false, err
				}
			}
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/run/default/r/log/events", nil)
		r.SetPathValue("namespace", "default")
		r.SetPathValue("name", "r")
		viewer := &slow{httptest.NewRecorder(), make(chan struct{})}
		done := make(chan error)
		go func() { done <- h.stream(viewer, r) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if most := linesPerEvent + 2*lineQueue; read > most {
			t.Errorf("%d lines were read ahead, %d are the most", read, most)
		}
		close(viewer.taken)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestStreamRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		after string
		code  int
		edit  func(h *handlers)
	}{
		"no place":      {after: "x", code: http.StatusBadRequest},
		"a wrong mark":  {after: "c1 x-1-1 1", code: http.StatusBadRequest},
		"a wrong line":  {after: "c1 1-1-1 -1", code: http.StatusBadRequest},
		"no API server": {code: http.StatusNotFound, edit: func(h *handlers) { h.follow = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			_, h := newWorld(t)
			if test.edit != nil {
				test.edit(h)
			}
			r := httptest.NewRequest(http.MethodGet, "/run/default/r/log/events?after="+url.QueryEscape(test.after), nil)
			err := h.stream(httptest.NewRecorder(), r)
			if fault, ok := errors.AsType[*page.Fault](err); !ok || fault.Code != test.code {
				t.Error(err)
			}
		})
	}
}

// What panics while an output is followed, whatever programs have written there, ends that stream alone.
func TestStreamPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := newWorld(t)
		w.begin(1)
		h.follow = func(context.Context, run.Attempt, crilog.Mark, func(crilog.Piece) error) (crilog.Mark, bool, error) {
			panic("unreadable")
		}
		v := watch(t, h, "follow=newest", "")
		<-v.done
		if body := v.answer.Body.String(); !strings.HasSuffix(body, "retry: 10000\n\n") {
			t.Errorf("got %q", body)
		}
	})
}

// A stream ends with its site, and then nothing of it reads any more.
func TestStreamEndsWithItsSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := newWorld(t)
		w.begin(1)
		life, end := context.WithCancel(t.Context())
		h.site.Life = life
		reads := true
		h.follow = func(ctx context.Context, _ run.Attempt, from crilog.Mark, _ func(crilog.Piece) error) (crilog.Mark, bool, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			reads = false
			return from, false, ctx.Err()
		}
		v := watch(t, h, "follow=newest", "")
		synctest.Wait()
		end()
		<-v.done
		if reads {
			t.Error("it reads on")
		}
	})
}

// changing tells of changes as it is told to.
type changing struct {
	page.Cache
	changes chan struct{}
}

func (c *changing) Changes(context.Context) <-chan struct{} { return c.changes }

// The stream of a page tells of changes, so that it needs no other; the place stays that of the last line.
func TestStreamTellsOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := newWorld(t)
		c := &changing{h.site.Cache, make(chan struct{}, 1)}
		h.site.Cache = c
		w.begin(1)
		w.write(1, "one")
		for query, told := range map[string]int{"follow=newest": 0, "follow=newest&changes=1": 1} {
			v := watch(t, h, query, "")
			time.Sleep(time.Second)
			c.changes <- struct{}{}
			time.Sleep(time.Second)
			v.stop()
			<-v.done
			if body := v.answer.Body.String(); strings.Count(body, "event: changed\ndata:\n\n") != told {
				t.Errorf("%s: got %q", query, body)
			}
			for len(c.changes) > 0 {
				<-c.changes
			}
		}
	})
}
