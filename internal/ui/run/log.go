// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strconv"
	"time"

	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/run/output"
)

const (
	linesPerPage = 500
	// matchesPerPage is how many lines that match are shown at once, contextLines how many beside each.
	matchesPerPage = 200
	contextLines   = 2
	// countedBytes is up to which size the lines of a log are counted to show its end: more takes longer than a viewer
	// wants to wait.
	countedBytes = 32 << 20
	// searchFor is how long a search goes on.
	searchFor = 10 * time.Second
	// mostTogether is how many attempts are shown as one output.
	mostTogether = 50
)

// logView is the output as the page shows it.
type logView struct {
	// Attempt is the ID of the container, or together; "" if there is none.
	Attempt string
	Tabs    []tab
	Lines   []output.Line
	// Writers are the names of who wrote, by output.Line.Writer, if several did.
	Writers []string
	// Where says which lines these are.
	Where string
	// First, Earlier, Later and Last lead to other lines; "" where there are none.
	First, Earlier, Later, Last string
	// AtEnd: the last line that there is, is shown.
	AtEnd bool
	// Empty says why no line is shown, Notes what is missing.
	Empty string
	Notes []string

	// Find is what was searched for, Found what came of it, Fault what is wrong with it; MoreFound leads to more.
	Find       string
	Expression bool
	Searched   bool
	Found      string
	Fault      string
	MoreFound  string
	// ClearFind leads back from a search.
	ClearFind string
	Times     bool
	ToggleURL string
	UID       string
	Page      int

	Download, DownloadPlain string
	// Stream is where new lines come from; "" if none do.
	Stream string
	// Keep: the page has it, and keeps it.
	Keep bool
	// Line gives the address of a line.
	Line func(n int) string

	zone *time.Location
}

// Clock writes when a line was written, in the zone of the viewer.
func (v *logView) Clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(v.zone).Format(clock)
}

// output gives the output that is asked for. again: the page has it, but for its tabs.
func (h *handlers) output(ctx context.Context, k *known, q query, again bool) (*logView, error) {
	r := &k.run
	v := &logView{Find: q.Find, Expression: q.Expression, Times: q.Times, UID: string(r.UID), Page: q.Page}
	chosen := k.chosen()
	follows := q.Attempt == ""
	if at := k.find(q.Attempt); at >= 0 {
		chosen = at
	}
	switch {
	case q.Attempt == together && len(k.attempts) > 0:
		v.Attempt = together
	case chosen >= 0:
		v.Attempt = k.attempts[chosen].ContainerID
	}
	v.Tabs = k.tabs(q, v.Attempt)
	q.Attempt = v.Attempt
	goesOn := h.follow != nil && !k.stopped && !r.Outcome.Ended()
	live := goesOn && q.Line == 0 && q.Skip == 0 && q.Find == "" && v.Attempt != together
	if again && goesOn {
		v.Keep = true
		return v, nil
	}
	if goesOn && v.Attempt == together {
		v.Notes = append(v.Notes, "The run goes on. Load the page again to see more of all together, or choose an attempt to follow it.")
	}
	toggled := q
	toggled.Times = !q.Times
	v.ToggleURL, v.ClearFind = toggled.url(r), q.end().url(r)
	v.Line = func(n int) string { return q.at(max(1, n-linesPerPage/4)).url(r) }
	if v.Attempt != "" {
		v.Download, v.DownloadPlain = download(r, v.Attempt, false), download(r, v.Attempt, true)
	}
	var chosenAttempts []run.Attempt
	if v.Attempt == together {
		chosenAttempts = k.attempts[max(0, len(k.attempts)-mostTogether):]
		if n := len(k.attempts) - len(chosenAttempts); n > 0 {
			v.Notes = append(v.Notes, fmt.Sprintf("The first %s are left out here; the download has them.", quantity.CountGrouped(n, "attempt")))
		}
		v.Writers = writers(chosenAttempts)
	} else if chosen >= 0 {
		chosenAttempts = k.attempts[chosen : chosen+1]
	}
	var mark crilog.Mark
	if len(chosenAttempts) > 0 {
		gone, err := h.lines(ctx, k, q, v, chosenAttempts, &mark)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil: // the rest of the page is there without it
			v.Notes = append(v.Notes, unread("its output", err))
			v.Download, v.DownloadPlain, live = "", "", false
		default:
			h.explainGone(ctx, k, v, chosenAttempts, gone)
		}
	} else {
		v.Empty = nothingRan(k)
	}
	if live {
		last := 0
		if n := len(v.Lines); n > 0 {
			last = v.Lines[n-1].Number
		}
		at := url.Values{"uid": {string(r.UID)}, "changes": {"1"}, "after": {place{v.Attempt, mark, last}.String()}}
		if follows {
			at.Set("follow", "newest")
		}
		if q.Times {
			at.Set("times", "1")
		}
		v.Stream = path(r, "/log/events") + "?" + at.Encode()
	}
	return v, nil
}

