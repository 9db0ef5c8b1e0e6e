// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package byhand_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/client/byhand"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// A name is the same for the same request, fits, and is that of no scheduled time.
func TestName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.StringMatching(`[a-z]([-a-z0-9.]{0,250}[a-z0-9])?`).Draw(t, "of")
		request := rapid.String().Draw(t, "request")
		name := byhand.Name(of, request)
		if name != byhand.Name(of, request) || len(name) > 63 || strings.HasSuffix(strings.TrimSuffix(name, name[strings.LastIndex(name, "-m-"):]), ".") {
			t.Fatal(name)
		}
		for _, k := range kind.All {
			if at, scheduled := run.TimeInName(k, of, name); scheduled {
				t.Fatalf("%s is the name of %s", name, at)
			}
		}
	})
}
