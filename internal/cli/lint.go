// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/plan/lint"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// warnOfErrors prints what of the manifests cannot work as it is written: the errors of carillon lint. It stops
// nothing; what the API server refuses it refuses by itself.
func warnOfErrors(out *console.Console, objects []manifest.Object, texts map[string]string, now time.Time) {
	for _, message := range lintErrors(objects, texts, now) {
		out.Print(console.Line{Type: console.Warning, Message: message})
	}
}

// lintErrors are the errors of carillon lint, one line each. The texts are those of the files: comments in them
// suppress what somebody lives with.
func lintErrors(objects []manifest.Object, texts map[string]string, now time.Time) []string {
	var read []workload.Object
	for _, o := range objects {
		read = append(read, workload.Object{Content: o.Unstructured, Source: o.Source.String(), File: o.Source.File, Line: o.Source.Line})
	}
	all, err := workload.Read(read, workload.Options{Zone: time.Local, KeepUnreadable: true})
	if err != nil {
		return nil // which the API server tells
	}
	errors, _ := lint.Check(all, lint.Options{Now: now, Texts: texts}).AtLeast(lint.Error)
	var messages []string
	for _, f := range errors.Findings {
		messages = append(messages, fmt.Sprintf("%s: %s. %s [lint: %s]", f.Object, f.Message, f.Cure, f.Rule.ID))
	}
	return messages
}

// manifestTexts are the texts that manifests are read from.
type manifestTexts struct{ stdin bytes.Buffer }

// reading is standard input, of which what is read is kept.
func (m *manifestTexts) reading(stdin io.Reader) io.Reader {
	if stdin == nil {
		return nil
	}
	return io.TeeReader(stdin, &m.stdin)
}

// of gives the texts of the files of some objects. What cannot be read twice is left out.
func (m *manifestTexts) of(objects []manifest.Object) map[string]string {
	texts := map[string]string{}
	if m.stdin.Len() > 0 {
		texts["stdin"] = m.stdin.String()
	}
	for _, o := range objects {
		file := o.Source.File
		if _, known := texts[file]; known {
			continue
		}
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if text, err := os.ReadFile(file); err == nil {
			texts[file] = string(text)
		}
	}
	return texts
}
