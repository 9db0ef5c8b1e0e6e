// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// suggested finds commands in screens: after an arrow, after what is left out, or at the begin of a line of a list.
var suggested = regexp.MustCompile(`(?m)(?:→ |\(--all\); |^  )(carillon (?:status|logs|why|next|history|describe|explain|wait|kubectl) .*)$`)

// Every command that a screen suggests is one that the program takes: its flags are there and mean what they are given.
func TestSuggestedCommands(t *testing.T) {
	var screens []string
	for _, pattern := range []string{"status-*.txt", "describe/*.txt"} {
		found, err := filepath.Glob(filepath.Join("inspect", "testdata", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		screens = append(screens, found...)
	}
	count := 0
	for _, screen := range screens {
		text, err := os.ReadFile(screen)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range suggested.FindAllStringSubmatch(string(text), -1) {
			line, _, _ := strings.Cut(match[1], "  ") // what follows explains it
			if strings.Contains(line, "…") {
				continue // cut, where the screen is narrow
			}
			count++
			args := words(line)[1:]
			cmd, rest, err := NewRoot(Streams{}).Find(args)
			if err != nil {
				t.Errorf("%s: %s: %v", screen, line, err)
				continue
			}
			if cmd.DisableFlagParsing {
				continue
			}
			if err := cmd.ParseFlags(rest); err != nil {
				t.Errorf("%s: %s: %v", screen, line, err)
				continue
			}
			if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
				t.Errorf("%s: %s: %v", screen, line, err)
			}
		}
	}
	if count < 20 {
		t.Errorf("%d commands were found: are the screens elsewhere?", count)
	}
}

// words are those of a command line, as a shell has them.
func words(line string) []string {
	var all []string
	word, quote, begun := "", rune(0), false
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
		case quote == 0 && c == ' ':
			if begun {
				all = append(all, word)
			}
			word, begun = "", false
		default:
			word, begun = word+string(c), true
		}
	}
	if begun {
		all = append(all, word)
	}
	return all
}
