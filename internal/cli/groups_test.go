// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

// oneScreen is how many lines a terminal of today has without scrolling.
const oneScreen = 45

func overview(t *testing.T, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	if code := Run(args, Streams{In: strings.NewReader(""), Out: &out, Err: &errOut}); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	return out.String()
}

// Every command that is not hidden is in exactly one group, and the help shows it with its sentence, on one screen.
func TestOverviewShowsEachCommandInItsGroup(t *testing.T) {
	root := NewRoot(Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	placed := map[string]string{}
	for _, g := range groups {
		for _, name := range g.commands {
			if placed[name] != "" {
				t.Errorf("%s is in the groups %s and %s", name, placed[name], g.id)
			}
			placed[name] = g.id
			if subcommand(root, name) == nil {
				t.Errorf("the group %s has a command %s, which is not there", g.id, name)
			}
		}
	}
	text := overview(t, "--help")
	for _, c := range root.Commands() {
		if c.Hidden {
			continue
		}
		if placed[c.Name()] == "" || c.GroupID != placed[c.Name()] {
			t.Errorf("%s is in no group", c.Name())
		}
		if !strings.Contains(text, "  "+c.Name()) || !strings.Contains(text, "  "+c.Short+"\n") {
			t.Errorf("the help does not show %s (%s)", c.Name(), c.Short)
		}
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > oneScreen {
		t.Errorf("%d lines are more than one screen:\n%s", len(lines), text)
	}
	for _, line := range lines {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("longer than 80 columns: %s", line)
		}
	}
}

// However it is asked for, the help of the program is that overview, and the help of a command is the command's.
func TestOverviewIsTheHelpOfTheProgramAlone(t *testing.T) {
	want := overview(t, "--help")
	for _, args := range [][]string{nil, {"help"}, {"-h"}} {
		if got := overview(t, args...); got != want {
			t.Errorf("%q: %s", args, got)
		}
	}
	for _, args := range [][]string{{"help", "why"}, {"why", "--help"}} {
		if got := overview(t, args...); !strings.Contains(got, "carillon why cronjob/NAME") || strings.Contains(got, groups[0].title+":\n") {
			t.Errorf("%q: %s", args, got)
		}
	}
}

func TestHelpOfACommandThatIsNotThere(t *testing.T) {
	var out, errOut bytes.Buffer
	code := Run([]string{"help", "nope"}, Streams{In: strings.NewReader(""), Out: &out, Err: &errOut})
	if code != exitcode.Usage || !strings.Contains(errOut.String(), `there is no command "nope"`) {
		t.Errorf("exit code %d: %s", code, errOut.String())
	}
}

// A command that nobody has put into a group is found by the test above: it has no group.
func TestGroupsAreOfTheProgramsCommandsAlone(t *testing.T) {
	root := &cobra.Command{Use: "other", Long: "Other."}
	root.AddCommand(&cobra.Command{Use: "extra", Short: "Be there", Run: func(*cobra.Command, []string) {}})
	groupCommands(root)
	if c := subcommand(root, "extra"); c.GroupID != "" {
		t.Errorf("%s is in the group %q", c.Name(), c.GroupID)
	}
	if c := subcommand(root, "completion"); c == nil || c.GroupID != "operate" {
		t.Errorf("%v", c)
	}
}
