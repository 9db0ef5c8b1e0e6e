// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

// apiVersion is that of what the planning commands write with -o json. Within it fields are only added.
const apiVersion = "plan.carillon.dev/v1"

// document begins each JSON document.
type document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

func newDocument(kind string) document { return document{APIVersion: apiVersion, Kind: kind} }

// docsPage describes the documents.
const docsPage = "docs/planning.md"
