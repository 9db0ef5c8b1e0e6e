// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package systemdtimer

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// An execution is a value of ExecStart=.
type execution struct {
	words []string
	// mayFail tells of the prefix "-", privileged of "+" and "!", plain of ":", which puts no variables in.
	mayFail, privileged, plain bool
}

// readExecution reads a command line of a unit.
func readExecution(text string) (execution, error) {
	var e execution
	rest := text
	named := false
	for rest != "" && strings.IndexByte("-@:+!|", rest[0]) >= 0 {
		switch rest[0] {
		case '-':
			e.mayFail = true
		case '@':
			named = true
		case ':':
			e.plain = true
		case '+', '!':
			e.privileged = true
		}
		rest = rest[1:]
	}
	words, err := splitWords(rest)
	if err != nil {
		return e, err
	}
	if named && len(words) > 1 {
		words = append(words[:1:1], words[2:]...) // the second is what the program is told that it is called
	}
	if len(words) == 0 {
		return e, fmt.Errorf("%q has no command", text)
	}
	for _, word := range words[1:] {
		if word == ";" {
			return e, fmt.Errorf("%q: several commands on one line are read only by old versions; write a line for each", text)
		}
	}
	e.words = words
	return e, nil
}

// splitWords splits a text at blanks that stand in no quotes, and reads escapes as in C.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	has, quote := false, byte(0)
	for n := 0; n < len(text); n++ {
		c := text[n]
		switch {
		case c == '\\':
			escaped, length, err := readEscape(text[n+1:])
			if err != nil {
				return nil, err
			}
			word.WriteString(escaped)
			n += length
			has = true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case (c == '"' || c == '\'') && word.Len() == 0:
			quote, has = c, true
		case c == ' ' || c == '\t':
			if has {
				words = append(words, word.String())
			}
			word.Reset()
			has = false
		default:
			word.WriteByte(c)
			has = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%q has no closing %c", text, quote)
	}
	if has {
		words = append(words, word.String())
	}
	return words, nil
}

var escapes = map[byte]string{'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v", '\\': `\`, '"': `"`, '\'': `'`, 's': " ", ';': ";", ' ': " "}

// readEscape reads what follows a backslash, and how many bytes that is.
func readEscape(text string) (string, int, error) {
	if text == "" {
		return "", 0, fmt.Errorf("there is nothing behind the last \\")
	}
	if known, ok := escapes[text[0]]; ok {
		return known, 1, nil
	}
	digits, base, skip := "", 8, 0
	switch {
	case text[0] == 'x' && len(text) >= 3:
		digits, base, skip = text[1:3], 16, 1
	case len(text) >= 3:
		digits = text[:3]
	}
	value, err := strconv.ParseUint(digits, base, 8)
	if err != nil || value == 0 || value > 0x7f {
		return "", 0, fmt.Errorf(`\%c is no escape that systemd knows; write \\ for a backslash`, text[0])
	}
	return string(rune(value)), skip + len(digits), nil
}

var variableInWord = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$[A-Za-z_][A-Za-z0-9_]*|\$\$`)

// needsShell tells whether a command has variables.
func (e execution) needsShell() bool {
	if e.plain {
		return false
	}
	for _, word := range e.words {
		if strings.Contains(word, "$") {
			return true
		}
	}
	return false
}

// shellLine is the command for a shell.
func (e execution) shellLine() string {
	var words []string
	for _, word := range e.words {
		words = append(words, e.shellWord(word))
	}
	line := strings.Join(words, " ")
	if e.mayFail {
		line += " || true"
	}
	return line
}

// shellWord writes a word so that a shell makes of it what systemd does: a variable alone is split into words, one inside a
// word is not.
func (e execution) shellWord(word string) string {
	if e.plain || !strings.Contains(word, "$") {
		return shellQuote(word)
	}
	if m := variableInWord.FindString(word); m == word && m != "$$" && !strings.HasPrefix(m, "${") {
		return word
	}
	var out strings.Builder
	last := 0
	for _, at := range variableInWord.FindAllStringIndex(word, -1) {
		match := word[at[0]:at[1]]
		if match != "$$" && !strings.HasPrefix(match, "${") {
			continue // inside a word systemd knows ${NAME} alone
		}
		if at[0] > last {
			out.WriteString(shellQuote(word[last:at[0]]))
		}
		if match == "$$" {
			out.WriteString("'$'")
		} else {
			out.WriteString(`"` + match + `"`)
		}
		last = at[1]
	}
	if last < len(word) {
		out.WriteString(shellQuote(word[last:]))
	}
	return out.String()
}

var plainForShell = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

func shellQuote(word string) string {
	if plainForShell.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
