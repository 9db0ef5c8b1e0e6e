// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pattern is what is searched for. Without a capital letter it does not tell capitals from small letters. It may be
// used by several goroutines.
type Pattern struct {
	folded  []byte // in small letters; nil if it is not ASCII, or capitals count
	expr    *regexp.Regexp
	literal string
}

// longestPattern bounds what is searched for, in bytes.
const longestPattern = 500

// largestProgram bounds expressions, in instructions: each byte of a line may take as many steps. mostPlaces is in how
// many places of a line an expression is sought, each of which may take as long as the whole line.
const (
	largestProgram = 500
	mostPlaces     = 64
)

// Compile gives the pattern of a text, or of a regular expression in the syntax of Go. The error is for the viewer.
func Compile(text string, expression bool) (*Pattern, error) {
	if len(text) > longestPattern {
		return nil, fmt.Errorf("what is searched for has %d bytes; %d are the most", len(text), longestPattern)
	}
	p := &Pattern{}
	capitals := strings.ContainsFunc(text, unicode.IsUpper)
	if !expression {
		ascii := strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
		switch {
		case capitals:
			p.literal = text
			return p, nil
		case ascii:
			p.folded = []byte(text)
			return p, nil
		}
		text = regexp.QuoteMeta(text)
	}
	if !capitals {
		text = "(?i)" + text
	}
	expr, err := regexp.Compile(text)
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, fmt.Errorf("this is no regular expression: %s: %s", e.Code, e.Expr)
	}
	if err == nil && expression {
		err = bounded(text)
	}
	p.expr = expr
	return p, err
}

// bounded refuses an expression that takes long to look for.
func bounded(text string) error {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err == nil && len(program.Inst) > largestProgram {
		err = fmt.Errorf("this regular expression would take long: it comes to %d steps, and %d are the most; repeat less in it, "+
			"such as * in place of {0,1000}", len(program.Inst), largestProgram)
	}
	return err
}

// matches tells whether find gives anything.
func (p *Pattern) matches(text []byte) bool {
	switch {
	case p.expr != nil:
		at := p.expr.FindIndex(text)
		return at != nil && (at[1] > at[0] || len(p.find(text)) > 0)
	case p.literal != "":
		return bytes.Contains(text, []byte(p.literal))
	case len(p.folded) > 0:
		return containsFolded(text, p.folded)
	}
	return false
}

// containsFolded tells whether text has what, which is in small letters, in letters of any size.
func containsFolded(text, what []byte) bool {
	first, other := what[0], what[0]
	if 'a' <= first && first <= 'z' {
		other -= 'a' - 'A'
	}
	for len(text) >= len(what) {
		at := bytes.IndexByte(text, first)
		if other != first {
			if big := bytes.IndexByte(text, other); at < 0 || 0 <= big && big < at {
				at = big
			}
		}
		if at < 0 || len(text)-at < len(what) {
			return false
		}
		if equalFolded(text[at:at+len(what)], what) {
			return true
		}
		text = text[at+1:]
	}
	return false
}

func equalFolded(text, what []byte) bool {
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != what[i] {
			return false
		}
	}
	return true
}

// find gives where text has the pattern: pairs of the beginning and the end. What has no length is left out; of an
// expression the first mostPlaces are looked at.
func (p *Pattern) find(text []byte) [][2]int {
	var all [][2]int
	switch {
	case p.expr != nil:
		for _, at := range p.expr.FindAllIndex(text, mostPlaces) {
			if at[1] > at[0] {
				all = append(all, [2]int{at[0], at[1]})
			}
		}
	case p.literal != "":
		all = finds(text, []byte(p.literal))
	case len(p.folded) > 0:
		all = finds(small(text), p.folded)
	}
	return all
}

func finds(text, what []byte) (all [][2]int) {
	for from := 0; ; {
		at := bytes.Index(text[from:], what)
		if at < 0 {
			return all
		}
		all = append(all, [2]int{from + at, from + at + len(what)})
		from += at + len(what)
	}
}

// small gives ASCII letters as small ones, and leaves all others, so that places stay as they are.
func small(text []byte) []byte {
	lowered := bytes.Clone(text)
	for i, c := range lowered {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lowered[i] = c
	}
	return lowered
}

// marked gives parts in which what was found is apart.
func marked(parts []Part, found [][2]int) []Part {
	var all []Part
	at := 0
	for _, part := range parts {
		text := part.Text
		for text != "" {
			for len(found) > 0 && found[0][1] <= at {
				found = found[1:]
			}
			n, hit := len(text), false
			if len(found) > 0 {
				switch begin := found[0][0]; {
				case begin <= at:
					n, hit = min(n, found[0][1]-at), true
				default:
					n = min(n, begin-at)
				}
			}
			next := Part{Segment: part.Segment, Hit: hit}
			next.Text = text[:n]
			all = append(all, next)
			text, at = text[n:], at+n
		}
	}
	return all
}
