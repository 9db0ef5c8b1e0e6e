// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/plan/explanation"
	"github.com/carillon-dev/carillon/internal/plan/lint"
	"github.com/carillon-dev/carillon/internal/plan/simulation"
	"github.com/carillon-dev/carillon/internal/plan/upcoming"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/manifest"
)

// preview is what an edit would change.
type preview struct {
	// Same: nothing at all.
	Same bool
	// Before and After are the schedules in words, and Zones the zones in which they are read.
	Before, After         []string
	ZoneBefore, ZoneAfter *time.Location
	// Times are the next ones, side by side; TimesChange tells whether they differ.
	Times       []timePair
	TimesChange bool
	// Obstacle says why nothing would start; "" if something would.
	Obstacle string
	// AtOnce says what would start because of the edit.
	AtOnce []string
	// Remarks are what is new to be known: what surprises, and what lint finds; Gone are those that the edit mends.
	Remarks []remark
	Gone    []string
	// SetBack says who will undo it.
	SetBack []string
	// Lines are the difference, and TooMuch why it is not shown; "" if it is.
	Lines   []diffLine
	TooMuch string
}

// timePair is the n-th next time as it is and as it would be; zero if there is none. Held says why
// no run starts then, "" if one does.
type timePair struct {
	Before, After         time.Time
	BeforeHeld, AfterHeld string
}

// Kept tells whether they are the same.
func (p timePair) Kept() bool { return p.Before.Equal(p.After) && p.BeforeHeld == p.AfterHeld }

// Two tells whether one of the times reads otherwise in the zone of the viewer.
func (p *preview) Two(at time.Time, in, viewer *time.Location) bool {
	_, one := at.In(in).Zone()
	_, other := at.In(viewer).Zone()
	return !at.IsZero() && one != other
}

// remark is something to be known. Level is "error", "warning" or "info".
type remark struct{ ID, Level, Message, Cure string }

type diffLine struct{ Class, Text string }

// nextTimes is how many of them are shown.
const nextTimes = 5

// preview fills in what the edit would change, and what keeps it from being saved.
func (r *request) preview(ctx context.Context, e *edit, wanted, change map[string]any) error {
	p := &preview{Same: len(change) == 0}
	e.Preview = p
	if p.Same {
		return nil
	}
	stored := &unstructured.Unstructured{Object: r.live.DeepCopy().Object}
	merge(stored.Object, change)
	answer, err := r.try(ctx, change)
	switch {
	case err == nil && answer != nil:
		stored = answer
		if stored.GetKind() == "" {
			stored.SetGroupVersionKind(r.gvk)
		}
	case err != nil && !e.blame(err):
		return err
	}
	after, err := readScheduled(ctx, r.server, stored)
	if err != nil { // the API server has said what is wrong
		if len(e.Faults) == 0 && !e.faulty() {
			return err
		}
		return nil
	}
	p.compare(r.scheduled, after, r)
	p.SetBack = setBack(r.live, changedFields(change)...)
	text, err := manifest.Diff(strings.ToLower(r.gvk.Kind)+"/"+r.live.GetName(), clean(r.live.Object), clean(stored.Object))
	if err != nil {
		p.TooMuch = err.Error()
	}
	p.Lines = diffLines(text)
	return nil
}

// compare fills in how the schedule would be another one.
func (p *preview) compare(before, after *workload.Scheduled, r *request) {
	was, becomes := explanation.OfObject(before, nil, r.now), explanation.OfObject(after, nil, r.now)
	p.Before, p.After = inWords(was), inWords(becomes)
	p.Obstacle = after.Obstacle()
	timesBefore, timesAfter := upcoming.Of(before, nil), upcoming.Of(after, nil)
	p.ZoneBefore, p.ZoneAfter = timesBefore.Zone, timesAfter.Zone
	listBefore, listAfter := r.times(timesBefore), r.times(timesAfter)
	p.TimesChange = before.Policy.Timing.Fingerprint != after.Policy.Timing.Fingerprint
	for i := range max(len(listBefore), len(listAfter)) {
		var pair timePair
		if i < len(listBefore) {
			pair.Before, pair.BeforeHeld = listBefore[i].At, held(timesBefore, listBefore[i])
		}
		if i < len(listAfter) {
			pair.After, pair.AfterHeld = listAfter[i].At, held(timesAfter, listAfter[i])
		}
		p.Times = append(p.Times, pair)
		p.TimesChange = p.TimesChange || !pair.Kept()
	}
	if resumptionOf(after, r.now).suspended {
		p.AtOnce = []string{"It is suspended: nothing starts."}
	} else if p.Obstacle == "" {
		p.AtOnce = startsAtOnce(before, after, r)
	}
	p.Remarks, p.Gone = remarks(was, becomes, before, after, r.now)
	if len(p.Remarks) > 0 && p.Remarks[0].Level == lint.Error.String() {
		p.Obstacle = "" // it is told there, with its cure
	}
}

