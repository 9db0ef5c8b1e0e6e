// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/evidence"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/description"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// How much is read: more runs than a timeline shows apart, and a few lines of output.
const (
	mostDescribed = 2000
	shownTimes    = 5
	shownEntries  = 8
	shownLines    = 10
	shownRuns     = 200 // of which the state follows
)

// kindNames are the kinds of objects that references name.
var kindNames = map[string]string{"cronjob": "CronJob", "timetable": "Timetable", "job": "Job"}

// gather finds out what is known of an object.
func (d *describe) gather(ctx context.Context, ref reference.Reference) (*description.Input, error) {
	from, server, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }() // it was only read
	in := &description.Input{
		Now: d.clock(), Object: description.Object{Kind: kindNames[ref.Kind], Namespace: d.target.NamespaceOf(server), Name: ref.Name},
		Next: shownTimes, Entries: shownEntries,
	}
	in.Flags, in.ServerFlags = d.flags()
	var notThere *evidence.NotThere
	if server == nil {
		in.NoServer = "no API server was asked"
		if d.target.Journal == "" {
			in.NoServer = "the Carillon of this machine does not run, so its objects cannot be read"
		}
	} else if in.Evidence, err = d.ask(ctx, server, ref, in.Now); err != nil && !errors.As(err, &notThere) {
		return nil, err
	}
	if err := d.remembered(ctx, from, in); err != nil {
		return nil, err
	}
	in.Origin = from.Origin(ctx)
	switch {
	case in.Evidence != nil || len(in.Runs)+len(in.Omissions) > 0:
		return in, nil
	case notThere != nil:
		return nil, notThere
	}
	names, err := d.target.Names(ctx, ref.Kind)
	if err != nil {
		return nil, err
	}
	return nil, reference.NotThere(ref, in.Object.Namespace, names)
}

// query chooses the runs of what is described.
func query(in *description.Input) journal.Query {
	q := journal.Query{Namespace: in.Object.Namespace, Limit: mostDescribed}
	e := in.Evidence
	if in.Object.Kind == "Job" {
		q.Name, q.Limit = in.Object.Name, 1
		if e != nil && e.Job != nil {
			q.UID = e.Job.UID
		}
		return q
	}
	q.OwnerKind, q.OwnerName = in.Object.Kind, in.Object.Name
	if e != nil && e.Scheduled != nil {
		q.OwnerUID = e.Scheduled.Owner.UID
	}
	return q
}

// remembered adds what is known of runs.
func (d *describe) remembered(ctx context.Context, from lookup.Source, in *description.Input) (err error) {
	if e := in.Evidence; e != nil {
		describeObject(in, e)
	}
	q := query(in)
	if in.Runs, err = from.Runs(ctx, q); err != nil {
		return err
	}
	in.RunsCut = len(in.Runs) == mostDescribed
	if in.Object.Kind == "Job" {
		if len(in.Runs) == 0 && in.Evidence != nil && in.Evidence.Job != nil {
			in.Runs = []run.Run{run.FromJob(in.Evidence.Job)}
		}
	} else if in.Omissions, err = from.Omissions(ctx, q); err != nil {
		return err
	}
	if e := in.Evidence; e != nil {
		e.Remember(diagnosis.Journal{Runs: in.Runs[:min(len(in.Runs), shownRuns)], Omissions: in.Omissions})
	}
	if len(in.Runs) == 0 {
		return nil
	}
	owner := in.Runs[0].Owner.UID
	if owner != "" {
		usual, err := from.Usual(ctx, []types.UID{owner})
		if err != nil {
			return err
		}
		in.Usual = description.Usual{Runs: usual[owner].Runs, Median: usual[owner].Median, Most: usual[owner].Most}
	}
	shown := &in.Runs[0]
	if in.Object.Kind != "Job" {
		q.Outcomes, q.Limit = []run.Outcome{run.Failed}, 1
		failed, err := from.Runs(ctx, q)
		if err != nil || len(failed) == 0 {
			return err
		}
		shown = &failed[0]
	}
	in.Failure, err = outputOf(ctx, from, shown)
	return err
}

func describeObject(in *description.Input, e *diagnosis.Evidence) {
	switch {
	case e.Job != nil:
		in.Object.APIVersion, in.Object.UID, in.Object.Namespace = "batch/v1", e.Job.UID, cmp.Or(e.Job.Namespace, in.Object.Namespace)
	case e.Scheduled != nil:
		in.Object.APIVersion = e.Scheduled.Content.GetAPIVersion()
		in.Object.UID, in.Object.Namespace = e.Scheduled.Owner.UID, e.Scheduled.Owner.Namespace
	}
}

// outputOf is a run with its attempts and the end of what the last one that failed wrote, or else the last one.
func outputOf(ctx context.Context, from lookup.Source, r *run.Run) (*description.Output, error) {
	attempts, err := from.Attempts(ctx, r)
	if err != nil {
		return nil, err
	}
	got := &description.Output{Run: *r, Attempts: attempts}
	got.Run.Sum(attempts)
	if len(attempts) == 0 {
		got.Missing = "no container of it is known"
		return got, nil
	}
	told := &attempts[len(attempts)-1]
	for i := range attempts {
		if attempts[i].Failed() {
			told = &attempts[i]
		}
	}
	got.Pod, got.Container = told.Pod, told.Container
	tail, err := from.Tail(ctx, told, shownLines)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	got.Lines = linesOf(tail, shownLines)
	if len(got.Lines) == 0 {
		got.Missing = "it wrote nothing, or its output is not kept any more"
		if tail != nil {
			got.Missing = "it wrote nothing"
		}
	}
	return got, nil
}

// linesOf are the last lines of a log in the format of CRI.
func linesOf(log []byte, most int) []string {
	var lines []string
	reader, open := crilog.NewReader(bytes.NewReader(log)), false
	for {
		piece, err := reader.Next()
		if err != nil {
			return lines[max(0, len(lines)-most):]
		}
		if text := string(piece.Text); open {
			lines[len(lines)-1] += text
		} else {
			lines = append(lines, text)
		}
		open = piece.Ending == crilog.Continues
	}
}

// flags are those that name the same place in another command, and those of them that name an API server and a
// namespace.
func (d *describe) flags() (all, server string) {
	for _, flag := range []struct{ name, value string }{
		{"kubeconfig", d.target.Cluster.Kubeconfig}, {"context", d.target.Cluster.Context}, {"data-dir", d.target.Cluster.DataDir},
		{"namespace", d.target.Cluster.Namespace},
	} {
		if flag.value != "" {
			server += " --" + flag.name + " " + diagnosis.Quoted(flag.value)
		}
	}
	if all = server; d.target.Journal != "" {
		all += " --journal " + diagnosis.Quoted(d.target.Journal)
	}
	return all, server
}
