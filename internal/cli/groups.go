// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// group is some commands that help shows together, in the order in which a newcomer meets them.
type group struct {
	id, title string
	commands  []string
}

// groups are all of them. Each command that is not hidden is in one.
var groups = []group{
	{"run", "Run", []string{"up", "run"}},
	{"look", "Look", []string{"status", "describe", "history", "logs", "wait", "why", "ui"}},
	{"plan", "Plan", []string{"next", "explain", "simulate", "forecast", "lint", "convert", "import"}},
	{"operate", "Operate", []string{"image", "backup", "restore", "record", "manager", "kubectl", "version", "completion"}},
}

// groupCommands puts the commands of root into their groups and lets its help show them so.
func groupCommands(root *cobra.Command) {
	root.InitDefaultCompletionCmd("completion")
	if c := subcommand(root, "completion"); c != nil {
		c.Short = "Write the script that completes commands and names in a shell"
	}
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Hidden: true, RunE: func(_ *cobra.Command, args []string) error {
		found, rest, err := root.Find(args)
		if err != nil || found == root && len(rest) > 0 {
			return usage("there is no command %q (see carillon --help)", strings.Join(args, " "))
		}
		return found.Help()
	}})
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title + ":"})
		for _, name := range g.commands {
			if c := subcommand(root, name); c != nil {
				c.GroupID = g.id
			}
		}
	}
	ofCommand := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd != root {
			ofCommand(cmd, args)
			return
		}
		writeOverview(cmd.OutOrStdout(), root)
	})
}

// subcommand is the command of that name directly below root; nil if there is none.
func subcommand(root *cobra.Command, name string) *cobra.Command {
	for _, c := range root.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

// writeOverview writes the help of the program itself: what it is, its commands, and the first ones to try.
func writeOverview(w io.Writer, root *cobra.Command) {
	var b strings.Builder
	b.WriteString(root.Long + "\n")
	for _, g := range groups {
		fmt.Fprintf(&b, "\n%s:\n", g.title)
		for _, name := range g.commands {
			if c := subcommand(root, name); c != nil && !c.Hidden {
				fmt.Fprintf(&b, "  %-10s  %s\n", name, c.Short)
			}
		}
	}
	fmt.Fprintf(&b, "\nTry:\n%s\n\n", root.Example)
	b.WriteString("`carillon COMMAND --help` tells more of each, with examples.\n")
	_, _ = io.WriteString(w, b.String())
}
