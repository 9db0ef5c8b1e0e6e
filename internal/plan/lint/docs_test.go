// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/plan/lint"
)

const (
	planningDoc = "../../../docs/planning.md"
	tableBegins = "| rule | level | finds | in | `--fix` |\n|---|---|---|---|---|\n"
)

// The table of rules in docs/planning.md is the table of rules.
func TestDocumentedRules(t *testing.T) {
	var want strings.Builder
	for _, r := range lint.Rules {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s | %s |\n", r.ID, r.Level, r.Summary, r.Kinds, r.Fix)
	}
	doc, err := os.ReadFile(planningDoc)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(doc), tableBegins)
	if !found {
		t.Fatal("docs/planning.md has no table of rules")
	}
	got, after, _ := strings.Cut(rest, "\n\n")
	if got+"\n" == want.String() {
		return
	}
	if !*update {
		t.Fatalf("docs/planning.md has another table of rules; go test -run TestDocumentedRules -update writes it. Want\n%s", want.String())
	}
	if err := os.WriteFile(planningDoc, []byte(before+tableBegins+want.String()+"\n"+after), 0o600); err != nil {
		t.Fatal(err)
	}
}
