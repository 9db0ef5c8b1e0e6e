// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kube/fanout"
)

// ReadTyped reads objects of one kind that an API server gave in the Go type of that kind, as Read does with written
// ones, only faster: a fleet has thousands. They are kept, so the caller must not modify them. Content of what it gives
// is nil, so it is for those who look at Typed. Calendars are among others, which are as Read takes them.
func ReadTyped(k kind.Kind, objects []adapter.Object, others []Object, options Options) ([]*Scheduled, error) {
	options.Namespace = cmp.Or(options.Namespace, "default")
	known, unread := calendarsOf(others, options)
	for n, err := range unread {
		if !options.KeepUnreadable {
			return nil, fmt.Errorf("%s: %w", others[n], unreadable(others[n], err))
		}
	}
	scheduled, errs := make([]*Scheduled, len(objects)), make([]error, len(objects))
	fanout.All(runtime.GOMAXPROCS(0), len(objects), func(n int) {
		scheduled[n], errs[n] = readTyped(&Scheduled{Kind: k, Typed: objects[n], options: known.readOptions(options), known: known})
	})
	for n, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", objects[n].GetNamespace(), objects[n].GetName(), err)
		}
	}
	return scheduled, nil
}
