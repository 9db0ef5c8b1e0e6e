// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"path"
	"strings"
)

// The parts of SARIF 2.1.0 that code hosts read.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string      `json:"id"`
		ShortDescription sarifText   `json:"shortDescription"`
		FullDescription  sarifText   `json:"fullDescription"`
		Help             sarifText   `json:"help"`
		Configuration    sarifConfig `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
)

// sarifLevels are SARIF's words for the levels.
var sarifLevels = map[Level]string{Info: "note", Warning: "warning", Error: "error"}

// SARIF is a report as SARIF 2.1.0, with the findings that were suppressed and why. version is that of the program.
func SARIF(report *Report, version string) ([]byte, error) {
	driver := sarifDriver{Name: "carillon lint", Version: version, InformationURI: "https://github.com/carillon-dev/carillon/blob/main/docs/planning.md#lint"}
	index := map[string]int{}
	for i, r := range Rules {
		index[r.ID] = i
		driver.Rules = append(driver.Rules, sarifRule{
			ID: r.ID, ShortDescription: sarifText{r.Summary}, FullDescription: sarifText{r.Reason}, Help: sarifText{r.Cure},
			Configuration: sarifConfig{sarifLevels[r.Level]},
		})
	}
	results := []sarifResult{}
	for _, findings := range [][]Finding{report.Findings, report.Suppressed} {
		for _, f := range findings {
			result := sarifResult{
				RuleID: f.Rule.ID, RuleIndex: index[f.Rule.ID], Level: sarifLevels[f.Rule.Level],
				Message:   sarifText{f.Name() + ": " + f.Message + ". " + f.Cure},
				Locations: []sarifLocation{{Physical: physical(f), Logical: []sarifLogical{{f.Name() + " " + f.Path.String()}}}},
			}
			if f.Suppressed != "" {
				result.Suppressions = []sarifSuppression{{"inSource", f.Suppressed}}
			}
			results = append(results, result)
		}
	}
	return json.MarshalIndent(sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{Tool: sarifTool{driver}, ColumnKind: "unicodeCodePoints", Results: results}},
	}, "", "  ")
}

// physical is where a finding stands in a file; nil for an object that an API server gave.
func physical(f Finding) *sarifPhysical {
	if f.File == "" {
		return nil
	}
	p := &sarifPhysical{Artifact: sarifArtifact{fileURI(f.File)}}
	if f.Line > 0 {
		p.Region = &sarifRegion{f.Line, f.Column}
	}
	return p
}

// fileURI is the name of a file as a reference of a URI: relative, unless the file was named by its whole path.
func fileURI(name string) string {
	name = path.Clean(name)
	var b strings.Builder
	if strings.HasPrefix(name, "/") {
		b.WriteString("file://")
	}
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		const hexDigits = "0123456789ABCDEF"
		b.WriteByte('%')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
	return b.String()
}
