// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// others are the kinds that are left to another controller, and why. The zero value has none.
type others struct {
	mu  sync.Mutex
	why map[string]string
}

// set notes why a kind is left alone, "" when it is served.
func (o *others) set(kind, why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if why == "" {
		delete(o.why, kind)
		return
	}
	if o.why == nil {
		o.why = map[string]string{}
	}
	o.why[kind] = why
}

// check is for /readyz: a manager that does not do what it was asked for is not ready.
func (o *others) check(*http.Request) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.why) == 0 {
		return nil
	}
	return errors.New(strings.Join(slices.Sorted(maps.Values(o.why)), "; "))
}
