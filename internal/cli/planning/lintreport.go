// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"fmt"
	"strings"

	"github.com/carillon-dev/carillon/internal/plan/lint"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
)

// lintDocument is what lint writes with -o json.
type lintDocument struct {
	document
	Objects    int           `json:"objects"`
	Others     int           `json:"otherObjects"`
	Errors     int           `json:"errors"`
	Warnings   int           `json:"warnings"`
	Infos      int           `json:"infos"`
	Findings   []lintFinding `json:"findings"`
	Suppressed []lintFinding `json:"suppressed"`
}

// lintFinding is one finding.
type lintFinding struct {
	Rule       string     `json:"rule"`
	Level      string     `json:"level"`
	Object     lintObject `json:"object"`
	Path       string     `json:"path"`
	File       string     `json:"file,omitempty"`
	Line       int        `json:"line,omitempty"`
	Column     int        `json:"column,omitempty"`
	Message    string     `json:"message"`
	Cure       string     `json:"cure"`
	Fixable    bool       `json:"fixable"`
	Suppressed string     `json:"suppressedReason,omitempty"`
}

type lintObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

func lintDocumentOf(report *lint.Report) lintDocument {
	return lintDocument{
		document: newDocument("LintReport"), Objects: report.Objects, Others: report.Others,
		Errors: report.Count(lint.Error), Warnings: report.Count(lint.Warning), Infos: report.Count(lint.Info),
		Findings: lintFindings(report.Findings), Suppressed: lintFindings(report.Suppressed),
	}
}

func lintFindings(findings []lint.Finding) []lintFinding {
	all := []lintFinding{}
	for _, f := range findings {
		content := f.Object.Content
		all = append(all, lintFinding{
			Rule: f.Rule.ID, Level: f.Rule.Level.String(), Path: f.Path.String(),
			Object: lintObject{content.GetAPIVersion(), content.GetKind(), content.GetNamespace(), content.GetName()},
			File:   f.File, Line: f.Line, Column: f.Column, Message: f.Message, Cure: f.Cure, Fixable: len(f.Changes) > 0, Suppressed: f.Suppressed,
		})
	}
	return all
}

// lintText is a report for people; hidden is how many findings are below the level that is shown, and
// fix what to say of those, %d, that can be mended.
func lintText(report *lint.Report, hidden, width int, fix string) string {
	var b strings.Builder
	fixable := 0
	for _, f := range report.Findings {
		place := f.Name()
		if f.File != "" {
			place = fmt.Sprintf("%s:%d: %s", f.File, f.Line, place)
		}
		fmt.Fprintf(&b, "%s\n", place)
		lintWrap(&b, fmt.Sprintf("  %s: ", f.Rule.Level), "    ", fmt.Sprintf("%s [%s]", f.Message, f.Rule.ID), width)
		cure := f.Cure
		if len(f.Changes) > 0 {
			cure += " (--fix does it)"
			fixable++
		}
		lintWrap(&b, "    ", "    ", cure, width)
		b.WriteByte('\n')
	}
	b.WriteString(lintSummary(report, hidden, fixable, fix))
	return b.String()
}

// lintSummary is the end of a report: how much there is, and what to do next.
func lintSummary(report *lint.Report, hidden, fixable int, fix string) string {
	var b strings.Builder
	looked := lintCount(report.Objects, "object")
	var parts []string
	for _, level := range []lint.Level{lint.Error, lint.Warning, lint.Info} {
		if n := report.Count(level); n > 0 {
			word := level.String()
			if level == lint.Info {
				word = "remark"
			}
			parts = append(parts, lintCount(n, word))
		}
	}
	if len(parts) == 0 {
		fmt.Fprintf(&b, "Nothing was found in %s.\n", looked)
	} else {
		fmt.Fprintf(&b, "%s in %s.\n", strings.Join(parts, ", "), looked)
	}
	if n := report.Others; n > 0 {
		fmt.Fprintf(&b, "%s of another kind %s not looked at.\n", lintCount(n, "object"), map[bool]string{true: "was", false: "were"}[n == 1])
	}
	if n := len(report.Suppressed); n > 0 {
		fmt.Fprintf(&b, "%s suppressed, each with a reason.\n", lintWere(n))
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "%s below this level: --level info shows all.\n", lintAre(hidden))
	}
	if fixable > 0 && fix != "" {
		fmt.Fprintf(&b, fix+"\n", fixable)
	}
	if len(parts) > 0 {
		b.WriteString("carillon lint --rules ID explains the rule in brackets.\n")
	}
	return b.String()
}

func lintCount(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func lintWere(n int) string {
	if n == 1 {
		return "1 finding was"
	}
	return fmt.Sprintf("%d findings were", n)
}

func lintAre(n int) string {
	if n == 1 {
		return "1 finding is"
	}
	return fmt.Sprintf("%d findings are", n)
}

// lintWrap writes a text in lines of a width: first is before the first line, rest before each other.
func lintWrap(b *strings.Builder, first, rest, text string, width int) {
	for _, line := range paragraph.Lines(first, rest, text, width) {
		fmt.Fprintln(b, line)
	}
}