// times are the next ones, and of what is suspended until an instant those after that.
func (r *request) times(source *upcoming.Source) []upcoming.Time {
	from := r.now.Add(1)
	if source.SuspendedUntil.After(from) {
		from = source.SuspendedUntil
	}
	return source.List(from, nextTimes).Times
}

// held says why no run starts at a time; "" if one does.
func held(source *upcoming.Source, t upcoming.Time) string {
	switch {
	case !t.Suspended:
		return ""
	case source.Paused && !source.Suspended:
		return "(paused)"
	}
	return "(suspended)"
}

// startsAtOnce says what an edit starts. One of the timing counts from now on; another one is as if the controller
// looked at the new object with what it remembers.
func startsAtOnce(before, after *workload.Scheduled, r *request) []string {
	if before.Policy.Timing.Fingerprint == after.Policy.Timing.Fingerprint {
		return atOnce(after, nil, r)
	}
	return atOnce(before, []simulation.Edit{{At: r.now.Truncate(time.Second), Object: after}}, r)
}

// inWords are the schedules of an explanation in words.
func inWords(e *explanation.Explanation) []string {
	var all []string
	for _, s := range e.Schedules {
		text := s.Words
		if text == "" {
			text = s.Text
		} else {
			text = "It runs " + text
		}
		if s.Name != "" && len(e.Schedules) > 1 {
			text = s.Name + ": " + text
		}
		all = append(all, text)
	}
	return append(all, e.Limits...)
}

// remarks are those that there are after an edit and were not there before, the worst first, and what it mends.
func remarks(was, becomes *explanation.Explanation, before, after *workload.Scheduled, now time.Time) (added []remark, gone []string) {
	all := func(e *explanation.Explanation, s *workload.Scheduled) []remark {
		var found []remark
		report := lint.Check(&workload.Objects{Scheduled: []*workload.Scheduled{s}}, lint.Options{Now: now})
		for level := lint.Error; level >= lint.Info; level-- {
			for _, f := range report.Findings {
				if f.Rule.Level == level {
					found = append(found, remark{f.Rule.ID, level.String(), sentence(f.Message), f.Cure})
				}
			}
		}
		for _, s := range e.Surprises {
			if !hasID(found, s.ID) {
				found = append(found, remark{s.ID, "warning", sentence(s.Message), s.Cure})
			}
		}
		return found
	}
	old, present := all(was, before), all(becomes, after)
	for _, f := range present {
		if !has(old, f) {
			added = append(added, f)
		}
	}
	for _, f := range old {
		if !hasID(present, f.ID) {
			gone = append(gone, f.Message)
		}
	}
	return added, gone
}

// sentence ends with a full stop.
func sentence(text string) string { return upper(strings.TrimSuffix(text, ".")) + "." }

func has(all []remark, r remark) bool {
	for _, each := range all {
		if each.ID == r.ID && each.Message == r.Message {
			return true
		}
	}
	return false
}

func hasID(all []remark, id string) bool {
	for _, each := range all {
		if each.ID == id {
			return true
		}
	}
	return false
}

// diffLines are the lines of a difference without its head.
func diffLines(text string) []diffLine {
	var lines []diffLine
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		class := "same"
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
			if len(lines) < 2 {
				continue
			}
		case strings.HasPrefix(line, "@@"):
			class = "place"
		case strings.HasPrefix(line, "+"):
			class = "added"
		case strings.HasPrefix(line, "-"):
			class = "removed"
		}
		lines = append(lines, diffLine{class, line})
	}
	return lines
}
