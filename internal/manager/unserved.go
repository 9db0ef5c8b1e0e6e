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

// unserved are the kinds that are left to another controller, and why. The zero value has none.
type unserved struct {
	mu  sync.Mutex
	why map[string]string
}

// set notes why a kind is left alone, "" when it is served.
func (u *unserved) set(kind, why string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if why == "" {
		delete(u.why, kind)
		return
	}
	if u.why == nil {
		u.why = map[string]string{}
	}
	u.why[kind] = why
}

// check is for /readyz: a manager that does not do what it was asked for is not ready.
func (u *unserved) check(*http.Request) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.why) == 0 {
		return nil
	}
	return errors.New(strings.Join(slices.Sorted(maps.Values(u.why)), "; "))
}
