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

// pausedKinds are the kinds that are left to another controller, and why. The zero value has none.
type pausedKinds struct {
	mu  sync.Mutex
	why map[string]string
}

// set notes why a kind is left alone, "" when it is served.
func (p *pausedKinds) set(kind, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if why == "" {
		delete(p.why, kind)
		return
	}
	if p.why == nil {
		p.why = map[string]string{}
	}
	p.why[kind] = why
}

// check is for /readyz: a manager that does not do what it was asked for is not ready.
func (p *pausedKinds) check(*http.Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.why) == 0 {
		return nil
	}
	return errors.New(strings.Join(slices.Sorted(maps.Values(p.why)), "; "))
}
