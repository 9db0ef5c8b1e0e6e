// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package systemdtimer

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An execution is a value of ExecStart=.
type execution struct {
	words []string
	// mayFail tells of the prefix "-", privileged of "+" and "!", plain of ":", which puts no variables in.
	mayFail, privileged, plain bool
}

// readExecution reads a command line of a unit.
func readExecution(text string, unit specifiers) (execution, error) {
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
	for n, word := range words {
		switch word.written {
		case ";":
			if n > 0 {
				return e, fmt.Errorf("%q: there are several commands on one line; write a line for each", text)
			}
		case `\;`:
			word.text = ";"
		}
		expanded, err := unit.expand(word.text)
		if err != nil {
			return e, err
		}
		e.words = append(e.words, expanded)
	}
	if named && len(e.words) > 1 {
		e.words = append(e.words[:1:1], e.words[2:]...) // the second is what the program is told that it is called
	}
	if len(e.words) == 0 || e.words[0] == "" {
		return e, fmt.Errorf("%q has no command", text)
	}
	return e, nil
}

// A unitWord is a word of a value: what it stands for, and how it is written.
type unitWord struct{ text, written string }

// splitWords splits a text at blanks that stand in no quotes, and reads escapes as in C. Quotes may stand anywhere in a
// word; what is no escape stays as it is, blanks too.
func splitWords(text string) ([]unitWord, error) {
	var words []unitWord
	var word strings.Builder
	start, quote := -1, byte(0)
	end := func(at int) error {
		if start < 0 {
			return nil
		}
		if !utf8.ValidString(word.String()) {
			return fmt.Errorf("%q stands for what is not UTF-8 text, and an object of Kubernetes cannot hold it", text[start:at])
		}
		words = append(words, unitWord{word.String(), text[start:at]})
		word.Reset()
		start = -1
		return nil
	}
	for n := 0; n < len(text); n++ {
		c := text[n]
		if quote == 0 && (c == ' ' || c == '\t' || c == '\n') {
			if err := end(n); err != nil {
				return nil, err
			}
			continue
		}
		if start < 0 {
			start = n
		}
		switch {
		case c == '\\':
			escaped, length := readEscape(text[n+1:])
			word.WriteString(escaped)
			n += length
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		default:
			word.WriteByte(c)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%q has no closing %c", text, quote)
	}
	if err := end(len(text)); err != nil {
		return nil, err
	}
	return words, nil
}

var escapes = map[byte]string{'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v", '\\': `\`, '"': `"`, '\'': `'`, 's': " "}

// numbered are the escapes that give a character by its number: how many digits they have.
var numbered = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// readEscape reads what follows a backslash, and how many bytes that is. What is no escape stays.
func readEscape(text string) (string, int) {
	if text == "" {
		return `\`, 0
	}
	if known, ok := escapes[text[0]]; ok {
		return known, 1
	}
	unknown := `\` + text[:1]
	skip, count, base := 0, 3, 8
	if digits, ok := numbered[text[0]]; ok {
		skip, count, base = 1, digits, 16
	}
	if len(text) < skip+count {
		return unknown, 1
	}
	value, err := strconv.ParseUint(text[skip:skip+count], base, 32)
	switch {
	case err != nil || value == 0:
		return unknown, 1
	case count > 3 && utf8.ValidRune(rune(value)):
		return string(rune(value)), skip + count
	case value > 0xff:
		return unknown, 1
	}
	return string([]byte{byte(value)}), skip + count
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

// shellWord writes a word so that a shell makes of it what systemd does: a variable alone is split into words, one
// inside a word is not.
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
