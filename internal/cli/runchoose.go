// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/carillon-dev/carillon/internal/cli/manifest"
)

// chooseTarget picks the one object to run: by name, or because there is only one.
func (o *runOptions) chooseTarget(objects []manifest.Object) (target *manifest.Object, others []manifest.Object, err error) {
	var runnable []manifest.Object
	for _, obj := range objects {
		if gvk := obj.GroupVersionKind(); isJob(gvk) || isCronJob(gvk) || isTimetable(gvk) {
			runnable = append(runnable, obj)
			continue
		}
		others = append(others, obj)
	}
	if len(objects) == 0 {
		return nil, nil, nil
	}
	var names []string
	for i, obj := range runnable {
		if o.name == obj.GetName() || (o.name == "" && len(runnable) == 1) {
			if target != nil {
				return nil, nil, usage("%q is both %s and %s: keep one of them", o.name, *target, obj)
			}
			target = &runnable[i]
		}
		names = append(names, obj.GetName())
	}
	switch {
	case target != nil:
		return target, others, nil
	case len(runnable) == 0:
		return nil, nil, usage("there is no Job, CronJob or Timetable to run in the files")
	case o.name == "":
		return nil, nil, usage("the files hold %d Jobs, CronJobs and Timetables: say which to run, one of %q", len(runnable), names)
	}
	return nil, nil, usage("there is no Job, CronJob or Timetable %q in the files; they hold %q", o.name, names)
}
