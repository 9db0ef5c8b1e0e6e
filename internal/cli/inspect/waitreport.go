// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// waitDocument is what has become of all that was waited for, for programs.
type waitDocument struct {
	document
	// Result is one of these words for all: that by which the exit code goes.
	Result waitWord   `json:"result"`
	Items  []waitItem `json:"items"`
}

type waitItem struct {
	Reference string           `json:"reference"`
	Namespace string           `json:"namespace"`
	Result    waitWord         `json:"result"`
	Message   string           `json:"message,omitempty"`
	Run       *run.RunDocument `json:"run"`
}

// waitWord is what has become of waiting.
type waitWord string

const (
	waitSucceeded   waitWord = "Succeeded"
	waitFailed      waitWord = "Failed"
	waitGone        waitWord = "Gone" // deleted before it had ended, or nobody saw its end
	waitTimeout     waitWord = "Timeout"
	waitInterrupted waitWord = "Interrupted"
	waitWaiting     waitWord = "Waiting" // not ended when another one decided (--any)
	waitError       waitWord = "Error"
)

// codes are the exit codes of the words, the worst first.
var codes = []struct {
	word waitWord
	code int
}{
	{waitInterrupted, exitcode.Interrupted}, {waitError, exitcode.Failed}, {waitTimeout, exitcode.Timeout},
	{waitGone, exitcode.Failed}, {waitFailed, exitcode.Failed}, {waitSucceeded, 0},
}

// wordOf is the word for one result.
func (r *waitResult) wordOf(ctx, limited context.Context) waitWord {
	stopped := errors.Is(r.err, context.Canceled) || errors.Is(r.err, context.DeadlineExceeded)
	switch {
	case stopped && ctx.Err() != nil:
		return waitInterrupted
	case r.err != nil && limited.Err() != nil:
		return waitTimeout
	case stopped:
		return waitWaiting
	case r.err != nil:
		return waitError
	case r.run == nil, r.vanished, r.run.Outcome == run.Unknown, r.run.Outcome == run.Cancelled:
		return waitGone
	case r.run.Outcome == run.Succeeded:
		return waitSucceeded
	}
	return waitFailed
}

// sentence says what has become of it; "" if that is no more than was asked for.
func (w *wait) sentence(r *waitResult, word waitWord) string {
	now, name := w.clock(), r.of.ref.String()
	if r.run != nil && runReference(r.run) != name {
		name = runReference(r.run) + " of " + name
	}
	switch word {
	case waitError:
		return r.err.Error()
	case waitGone:
		if r.run == nil || r.run.Outcome == run.Unknown {
			return name + " is gone, and nobody saw how it ended"
		}
		return name + " was deleted before it had ended"
	case waitFailed:
		return name + " " + outcomeText(r.run, now)
	case waitTimeout:
		how := "no run has begun"
		if why := r.of.held(); why != "" {
			how += ", and none starts by itself: " + why
		}
		if r.run != nil {
			how = outcomeText(r.run, now)
		}
		return fmt.Sprintf("gave up after %s: %s has not ended (%s)", w.timeout, name, how)
	case waitSucceeded:
		return name + " " + outcomeText(r.run, now)
	}
	return ""
}

// report says what has become of all, and gives the exit code.
func (w *wait) report(ctx, limited context.Context, results []waitResult) error {
	now := w.clock()
	doc := waitDocument{document: newDocument("WaitResult"), Result: waitSucceeded, Items: []waitItem{}}
	has := map[waitWord]bool{}
	var said []string
	var fault error
	for i := range results {
		r := &results[i]
		word := r.wordOf(ctx, limited)
		has[word] = true
		text := w.sentence(r, word)
		item := waitItem{Reference: r.of.ref.String(), Namespace: r.of.namespace, Result: word, Message: text}
		if r.run != nil {
			document := run.Document(*r.run, now)
			item.Run = &document
		}
		doc.Items = append(doc.Items, item)
		switch {
		case word == waitError && fault == nil:
			fault = r.err
		case word == waitError, text == "":
		case word != waitSucceeded, console.IsTerminal(w.streams.Err):
			said = append(said, text)
		}
	}
	code := 0
	for _, c := range codes {
		if has[c.word] {
			doc.Result, code = c.word, c.code
			break
		}
	}
	var own *exitcode.Error
	if errors.As(fault, &own) {
		code = own.Code
	}
	if w.output.JSON {
		if err := output.WriteJSON(w.streams.Out, doc); err != nil {
			return err
		}
	}
	if fault != nil {
		said = append(said, fault.Error())
	}
	if code == 0 {
		for _, line := range said {
			fmt.Fprintln(w.streams.Err, console.EscapeControls(line))
		}
		return nil
	}
	if len(said) == 0 {
		return &exitcode.Error{Code: code}
	}
	return &exitcode.Error{Code: code, Err: errors.New(strings.Join(said, "\n"))}
}

// say writes a line to standard error while it waits.
func (w *wait) say(text string) {
	w.saying.Lock()
	defer w.saying.Unlock()
	fmt.Fprintln(w.streams.Err, console.EscapeControls(strings.ReplaceAll(text, "\n", " ")))
}

// statusLine shows on a terminal what is waited for.
type statusLine struct {
	line   *console.StatusLine
	waits  []*waitRun
	clock  func() time.Time
	ticker *time.Ticker
}

func (w *wait) newStatusLine(waits []*waitRun) *statusLine {
	s := &statusLine{line: console.NewStatusLine(w.streams.Err), waits: waits, clock: w.clock}
	if s.line.Visible() {
		s.ticker = time.NewTicker(time.Second)
		s.show()
	}
	return s
}

// tick tells when to show it again; never where nobody sees it.
func (s *statusLine) tick() <-chan time.Time {
	if s.ticker == nil {
		return nil
	}
	return s.ticker.C
}

func (s *statusLine) show() { s.line.Show(s.text()) }

func (s *statusLine) text() string {
	var open []string
	for _, w := range s.waits {
		r := w.current()
		switch {
		case r == nil:
			open = append(open, fmt.Sprintf("%s (no run yet)", w.of.ref))
		case !r.Outcome.Ended():
			open = append(open, fmt.Sprintf("%s (%s)", runReference(r), outcomeText(r, s.clock())))
		}
	}
	if len(open) == 1 {
		return "waiting for " + open[0]
	}
	return fmt.Sprintf("waiting for %s: %s", quantity.Count(len(open), "run"), strings.Join(open, ", "))
}

func (s *statusLine) clear() {
	if s.ticker != nil {
		s.ticker.Stop()
	}
	s.line.Clear()
}
