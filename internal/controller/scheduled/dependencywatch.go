// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// dependencyWatch fills the cache of a kind that CronJobs depend on. The controller does not wait for it: those that name
// no object of the kind are served meanwhile, and if it cannot be filled, the others say why they are not.
type dependencyWatch struct {
	gvk  schema.GroupVersionKind
	from source.SyncingSource
	// follow returns when the cache shows what a leader before this process did (takeover.go); nil if there was none.
	follow func(context.Context)
	// changed calls for a sync over those that depend on the kind.
	changed func()
	log     logr.Logger

	filled atomic.Bool
	// trouble is why it could not be filled so far, nil if nothing is known to be in the way.
	trouble atomic.Pointer[string]
}

var _ source.Source = (*dependencyWatch)(nil)

// Start implements source.Source.
func (w *dependencyWatch) Start(ctx context.Context, q queue) error {
	if err := w.from.Start(ctx, q); err != nil {
		return err
	}
	go func() {
		if err := w.from.WaitForSync(ctx); err != nil {
			if ctx.Err() == nil {
				w.log.Error(err, "Cannot watch what objects depend on", "dependency", w.gvk.String())
			}
			return
		}
		if w.follow != nil {
			w.follow(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		w.filled.Store(true)
		if w.trouble.Swap(nil) != nil {
			w.log.Info("What objects depend on can be read now", "dependency", w.gvk.String())
		}
		w.changed()
	}()
	return nil
}

// failed is told of errors of the watch, which goes on trying. What was read once stays in force.
func (w *dependencyWatch) failed(err error) {
	trouble := troubleOf(err)
	if trouble == nil || w.filled.Load() {
		return
	}
	if was := w.trouble.Swap(&trouble.Why); was != nil && *was == trouble.Why {
		return
	}
	w.log.Info("What objects depend on cannot be read: those that name none are served, the others are not. Grant get, list and watch "+
		"of it to this controller", "dependency", w.gvk.String(), "why", trouble.Why)
	w.changed()
}
