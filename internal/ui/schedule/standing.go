// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// standing is what a schedule does now.
type standing struct {
	// Class and Icon are those of a badge, Text its words.
	Class, Icon, Text string
	// Notices are what there is to know first, the worst first.
	Notices []notice
	// Running are the runs that go on; of them it is told if they take longer than others.
	Running []status.Running
	// Last is the newest run that has ended; nil if none is known. Failures is how many failed in a row until now.
	Last     *run.Run
	Failures int
	// LastOmitted is the newest time without a run, if that is newer than the newest run; nil otherwise.
	LastOmitted *run.Omission
	// Resumes: what keeps it from starting ends with the act "resume".
	Resumes bool
}

// notice is something to know first. Class is "bad", "warns" or "".
type notice struct{ Class, Icon, Text, Cure string }

// standingOf says what it does now.
func standingOf(k *known) standing {
	var s standing
	if k.scheduled == nil {
		s.Class, s.Icon, s.Text = "unknown", "question", "gone"
		text := "The object is not there any more: it was deleted. What is remembered of its runs is shown."
		if k.absent != "" {
			s.Text = "remembered"
			text = paragraph.Sentence(k.absent)
		}
		s.Notices = append(s.Notices, notice{"warns", "warning", text, ""})
	} else {
		s.served(k)
	}
	s.past(k)
	return s
}

// served says what an object that is there does.
func (s *standing) served(k *known) {
	in := status.Input{Now: k.now, Since: k.now.Add(-24 * time.Hour), Served: true, Schedules: []*workload.Scheduled{k.scheduled}, Active: k.active()}
	if k.usual.Runs > 0 {
		in.Usual = map[types.UID]status.Usual{}
		for i := range in.Active {
			in.Usual[in.Active[i].Owner.UID] = k.usual
		}
	}
	is := status.Of(&in)
	s.Running = is.Running
	tell := func(class, icon, text, cure string) { s.Notices = append(s.Notices, notice{class, icon, text, cure}) }
	badge := func(class, icon, text string) {
		if s.Text == "" {
			s.Class, s.Icon, s.Text = class, icon, text
		}
	}
	if k.scheduled.Owner.Deleting {
		badge("waits", "trash", "being deleted")
		tell("warns", "trash", "It is being deleted.", "")
	}
	for _, b := range is.Blocked {
		badge("bad", "warning", "cannot run")
		tell("bad", "warning", "Nothing starts as it is written: "+paragraph.Sentence(b.Message), "")
	}
	for i := range is.Paused {
		p := &is.Paused[i]
		s.Resumes = true
		text, cure := pausedWords(p, k.now)
		if p.Cause == cron.PauseFailures {
			badge("bad", "pause", "paused by failures")
			tell("bad", "pause", text, cure)
			continue
		}
		badge("waits", "pause", "suspended")
		tell("warns", "pause", text, cure)
	}
	for i := range is.Late {
		badge("waits", "clock", "late")
		l := &is.Late[i]
		text := "A time has come " + duration.FromNow(l.Due, k.now) + " and waits to start"
		switch {
		case len(is.Paused) > 0 && k.scheduled.Policy.CatchUpOnResume:
			text = "A time has come " + duration.FromNow(l.Due, k.now) + " and waits until it is resumed"
		case len(is.Paused) > 0:
			text = "A time has come " + duration.FromNow(l.Due, k.now) + " and is skipped: it does not start when it is resumed"
		case l.Message != "":
			text += ": " + strings.TrimSuffix(l.Message, ".")
		case l.Reason != "":
			text += ": " + l.Reason
		}
		tell("warns", "clock", text+".", "")
	}
	if len(s.Running) > 0 {
		badge("active", "play", "running")
	}
	for i := range k.scheduled.Memory.Active {
		if a := &k.scheduled.Memory.Active[i]; a.RetryAt != nil {
			badge("waits", "retry", "waits to be tried again")
			tell("warns", "retry", a.Name+" has failed, and is tried again "+duration.FromNow(*a.RetryAt, k.now)+".", "")
		}
	}
	badge("", "check", "in order")
}

// pausedWords say why nothing starts, since when and by whom, and how that ends.
func pausedWords(p *status.Paused, now time.Time) (text, cure string) {
	since := ""
	if !p.Since.IsZero() {
		since = ", since " + duration.FromNow(p.Since, now)
		if p.AtLatest {
			since += " or before"
		}
	}
	by := ""
	if p.By != "" {
		by = " It was written by " + p.By + "."
	}
	switch {
	case p.Cause == cron.PauseFailures:
		text = "It is paused" + since + ", because too many runs in a row failed."
		if p.Failures > 0 {
			text = "It is paused" + since + ", because " + quantity.Count(p.Failures, "run") + " in a row failed."
		}
		cure = "Nothing starts before it is resumed, or its spec is edited."
	case !p.Until.IsZero():
		text = "It is suspended until " + p.Until.Format("Mon 2 Jan 2006 15:04 MST") + " (" + duration.FromNow(p.Until, now) + ")."
		text += by
		cure = "It goes on by itself then."
	default:
		text = "It is suspended" + since + ": nothing starts." + by
		cure = "It goes on once it is resumed (spec.suspend: false)."
	}
	return text, cure
}

// earlier tells whether something is of an earlier object of the same name, which was deleted and made anew since.
// Where the object is gone nothing is.
func (k *known) earlier(o run.Owner) bool {
	return k.scheduled != nil && o.UID != "" && o.UID != k.scheduled.Owner.UID
}

// present are the newest runs, and times without one, but those of an earlier object; runs are marked that failed and
// are to be tried again.
func (k *known) present() ([]run.Run, []run.Omission) {
	if k.scheduled == nil {
		return k.latest, k.omissions
	}
	runs := slices.DeleteFunc(slices.Clone(k.latest), func(r run.Run) bool { return k.earlier(r.Owner) })
	return k.scheduled.MarkRetrying(runs), slices.DeleteFunc(slices.Clone(k.omissions), func(o run.Omission) bool { return k.earlier(o.Owner) })
}

// past says how the last runs ended.
func (s *standing) past(k *known) {
	runs, omissions := k.present()
	failing, times := true, run.Times(runs)
	for _, tries := range times {
		last := &tries[len(tries)-1]
		if !last.Outcome.Ended() || last.Retrying {
			continue
		}
		if s.Last == nil {
			s.Last = last
		}
		if failing = failing && last.Outcome == run.Failed; failing {
			s.Failures++
		}
	}
	if s.Failures > 1 {
		text := quantity.CountGrouped(s.Failures, "run") + " in a row failed, until the last one."
		if k.cut && s.Failures == len(times) {
			text = "All of the last " + quantity.CountGrouped(s.Failures, "run") + " failed."
		}
		s.Notices = append(s.Notices, notice{"bad", "cross", text, ""})
	}
	if len(omissions) == 0 {
		return
	}
	if o := &omissions[0]; s.Last == nil || o.ScheduledTime.After(s.Last.Time()) {
		s.LastOmitted = o
	}
}

// wordsOfTrend says whether runs take longer than they did, in a sentence.
func wordsOfTrend(s *history.Summary) string {
	switch {
	case s.Trend != nil:
		return "Runs take " + s.Trend.Words() + "."
	case s.Took.Runs >= leastForTrend:
		return "Runs take about as long as they did: no trend."
	}
	return ""
}

// leastForTrend is from how many runs on it is said that there is no trend.
const leastForTrend = 20
