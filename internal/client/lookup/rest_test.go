// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// oneLog has one log.
type oneLog struct {
	Source
	open func() (io.Reader, error)
}

func (o oneLog) Log(context.Context, *run.Attempt) (io.ReadCloser, error) {
	r, err := o.open()
	return io.NopCloser(r), err
}

func TestRest(t *testing.T) {
	const first, second = logTime + " stdout F one\n", logTime + " stdout F two\n"
	text := func(s string) io.Reader { return strings.NewReader(s) }
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		open func() (io.Reader, error)
		pass error
		from string // what was read before
		want string
		err  error
	}{
		"all":          {open: func() (io.Reader, error) { return text(first + second), nil }, want: "one two "},
		"after a mark": {open: func() (io.Reader, error) { return text(first + second), nil }, from: first, want: "two "},
		"nothing more": {open: func() (io.Reader, error) { return text(first), nil }, from: first},
		"gone":         {open: func() (io.Reader, error) { return text(""), fs.ErrNotExist }, err: fs.ErrNotExist},
		"goes while it is read": {open: func() (io.Reader, error) {
			return io.MultiReader(text(first), iotest.ErrReader(fs.ErrNotExist)), nil
		}, want: "one ", err: fs.ErrNotExist},
		"cannot be read": {open: func() (io.Reader, error) { return iotest.ErrReader(io.ErrClosedPipe), nil }, err: io.ErrClosedPipe},
		"not taken":      {open: func() (io.Reader, error) { return text(first + second), nil }, pass: refused, want: "one ", err: refused},
	} {
		t.Run(name, func(t *testing.T) {
			var from crilog.Mark
			for before := crilog.NewReader(text(c.from)); ; {
				p, err := before.Next()
				if err != nil {
					break
				}
				from = from.After(p)
			}
			var got string
			err := Rest(t.Context(), oneLog{open: c.open}, &run.Attempt{}, from, func(p crilog.Piece) error {
				got += string(p.Text) + " "
				return c.pass
			})
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
