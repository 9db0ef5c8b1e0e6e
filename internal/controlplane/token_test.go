// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
)

// A token is that of its user alone, and what is none is nobody's.
func TestTokens(t *testing.T) {
	var known tokens
	first, second := known.issue(&user.DefaultInfo{Name: "first"}), known.issue(&user.DefaultInfo{Name: "second"})
	for token, want := range map[string]string{first: "first", second: "second", "": "", first[1:]: "", first + "x": ""} {
		response, ok, err := known.AuthenticateToken(t.Context(), token)
		if err != nil || ok != (want != "") || (ok && response.User.GetName() != want) {
			t.Errorf("%q is that of %+v, %v, %v; want %q", token, response, ok, err, want)
		}
	}
}
