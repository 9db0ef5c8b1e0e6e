// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/terminal"
)

// download is the address of the output of an attempt as a file. plain: without colours and other sequences.
func download(r *run.Run, attempt string, plain bool) string {
	v := url.Values{"uid": {string(r.UID)}, "attempt": {attempt}, "download": {"1"}}
	if plain {
		v.Set("plain", "1")
	}
	return path(r, "/log") + "?" + v.Encode()
}

// download answers with an output as text, byte by byte as it was written, or plain. A log is never anything else than
// text to a browser, whatever is in it.
func (h *handlers) download(w http.ResponseWriter, r *http.Request) error {
	found, err := h.find(r)
	if err != nil {
		return err
	}
	ctx, q := r.Context(), r.URL.Query()
	all, err := h.site.Source.Attempts(ctx, &found.run)
	if err != nil {
		return err
	}
	k := known{run: found.run}
	k.attempts, k.numbers, k.count = run.Numbered(all)
	chosen, name := k.attempts, found.run.Name
	if id := q.Get("attempt"); id != "" && id != together {
		i := k.find(id)
		if i < 0 {
			return page.NotFound("The run %s has no such attempt.", found.run.Name)
		}
		chosen = k.attempts[i : i+1]
		if k.count > 1 {
			name += "-attempt-" + strconv.Itoa(k.numbers[i])
		}
		name += "-" + chosen[0].Container
	}
	merged := h.open(ctx, chosen, false)
	defer merged.Close()
	writer, first, err := merged.Next()
	if errors.Is(err, io.EOF) {
		lost, failed := gone(merged, chosen)
		if failed != nil {
			return failed
		}
		for i := range lost {
			if !lost[i].WroteNothing() {
				return page.NotFound("Its output is gone: %s.", lookup.WhyGone(ctx, h.site.Source))
			}
		}
	} else if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	w.Header().Set("Cache-Control", "no-store")
	if q.Get("download") != "" {
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(name) + ".log"}))
	}
	if err == nil {
		t := &textWriter{w: bufio.NewWriterSize(w, 64<<10), plain: q.Get("plain") != ""}
		if len(chosen) > 1 {
			t.names = writers(chosen)
		}
		if err := t.copy(merged, writer, first); err != nil && ctx.Err() == nil {
			// What was sent must not look whole.
			h.site.Log.Error("output cannot be sent to its end", "path", r.URL.Path, "error", err)
			panic(http.ErrAbortHandler)
		}
	}
	return nil
}

// textWriter writes lines as text.
type textWriter struct {
	w     *bufio.Writer
	plain bool
	// names begin lines, if several write.
	names    []string
	programs map[[2]int]*terminal.Program
	open     [2]int // the writer and stream of the line that has not ended, if inLine
	inLine   bool
}

// copy writes a piece that was read, and what follows it.
func (t *textWriter) copy(from *crilog.Merger, writer int, p crilog.Piece) error {
	for {
		if err := t.write(writer, p); err != nil {
			return err
		}
		var err error
		writer, p, err = from.Next()
		if errors.Is(err, io.EOF) {
			for _, failure := range from.Failures() {
				if !failure.Missing() {
					return failure.Err
				}
			}
			if t.inLine && len(t.names) > 0 {
				_ = t.w.WriteByte('\n') // an error comes again
			}
			return t.w.Flush()
		}
		if err != nil {
			return err
		}
	}
}

func (t *textWriter) write(writer int, p crilog.Piece) error {
	who := [2]int{writer, 0}
	if p.Stderr {
		who[1] = 1
	}
	if t.inLine && t.open != who {
		_ = t.w.WriteByte('\n') // an error comes again
		t.inLine = false
	}
	if !t.inLine && len(t.names) > 0 {
		_, _ = fmt.Fprintf(t.w, "%s │ ", t.names[writer]) // an error comes again
	}
	text := p.Text
	if t.plain {
		if t.programs == nil {
			t.programs = map[[2]int]*terminal.Program{}
		}
		if t.programs[who] == nil {
			t.programs[who] = &terminal.Program{}
		}
		text = []byte(terminal.Text(t.programs[who].Line(text)))
	}
	t.open, t.inLine = who, p.Ending != crilog.Newline
	_, err := t.w.Write(text)
	if p.Ending == crilog.Newline {
		err = t.w.WriteByte('\n')
	}
	return err
}

// fileName leaves of a name what is a good name of a file everywhere.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '.', r == '_':
			return r
		}
		return '-'
	}, name)
	name = strings.TrimLeft(name, ".-")
	if name == "" {
		return "output"
	}
	return name[:min(len(name), 200)]
}
