// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// The parts of JUnit's XML that CI systems read.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Line    int           `xml:"line,attr,omitempty"`
		Failure *junitFailure `xml:"failure,omitempty"`
		Skipped *junitSkipped `xml:"skipped,omitempty"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
)

// JUnit is a report in the XML of JUnit: a suite for each file, in it a case for each finding, which has failed if it
// is of a level that fails the command, from failing up, or has passed; and one that has passed if nothing was found.
// What was suppressed is skipped. failing 0 lets none fail.
func JUnit(report *Report, failing Level) ([]byte, error) {
	all := junitSuites{Name: "carillon lint"}
	suites := map[string]int{}
	suite := func(f Finding) *junitSuite {
		name := f.File
		if name == "" {
			name = "cluster"
		}
		if _, there := suites[name]; !there {
			suites[name] = len(all.Suites)
			all.Suites = append(all.Suites, junitSuite{Name: printable(name)})
		}
		return &all.Suites[suites[name]]
	}
	newCase := func(f Finding) junitCase {
		return junitCase{Name: printable(f.Rule.ID + ": " + f.Path.String()), Class: printable(f.Name()), File: printable(f.File), Line: f.Line}
	}
	for _, f := range report.Findings {
		s, c := suite(f), newCase(f)
		if failing > 0 && f.Rule.Level >= failing {
			text := fmt.Sprintf("%s\n%s", f.Message, f.Cure)
			if f.File != "" {
				text = fmt.Sprintf("%s:%d: %s", f.File, f.Line, text)
			}
			c.Failure = &junitFailure{Type: f.Rule.Level.String(), Message: printable(f.Message), Text: printable(text)}
			s.Failures++
		}
		s.Cases = append(s.Cases, c)
	}
	for _, f := range report.Suppressed {
		s, c := suite(f), newCase(f)
		c.Skipped = &junitSkipped{printable("suppressed: " + f.Suppressed)}
		s.Skipped++
		s.Cases = append(s.Cases, c)
	}
	if len(all.Suites) == 0 { // no case at all looks to CI systems as if nothing had run
		all.Suites = append(all.Suites, junitSuite{Name: "carillon lint", Cases: []junitCase{{Name: fmt.Sprintf("%d objects", report.Objects), Class: "lint"}}})
	}
	for i := range all.Suites {
		s := &all.Suites[i]
		s.Tests = len(s.Cases)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Skipped += s.Skipped
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	return append([]byte(xml.Header), append(text, '\n')...), err
}

// printable is a text without what XML cannot hold.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return '�'
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
}
