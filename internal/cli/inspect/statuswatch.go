// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/cli/table"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

// screenOf tells how large the terminal is that w is; 0 and 0 if it is none.
func screenOf(w io.Writer) func() (columns, rows int) {
	return func() (int, int) {
		columns := output.TableWidth(w)
		if columns == 0 {
			return 0, 0
		}
		_, rows, err := term.GetSize(int(w.(*os.File).Fd()))
		if err != nil || rows <= 0 {
			rows = 24
		}
		return columns, rows
	}
}

const (
	// drawEvery is how often the screen is drawn, and restFor how many times as long as a look takes there is rest
	// after it: a watch must not load what it watches.
	drawEvery = 2 * time.Second
	restFor   = 4
)

// What a terminal obeys: another screen, without cursor, and back; the first place of it; the rest of a line, and what
// is below, are cleared.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// runWatch draws the screen again and again until somebody interrupts it, and leaves the terminal as it was.
func (c *statusCommand) runWatch(ctx context.Context, since time.Duration, zone *time.Location) error {
	switch {
	case c.output.JSON:
		return exitcode.UsageError("--watch is for people, and -o json for programs: leave one of them out")
	case c.exitCode:
		return exitcode.UsageError("--watch ends when it is interrupted, so that --exit-code has nothing to say: leave one of them out")
	}
	if c.all {
		return exitcode.UsageError("--watch shows what the screen has room for: leave --all out, or --watch")
	}
	if columns, _ := c.screen(); columns == 0 {
		return &exitcode.Error{Code: exitcode.Usage, Err: errNotTerminal}
	}
	entered := false
	defer func() {
		if entered {
			_, _ = io.WriteString(c.Out, leaveScreen) // who is gone sees nothing
		}
	}()
	for {
		began := c.now()
		known, err := c.look(ctx, since)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !entered {
			return err
		}
		columns, rows := c.screen()
		text := statusText{known: known, zone: zone, columns: columns, rows: rows - 1, color: c.color}
		frame := fmt.Sprintf("%s\n", table.Dim.Paint(table.Shorten(began.Format("15:04:05")+"  every 2s, Ctrl-C ends it", columns), c.color))
		if err != nil {
			frame += table.Red.Paint("it cannot be asked now", c.color) + ": " + console.EscapeControls(err.Error()) + "\n"
		} else {
			frame += text.String()
		}
		if !entered {
			entered = true
			if _, err := io.WriteString(c.Out, enterScreen); err != nil {
				return err
			}
		}
		if err := c.draw(frame, rows); err != nil {
			return err
		}
		rest := max(drawEvery-c.now().Sub(began), restFor*c.now().Sub(began))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(rest):
		}
	}
}

// draw writes a frame over the one before, at most as many lines as there are.
func (c *statusCommand) draw(frame string, rows int) error {
	lines := strings.Split(strings.TrimSuffix(frame, "\n"), "\n")
	lines = lines[:min(len(lines), max(rows, 1))]
	_, err := io.WriteString(c.Out, home+strings.Join(lines, clearLine+"\r\n")+clearLine+clearBelow)
	return err
}
