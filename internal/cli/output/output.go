// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package output is how commands write their answers: for people, as wide as their terminal, or for programs.
package output

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/console"
)

// Flag says how a command writes its answer: -o text or -o json. The zero value is text.
type Flag struct{ JSON bool }

// Add registers it. page is the page of the documentation that describes the JSON.
func (o *Flag) Add(cmd *cobra.Command, page string) {
	cmd.Flags().VarP(value{o}, "output", "o", "text for people, or json for programs ("+page+")")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

type value struct{ o *Flag }

func (v value) Type() string { return "format" }

func (v value) String() string {
	if v.o != nil && v.o.JSON {
		return "json"
	}
	return "text"
}

func (v value) Set(text string) error {
	switch text {
	case "text", "json":
		v.o.JSON = text == "json"
		return nil
	}
	return fmt.Errorf("it is text or json")
}

// WriteJSON writes one document.
func WriteJSON(w io.Writer, content any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(content)
}

// DefaultWidth is how wide text is where nobody's terminal says so.
const DefaultWidth = 80

// WidthOf is how many columns a line written to w may have.
func WidthOf(w io.Writer) int {
	if width := console.TerminalWidth(w); width != nil {
		return width()
	}
	return DefaultWidth
}

// TableWidth is how many columns a table written to w may have: those of its terminal, or 0, any number, where w is
// none: what a program reads is not cut.
func TableWidth(w io.Writer) int {
	if width := console.TerminalWidth(w); width != nil {
		return width()
	}
	return 0
}
