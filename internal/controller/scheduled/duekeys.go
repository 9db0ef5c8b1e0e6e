// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// dueKeys are the keys whose timers have fired and whose sync has not begun. Each one holds the gate, so that from the
// instant at which thousands of CronJobs are due nothing but their starts is written.
type dueKeys struct {
	mu   sync.Mutex
	keys map[types.NamespacedName]struct{}
}

// add notes the keys and returns how many of them are new.
func (d *dueKeys) add(keys []types.NamespacedName) (added int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.keys == nil {
		d.keys = make(map[types.NamespacedName]struct{}, len(keys))
	}
	for _, key := range keys {
		if _, known := d.keys[key]; !known {
			d.keys[key] = struct{}{}
			added++
		}
	}
	return added
}

// take removes the key and reports whether it was due.
func (d *dueKeys) take(key types.NamespacedName) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.keys[key]
	delete(d.keys, key)
	return ok
}
