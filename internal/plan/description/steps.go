// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package description

import (
	"strings"

	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// steps are the commands that lead on from here.
func (d *Description) steps(in *Input) {
	name := in.Object.reference()
	add := func(command, why string) {
		d.Steps = append(d.Steps, diagnosis.Step{Command: "carillon " + command + in.Flags, Why: why})
	}
	failed := d.Failure != nil && d.Failure.Run.Outcome == run.Failed
	switch {
	case in.Object.Kind == "Job":
		add("logs "+name, "all that it wrote")
		if !d.Gone {
			add("why "+name, "why it is in its state, with the evidence")
		}
	case failed:
		add("logs --failed "+name, "all that the last failed run wrote")
	default:
		add("logs "+name, "what the newest run wrote")
	}
	if in.Object.Kind != "Job" {
		add("history "+name, "all runs, with their durations")
	}
	if d.Gone {
		return
	}
	if in.Object.Kind != "Job" {
		add("why "+name+" --at \"02:00\"", "why it ran, or did not, at a time")
		add("explain "+name, "its schedule and policies in plain words")
	}
	add("kubectl"+in.Flags+" get "+name+" -o yaml", "the object itself, which is not shown here")
	last := &d.Steps[len(d.Steps)-1]
	last.Command = strings.TrimSuffix(last.Command, in.Flags)
	if in.Evidence != nil && in.Evidence.Kubectl != "" {
		last.Command = in.Evidence.Kubectl + " -n " + diagnosis.Quoted(in.Object.Namespace) + " get " + name + " -o yaml"
	}
}

// reference is how commands name it.
func (o *Object) reference() string { return strings.ToLower(o.Kind) + "/" + diagnosis.Quoted(o.Name) }
