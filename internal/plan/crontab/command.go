// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
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
// program's input, in which each further one is a new line. A "\%" is a percent sign. Before the first percent sign a
// backslash takes the next byte with it, so that one of "\\%" ends the command; in the input it does not.
func readCommand(text string) command {
	var c command
	var before strings.Builder
	n := 0
	for ; n < len(text) && !c.hasInput; n++ {
		switch {
		case text[n] == '\\' && n+1 < len(text):
			if n++; text[n] != '%' {
				before.WriteByte('\\')
			}
			before.WriteByte(text[n])
		case text[n] == '%':
			c.hasInput = true
		default:
			before.WriteByte(text[n])
		}
	}
	c.text = strings.TrimRight(before.String(), " \t")
	c.input = strings.NewReplacer(`\%`, "%", "%", "\n").Replace(text[n:])
	if c.input != "" && !strings.HasSuffix(c.input, "\n") {
		c.input += "\n"
	}
	return c
}

// argv is what a container runs, with the shell that the crontab names. The input comes from a shell of its own, so
// that the command may be in any language, and have here-documents of its own.
func (c command) argv(shell string) []string {
	if !c.hasInput {
		return []string{shell, "-c", c.text}
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
