// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/task"
	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
)

// OutputLines is how many lines of the output of a failed run are shown at most.
const OutputLines = 3

// Outputs remembers the end of what failed runs wrote: it does not change any more. The zero value remembers nothing
// yet; its methods may be called at once.
type Outputs struct {
	mu    sync.Mutex
	lines map[types.UID][]string
}

// settled is how long after its end the output of a run may still come: a node hands it over, and a journal takes it
// in.
const settled = 2 * time.Minute

func (o *Outputs) of(r *run.Run) (lines []string, known bool) {
	if o == nil {
		return nil, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	lines, known = o.lines[r.UID]
	return lines, known
}

// keep remembers the lines of those failures that were read and have been over for long, and forgets those of others.
func (o *Outputs) keep(failures []status.Failure, read []bool, now time.Time) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines = map[types.UID][]string{}
	for i := range read {
		if r := &failures[i].Run; read[i] && !r.Ended.IsZero() && now.Sub(r.Ended) > settled {
			o.lines[r.UID] = failures[i].Output
		}
	}
}

// outputs looks up the end of what the newest failures wrote. What cannot be had is left out.
func (g *gatherer) outputs(ctx context.Context, failures []status.Failure) {
	var remembered *Outputs
	if g.o.Known != nil {
		remembered = g.o.Known.Outputs
	}
	read := make([]bool, min(len(failures), mostTails))
	_ = task.Each(g.log(), "the output of a run", atOnce, len(read), func(n int) error {
		f := &failures[n]
		var known bool
		if f.Output, known = remembered.of(&f.Run); known {
			read[n] = true
			return nil
		}
		attempts, err := g.o.Source.Attempts(ctx, &f.Run)
		if err != nil {
			g.note("the output of failed runs is not known: %v", err)
			return nil
		}
		if a := attemptToShow(attempts); a != nil {
			tail, err := g.o.Source.Tail(ctx, a, OutputLines)
			if err != nil && !apierrors.IsNotFound(err) {
				g.note("the output of failed runs is not known: %v", err)
			}
			f.Output, read[n] = lastTextLines(tail, OutputLines), err == nil
		}
		return nil
	})
	remembered.keep(failures, read, g.o.Now)
}

// attemptToShow is the attempt whose output says most about a failure: the last one that failed, or else the last one.
func attemptToShow(attempts []run.Attempt) *run.Attempt {
	for n := len(attempts) - 1; n >= 0; n-- {
		if attempts[n].Failed() {
			return &attempts[n]
		}
	}
	if n := len(attempts); n > 0 {
		return &attempts[n-1]
	}
	return nil
}

// colorCodes are what programs write to terminals for colours.
var colorCodes = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// longestLine is how much of a line of output is shown, in bytes.
const longestLine = 1000

// lastTextLines are the last lines of a log in the format of CRI that say something, without colours.
func lastTextLines(log []byte, count int) []string {
	reader := crilog.NewReader(bytes.NewReader(log))
	var lines []string
	for {
		piece, err := reader.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return nil
			}
			break
		}
		text := piece.Text[:min(len(piece.Text), longestLine)]
		if line := strings.TrimRight(string(colorCodes.ReplaceAll(text, nil)), " \t\r"); line != "" {
			lines = append(lines, strings.ToValidUTF8(line, "\uFFFD"))
		}
	}
	return lines[max(0, len(lines)-count):]
}
