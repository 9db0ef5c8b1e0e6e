// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package description

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// steps are the commands that lead on from here.
func (d *Description) steps(in *Input) {
	name := in.Object.reference()
	add := func(command, why string) {
		flags := in.Flags
		if verb, _, _ := strings.Cut(command, " "); verb == "why" || verb == "explain" { // which ask the API server
			flags = in.ServerFlags
		}
		d.Steps = append(d.Steps, diagnosis.Step{Command: "carillon " + command + flags, Why: why})
	}
	logs := func(of, why string) {
		if len(in.Runs) > 0 {
			add("logs "+of, why)
		}
	}
	failed := d.Failure != nil && d.Failure.Run.Outcome == run.Failed
	switch {
	case in.Object.Kind == "Job":
		logs(name, "all that it wrote")
		if !d.Gone {
			add("why "+name, "why it is in its state, with the evidence")
		}
	case failed:
		logs("--failed "+name, "all that the last failed run wrote")
	default:
		logs(name, "what the newest run wrote")
	}
	if in.Object.Kind != "Job" {
		add("history "+name, "all runs, with their durations")
	}
	if d.Gone {
		return
	}
	if in.Object.Kind != "Job" {
		add(fmt.Sprintf("why %s --at %q", name, d.asked(in).Format("2006-01-02 15:04")), "why it ran, or did not, at a time")
		add("explain "+name, "its schedule and policies in plain words")
	}
	kubectl := "kubectl"
	if in.Evidence != nil {
		kubectl = cmp.Or(in.Evidence.Kubectl, kubectl)
	}
	object := kubectl + " -n " + diagnosis.Quoted(in.Object.Namespace) + " get " + name + " -o yaml"
	if !slices.ContainsFunc(d.Steps, func(s diagnosis.Step) bool { return s.Command == object }) {
		d.Steps = append(d.Steps, diagnosis.Step{Command: object, Why: "the object itself, which is not shown here"})
	}
}

// asked is a time worth asking about: the newest that had no run, or started late, or else the newest.
func (d *Description) asked(in *Input) time.Time {
	at := in.Now
	for i := len(d.Entries) - 1; i >= 0; i-- {
		if e := &d.Entries[i]; e.Run != nil && e.Run.ScheduledTime != nil {
			at = *e.Run.ScheduledTime
		}
	}
	for i := len(d.Entries) - 1; i >= 0; i-- {
		switch e := &d.Entries[i]; {
		case e.Omission != nil && e.Omission.ScheduledTime != nil:
			at = *e.Omission.ScheduledTime
		case e.Run != nil && e.Run.ScheduledTime != nil && e.Run.LatenessSeconds != nil && *e.Run.LatenessSeconds > 60:
			at = *e.Run.ScheduledTime
		}
	}
	return at.In(d.zone)
}

// reference is how commands name it.
func (o *Object) reference() string { return strings.ToLower(o.Kind) + "/" + diagnosis.Quoted(o.Name) }
