// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package description

import (
	"cmp"
	"strings"

	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// remembered is what is known of an object that is gone, or that nobody could be asked about.
func (d *Description) remembered(in *Input) {
	d.Gone = true
	name := strings.ToLower(in.Object.Kind) + "/" + in.Object.Name
	if in.NoServer != "" {
		d.First = append(d.First, "This is what is remembered: "+strings.TrimRight(in.NoServer, ".")+".")
	} else {
		d.First = append(d.First, "There is no "+name+" any more: it was deleted. This is what is remembered of its runs.")
	}
	d.State = State{Verdict: diagnosis.CannotTell, Sentences: []diagnosis.Sentence{}, Summary: quantity.Count(len(in.Runs), "run") + " remembered"}
	if len(in.Runs) == 0 {
		return
	}
	newest := &in.Runs[0]
	if in.Object.Kind != "Job" {
		d.State.Summary += "; the last one, of " + duration.FromNow(newest.Time(), in.Now) + ", " + outcomeWords[newest.Outcome]
		return
	}
	d.State.Verdict, d.State.Reason = verdicts[newest.Outcome], newest.Reason
	d.State.Summary = outcomeWords[newest.Outcome]
	if !newest.Ended.IsZero() {
		d.State.Summary += " " + duration.FromNow(newest.Ended, in.Now)
	}
	if text := cmp.Or(newest.Message, newest.Reason); text != "" {
		d.State.Summary += ": " + text
	}
}

var verdicts = map[run.Outcome]diagnosis.Verdict{run.Succeeded: diagnosis.Succeeded, run.Failed: diagnosis.Failed, run.Active: diagnosis.Running}

var outcomeWords = map[run.Outcome]string{
	run.Active: "had not ended", run.Succeeded: "succeeded", run.Failed: "failed", run.Cancelled: "was cancelled",
	run.Unknown: "ended, nobody saw how",
}
