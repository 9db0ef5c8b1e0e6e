// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"encoding/json"
	"encoding/xml"
	"net/url"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/plan/lint"
)

// SARIF has what its schema requires, and what it points at exists.
func TestSARIF(t *testing.T) {
	for name, text := range corpus(t) {
		report := check(t, name, text, lint.Options{})
		out, err := lint.SARIF(report, "v1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		var log struct {
			Schema  string `json:"$schema"`
			Version string
			Runs    []struct {
				Tool struct {
					Driver struct {
						Name  string
						Rules []struct {
							ID               string
							ShortDescription struct{ Text string }
						}
					}
				}
				Results []struct {
					RuleID    string
					RuleIndex int
					Level     string
					Message   struct{ Text string }
					Locations []struct {
						PhysicalLocation *struct {
							ArtifactLocation struct{ URI string }
							Region           *struct{ StartLine, StartColumn int }
						}
					}
					Suppressions []struct{ Kind, Justification string }
				}
			}
		}
		if err := json.Unmarshal(out, &log); err != nil {
			t.Fatal(err)
		}
		if log.Version != "2.1.0" || !strings.Contains(log.Schema, "sarif-2.1.0") || len(log.Runs) != 1 {
			t.Fatalf("%s: version %q, schema %q, %d runs", name, log.Version, log.Schema, len(log.Runs))
		}
		run := log.Runs[0]
		if run.Tool.Driver.Name == "" || len(run.Tool.Driver.Rules) != len(lint.Rules) || run.Results == nil {
			t.Fatalf("%s: a driver %q with %d rules, results %v", name, run.Tool.Driver.Name, len(run.Tool.Driver.Rules), run.Results != nil)
		}
		if want := len(report.Findings) + len(report.Suppressed); len(run.Results) != want {
			t.Fatalf("%s: %d results, want %d", name, len(run.Results), want)
		}
		suppressed := 0
		for _, r := range run.Results {
			if run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || r.Message.Text == "" {
				t.Errorf("%s: %s points at rule %d: %q", name, r.RuleID, r.RuleIndex, r.Message.Text)
			}
			if r.Level != "note" && r.Level != "warning" && r.Level != "error" {
				t.Errorf("%s: level %q", name, r.Level)
			}
			place := r.Locations[0].PhysicalLocation
			if place == nil || place.ArtifactLocation.URI != name || place.Region == nil || place.Region.StartLine < 1 || place.Region.StartColumn < 0 {
				t.Errorf("%s: %s is at %+v", name, r.RuleID, place)
			}
			if len(r.Suppressions) > 0 {
				suppressed++
				if r.Suppressions[0].Kind != "inSource" || r.Suppressions[0].Justification == "" {
					t.Errorf("%s: suppressed as %+v", name, r.Suppressions[0])
				}
			}
		}
		if suppressed != len(report.Suppressed) {
			t.Errorf("%s: %d are suppressed, want %d", name, suppressed, len(report.Suppressed))
		}
	}
}

// The name of a file is one reference of a URI, whatever is in it.
func TestSARIFFileNames(t *testing.T) {
	for _, name := range []string{"a b.yaml", "jobs/ä#1.yaml", "100%.yaml", "./x?.yaml", "/etc/jobs.yaml", "C:jobs.yaml"} {
		out, err := lint.SARIF(check(t, name, "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: c, image: b}]}}}\n", lint.Options{}), "")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(out), `"uri": "`)
		reference, _, _ := strings.Cut(rest, `"`)
		parsed, err := url.Parse(reference)
		if err != nil || parsed.Path != strings.TrimPrefix(name, "./") || parsed.Fragment != "" || parsed.RawQuery != "" || parsed.Scheme != "" && parsed.Scheme != "file" {
			t.Errorf("%q is written as %q: %v, %+v", name, reference, err, parsed)
		}
	}
}

// JUnit counts what it holds, and fails what fails the command.
func TestJUnit(t *testing.T) {
	for name, text := range corpus(t) {
		report := check(t, name, text, lint.Options{})
		for _, failing := range []lint.Level{0, lint.Info, lint.Warning, lint.Error} {
			out, err := lint.JUnit(report, failing)
			if err != nil {
				t.Fatal(err)
			}
			var suites struct {
				Tests    int `xml:"tests,attr"`
				Failures int `xml:"failures,attr"`
				Suites   []struct {
					Tests    int `xml:"tests,attr"`
					Failures int `xml:"failures,attr"`
					Cases    []struct {
						Name    string `xml:"name,attr"`
						Class   string `xml:"classname,attr"`
						Failure *struct {
							Message string `xml:"message,attr"`
						} `xml:"failure"`
						Skipped *struct{} `xml:"skipped"`
					} `xml:"testcase"`
				} `xml:"testsuite"`
			}
			if err := xml.Unmarshal(out, &suites); err != nil {
				t.Fatal(err)
			}
			want := 0
			for _, f := range report.Findings {
				if failing > 0 && f.Rule.Level >= failing {
					want++
				}
			}
			cases, failures, skipped := 0, 0, 0
			for _, s := range suites.Suites {
				for _, c := range s.Cases {
					cases++
					if c.Failure != nil {
						failures++
					}
					if c.Skipped != nil {
						skipped++
					}
					if c.Name == "" || c.Class == "" {
						t.Errorf("%s: a case without a name: %+v", name, c)
					}
				}
			}
			if failures != want || suites.Failures != want || cases != suites.Tests || cases != max(1, len(report.Findings)+len(report.Suppressed)) || skipped != len(report.Suppressed) {
				t.Errorf("%s, failing %v: %d cases, %d failures, %d skipped; it says %d and %d, want %d failures", name, failing, cases, failures, skipped, suites.Tests, suites.Failures, want)
			}
		}
	}
}
