// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guard decides who may see and change anything on the page.
package guard

import "context"

// Session is what is known of a viewer who may see the page.
type Session struct {
	// CSRF must come back with each form that he sends.
	CSRF string
}

type sessionKey struct{}

// SessionOf gives the session of a request; the zero value if nobody has a session.
func SessionOf(ctx context.Context) Session {
	s, _ := ctx.Value(sessionKey{}).(Session)
	return s
}
