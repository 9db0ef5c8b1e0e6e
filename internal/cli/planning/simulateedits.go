// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/plan/simulation"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// identity is what makes two versions the same object.
type identity struct {
	schema.GroupVersionKind
	namespace, name string
}

// readEdits reads the files of --edit: each object takes the place of the one of its name. A Calendar changes the
// Timetables that name it.
func (s *simulate) readEdits(ctx context.Context, all *workload.Objects, objects []*workload.Scheduled, span simulation.Span, zone *time.Location) ([]simulation.Edit, error) {
	type editFile struct {
		at         time.Time
		text, file string
	}
	var files []editFile
	for _, text := range s.edits {
		i := strings.LastIndex(text, "@")
		if i <= 0 || i == len(text)-1 {
			return nil, exitcode.UsageError("--edit %q: write FILE@TIME, such as new.yaml@2027-03-01T14:00 or new.yaml@+2h", text)
		}
		at, err := simulateTime("--edit", text[i+1:], span.From, zone)
		if err != nil {
			return nil, err
		}
		if !span.Contains(at) {
			return nil, exitcode.UsageError("--edit %q lies outside of what is simulated, %s to %s", text, span.From.Format(time.RFC3339), span.To.Format(time.RFC3339))
		}
		files = append(files, editFile{at, text, text[:i]})
	}
	slices.SortStableFunc(files, func(a, b editFile) int { return a.at.Compare(b.at) })

	namespace := cmp.Or(s.input.read.Namespace, "default")
	identityOf := func(o workload.Object) identity {
		return identity{o.Content.GroupVersionKind(), cmp.Or(o.Content.GetNamespace(), namespace), o.Content.GetName()}
	}
	var current []workload.Object
	for _, o := range all.Scheduled {
		current = append(current, o.Object)
	}
	current = append(current, all.Others...)
	before := objects
	var edits []simulation.Edit
	for _, f := range files {
		in := input{files: []string{f.file}}
		loaded, err := in.fromFiles(ctx, s.Streams, s.tell)
		if err != nil {
			return nil, err
		}
		if len(loaded) == 0 {
			return nil, exitcode.UsageError("--edit %q: there is no object in %s", f.text, f.file)
		}
		current = slices.Clone(current)
		replaced := map[identity]bool{}
		for _, o := range loaded {
			id := identityOf(o)
			i := slices.IndexFunc(current, func(c workload.Object) bool { return identityOf(c) == id })
			if i < 0 {
				return nil, exitcode.UsageError("--edit %q: there is no %s %s/%s to be edited; it is to be in the files or the cluster that are simulated",
					f.text, id.Kind, id.namespace, id.name)
			}
			current[i], replaced[id] = o, true
		}
		after, err := workload.Read(current, s.input.read)
		if err != nil {
			return nil, exitcode.UsageError("--edit %q: %w", f.text, err)
		}
		for i, object := range before {
			k := slices.IndexFunc(after.Scheduled, func(o *workload.Scheduled) bool { return simulation.Same(o, object) })
			if k < 0 {
				continue
			}
			version := after.Scheduled[k]
			if replaced[identityOf(version.Object)] || version.Policy.Timing.Fingerprint != object.Policy.Timing.Fingerprint {
				edits = append(edits, simulation.Edit{At: f.at, Object: version, Source: f.file})
				before = slices.Clone(before)
				before[i] = version
			}
		}
	}
	return edits, nil
}
