// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// reached takes in how a request to the API server went, and tells when it goes away and comes back.
func (r *Recorder) reached(err error) {
	away := unreachable(err)
	r.mu.Lock()
	changed := away != r.away
	r.away = away
	r.mu.Unlock()
	switch {
	case changed && away:
		r.o.Reached(err)
	case changed:
		r.o.Reached(nil)
	}
}

// unreachable tells whether an error says that the API server does not answer, or not us: what it answers otherwise
// carries a status.
func unreachable(err error) bool {
	if err == nil || errors.Is(err, errAgain) || errors.Is(err, errEndedAtOnce) || meta.IsNoMatchError(err) {
		return false
	}
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsServiceUnavailable(err) || apierrors.IsUnauthorized(err)
}
