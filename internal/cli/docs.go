// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newDocs writes the command reference that is kept in docs/cli; `make verify` checks that it is
// true.
func newDocs() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:    "docs",
		Short:  "Write the command reference as Markdown",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			for _, c := range cmd.Root().Commands() {
				if c.Hidden || !c.IsAvailableCommand() || c.Name() == "completion" || c.Name() == "help" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, c.Name()+".md"), reference(c), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "docs/cli", "where to write")
	return cmd
}

// reference is the page of a command: the command itself, then those below it.
func reference(c *cobra.Command) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n<!-- Written by `make generate`. -->\n", c.CommandPath())
	describe(&b, c, "##")
	for _, sub := range c.Commands() {
		fmt.Fprintf(&b, "\n## %s\n", sub.CommandPath())
		describe(&b, sub, "###")
	}
	return b.Bytes()
}

// describe writes what a command is, with headings of a level for its parts.
func describe(b *bytes.Buffer, c *cobra.Command, level string) {
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	fmt.Fprintf(b, "\n%s\n\n```\n%s\n```\n", long, c.UseLine())
	if c.Example != "" {
		fmt.Fprintf(b, "\n%s Examples\n\n```\n%s\n```\n", level, c.Example)
	}
	if c.DisableFlagParsing {
		return
	}
	c.InheritedFlags() // joins them with the command's own
	fmt.Fprintf(b, "\n%s Flags\n\n| flag | default | meaning |\n|---|---|---|\n", level)
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		def := f.DefValue
		if f.Name == "data-dir" {
			def = "~/.local/share/carillon"
		}
		if def == "" || def == "[]" || def == "false" {
			def = "–"
		} else {
			def = "`" + def + "`"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, def, strings.ReplaceAll(f.Usage, "|", "\\|"))
	})
}