// lines fills in the lines that are asked for, and gives the attempts of which nothing is left.
func (h *handlers) lines(ctx context.Context, k *known, q query, v *logView, attempts []run.Attempt, mark *crilog.Mark) ([]run.Attempt, error) {
	r := &k.run
	var kept int64
	for i := range attempts {
		kept += attempts[i].KeptBytes
	}
	if q.Find != "" {
		pattern, err := output.Compile(q.Find, q.Expression)
		if err != nil {
			v.Fault = err.Error() + "."
		} else {
			return h.search(ctx, k, q, v, attempts, pattern)
		}
	}
	uncounted := kept > countedBytes && q.Line == 0 && q.Skip == 0
	merged := h.open(ctx, attempts, uncounted)
	defer merged.Close()
	span := output.Span{First: q.Line, Skip: q.Skip, Count: linesPerPage}
	if k.attempts[len(k.attempts)-1].Ended.IsZero() || !r.Outcome.Ended() {
		span.Mark = mark
	}
	w, err := output.Read(ctx, merged, span)
	if err != nil {
		return nil, err
	}
	v.Lines, v.AtEnd = w.Lines, !w.After
	if uncounted {
		for i := range v.Lines {
			v.Lines[i].Number = 0
		}
		v.Where = fmt.Sprintf("the last %s of %s", quantity.CountGrouped(len(v.Lines), "line"), quantity.Bytes(kept))
		earlier := q.end()
		earlier.Skip = len(v.Lines)
		v.First, v.Earlier = q.at(1).url(r), earlier.url(r)
		return gone(merged, attempts)
	}
	if n := len(v.Lines); n > 0 {
		first, last := v.Lines[0].Number, v.Lines[n-1].Number
		v.Where = fmt.Sprintf("lines %s to %s", quantity.Grouped(first), quantity.Grouped(last))
		if w.Total > 0 {
			v.Where += " of " + quantity.Grouped(w.Total)
		}
		if first == 1 && w.Total == n {
			v.Where = quantity.CountGrouped(n, "line")
		}
		if w.Before {
			v.First, v.Earlier = q.at(1).url(r), q.at(max(1, first-linesPerPage)).url(r)
		}
		if w.After {
			v.Later, v.Last = q.at(last+1).url(r), q.end().url(r)
		}
	} else if q.Line > 1 || q.Skip > 0 {
		v.Empty, v.Last = "There is no line "+strconv.Itoa(max(q.Line, 1))+".", q.end().url(r)
	}
	return gone(merged, attempts)
}

// search fills in the lines that match.
func (h *handlers) search(ctx context.Context, k *known, q query, v *logView, attempts []run.Attempt, pattern *output.Pattern) ([]run.Attempt, error) {
	leave, ok := enter(ctx)
	if !ok {
		v.Fault = "Other searches go on, and take all the time there is. Search again in a moment."
		return nil, ctx.Err()
	}
	defer leave()
	v.Searched = true
	merged := h.open(ctx, attempts, false)
	defer merged.Close()
	until := time.Now().Add(searchFor)
	found, err := output.Find(ctx, merged, output.Search{
		For: pattern, First: q.Line, Most: matchesPerPage, Context: contextLines, Enough: func() bool { return time.Now().After(until) },
	})
	if err != nil {
		return nil, err
	}
	v.Lines = found.Lines
	v.Found = quantity.CountGrouped(found.Matches, "line") + " " + map[bool]string{true: "matches", false: "match"}[found.Matches == 1]
	if q.Line > 1 {
		v.Found += " from line " + quantity.Grouped(q.Line) + " on"
	}
	more := q
	if found.Next > 0 {
		v.Found += fmt.Sprintf("; the first %s are shown", quantity.Grouped(found.Shown))
		more.Line = found.Next
		v.MoreFound = more.url(&k.run)
	}
	if found.Stopped > 0 {
		v.Found += fmt.Sprintf(". The search took too long and ended at line %s", quantity.Grouped(found.Stopped))
		if v.MoreFound == "" {
			more.Line = found.Stopped
			v.MoreFound = more.url(&k.run)
		}
	}
	return gone(merged, attempts)
}

// open opens logs as one; only their ends, if ends.
func (h *handlers) open(ctx context.Context, attempts []run.Attempt, ends bool) *crilog.Merger {
	var logs []crilog.Log
	for i := range attempts {
		a := &attempts[i]
		log := crilog.Log{Open: func() (io.ReadCloser, error) {
			if !ends {
				return h.site.Source.Log(ctx, a)
			}
			end, err := h.site.Source.Tail(ctx, a, linesPerPage)
			if err == nil && end == nil {
				err = fs.ErrNotExist
			}
			return io.NopCloser(bytes.NewReader(end)), err
		}}
		if !a.Started.IsZero() {
			log.Since = a.Started.Add(-time.Second) // times of the API have whole seconds
		}
		logs = append(logs, log)
	}
	return crilog.Merge(logs)
}
