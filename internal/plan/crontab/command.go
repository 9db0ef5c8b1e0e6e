// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// A command is what an entry runs.
type command struct {
	// text is what the shell is given.
	text string
	// input is what the program reads, if hasInput.
	input    string
	hasInput bool
}

// readCommand takes the percent signs out of a command: the first that has no backslash ends it, what follows is the
// program's input, in which each further one is a new line. A "\%" is a percent sign.
func readCommand(text string) command {
	var parts [2]strings.Builder
	now := 0
	for n := 0; n < len(text); n++ {
		switch {
		case text[n] == '\\' && n+1 < len(text) && text[n+1] == '%':
			n++
			parts[now].WriteByte('%')
		case text[n] == '%' && now == 0:
			now = 1
		case text[n] == '%':
			parts[now].WriteByte('\n')
		default:
			parts[now].WriteByte(text[n])
		}
	}
	c := command{text: strings.TrimRight(parts[0].String(), " \t"), hasInput: now == 1}
	if c.hasInput {
		c.input = parts[1].String() + "\n"
	}
	return c
}

// posixShells read here-documents as sh does.
var posixShells = []string{"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "busybox"}

// argv is what a container runs, with the shell that the crontab names.
func (c command) argv(shell string) []string {
	switch {
	case !c.hasInput:
		return []string{shell, "-c", c.text}
	case slices.Contains(posixShells, path.Base(shell)):
		end := c.endOfInput()
		return []string{shell, "-c", "{ " + c.text + "\n} <<'" + end + "'\n" + c.input + end + "\n"}
	}
	end := c.endOfInput()
	return []string{"/bin/sh", "-c", "exec \"$0\" -c \"$1\" <<'" + end + "'\n" + c.input + end + "\n", shell, c.text}
}

// endOfInput is a word that no line of the input is.
func (c command) endOfInput() string {
	end := "END"
	for n := 2; slices.Contains(strings.Split(c.input, "\n"), end); n++ {
		end = "END" + strconv.Itoa(n)
	}
	return end
}
