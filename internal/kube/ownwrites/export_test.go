// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ownwrites

import "k8s.io/apimachinery/pkg/types"

// Pending returns how many own writes for owner the cache was not yet seen to show.
func (s *Store[T]) Pending(owner types.UID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.owners[owner])
}
