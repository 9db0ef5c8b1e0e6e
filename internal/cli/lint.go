// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/plan/lint"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// warnOfErrors prints what of the manifests cannot work as it is written: the errors of carillon lint. It stops
// nothing; what the API server refuses it refuses by itself.
func warnOfErrors(out *console.Console, objects []manifest.Object, now time.Time) {
	for _, message := range lintErrors(objects, now) {
		out.Print(console.Line{Type: console.Warning, Message: message})
	}
}

// lintErrors are the errors of carillon lint, one line each.
func lintErrors(objects []manifest.Object, now time.Time) []string {
	var read []workload.Object
	for _, o := range objects {
		read = append(read, workload.Object{Content: o.Unstructured, Source: o.Source.String(), File: o.Source.File, Line: o.Source.Line})
	}
	all, err := workload.Read(read, workload.Options{Zone: time.Local})
	if err != nil {
		return nil // which the API server tells
	}
	errors, _ := lint.Check(all, lint.Options{Now: now}).AtLeast(lint.Error)
	var messages []string
	for _, f := range errors.Findings {
		messages = append(messages, fmt.Sprintf("%s: %s. %s [lint: %s]", f.Object, f.Message, f.Cure, f.Rule.ID))
	}
	return messages
}
