// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"fmt"
	"strings"

	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/plan/lint"
)

// lintRulesDocument is what lint --rules writes with -o json.
type lintRulesDocument struct {
	document
	Rules []lintRule `json:"rules"`
}

type lintRule struct {
	ID      string `json:"id"`
	Level   string `json:"level"`
	Kinds   string `json:"kinds"`
	Summary string `json:"summary"`
	Reason  string `json:"reason"`
	Cure    string `json:"cure"`
	Fix     string `json:"fix,omitempty"`
}

// showRules lists all rules, or explains those with these ids.
func (l *lintCommand) showRules(ids []string) error {
	rules := lint.Rules
	if len(ids) > 0 {
		rules = nil
		for _, id := range ids {
			if err := knownRule(id); err != nil {
				return err
			}
			rules = append(rules, lint.Find(id))
		}
	}
	switch l.format {
	case "json":
		doc := lintRulesDocument{document: newDocument("LintRules"), Rules: []lintRule{}}
		for _, r := range rules {
			doc.Rules = append(doc.Rules, lintRule{r.ID, r.Level.String(), r.Kinds, r.Summary, r.Reason, r.Cure, r.Fix})
		}
		return output.WriteJSON(l.Out, doc)
	case "text":
	default:
		return exitcode.UsageError("--rules is written as text or json, not as %s", l.format)
	}
	width := output.WidthOf(l.Out)
	var b strings.Builder
	for i, r := range rules {
		if len(ids) == 0 {
			lintWrap(&b, fmt.Sprintf("%-8s %-31s ", r.Level, r.ID), strings.Repeat(" ", 41), r.Summary, width)
			continue
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		explainRule(&b, r, width)
	}
	if len(ids) == 0 {
		b.WriteString("\ncarillon lint --rules ID explains one.\n")
	}
	writeEscaped(l.Out, b.String())
	return nil
}

func explainRule(b *strings.Builder, r *lint.Rule, width int) {
	fmt.Fprintf(b, "%s (%s)\n", r.ID, r.Level)
	for _, part := range []struct{ title, text string }{
		{"finds", r.Summary}, {"in", r.Kinds}, {"why", r.Reason}, {"cure", r.Cure}, {"--fix", r.Fix},
		{"leave it", fmt.Sprintf("carillon.dev/lint-ignore: %q", r.ID+": your reason")},
	} {
		if part.text != "" {
			lintWrap(b, fmt.Sprintf("  %-10s", part.title), strings.Repeat(" ", 12), part.text, width)
		}
	}
}
