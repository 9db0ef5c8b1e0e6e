// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/console"
)

// apiVersion is that of what the planning commands write with -o json. Within it fields are only added.
const apiVersion = "plan.carillon.dev/v1"

// document begins each JSON document.
type document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

func newDocument(kind string) document { return document{APIVersion: apiVersion, Kind: kind} }

// output says how a command writes its answer.
type output struct{ json bool }

func (o *output) add(cmd *cobra.Command) {
	cmd.Flags().VarP(outputValue{o}, "output", "o", "text for people, or json for programs (docs/planning.md)")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

type outputValue struct{ o *output }

func (v outputValue) Type() string { return "format" }

func (v outputValue) String() string {
	if v.o != nil && v.o.json {
		return "json"
	}
	return "text"
}

func (v outputValue) Set(text string) error {
	switch text {
	case "text", "json":
		v.o.json = text == "json"
		return nil
	}
	return fmt.Errorf("it is text or json")
}

// writeJSON writes one document.
func writeJSON(w io.Writer, content any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(content)
}

// defaultWidth is how wide text is where nobody's terminal says so.
const defaultWidth = 80

// widthOf is how many columns a line written to w may have.
func widthOf(w io.Writer) int {
	if width := console.TerminalWidth(w); width != nil {
		return width()
	}
	return defaultWidth
}
