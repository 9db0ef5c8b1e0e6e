// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package interval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parse reads the text of a set as far as it can be read, and keeps the indexes
// below bound (a Job's completions). It serves what is stored already, perhaps by
// another version or for another number of completions:
//
//   - a part that is not a number or "A-B" is skipped ("0,1-foo,bar" is {0}), as is
//     one that runs backwards; of "A-B-C" the C is ignored
//   - at the first part that starts at or behind bound reading ends
//   - an interval that passes bound is cut there
//   - parts may touch, overlap and come in any order
//
// Use [ParseStrict] to learn whether the text is in order.
func Parse(text string, bound int) Set {
	if text == "" {
		return Set{}
	}
	var spans []span
	for part := range strings.SplitSeq(text, ",") {
		firstText, rest, ranged := strings.Cut(part, "-")
		first, err := strconv.Atoi(firstText)
		if err != nil {
			continue
		}
		if first >= bound {
			break
		}
		last := first
		if ranged {
			lastText, _, _ := strings.Cut(rest, "-")
			if last, err = strconv.Atoi(lastText); err != nil || last < first {
				continue
			}
		}
		spans = append(spans, span{first, min(last, bound-1)})
	}
	inOrder := func(p, q span) int { return p.first - q.first } // both are at least 0
	if !slices.IsSortedFunc(spans, inOrder) {
		slices.SortFunc(spans, inOrder)
	}
	b := builder{spans[:0]} // never writes past what has been read
	for _, p := range spans {
		b.add(p)
	}
	return b.set()
}

// ParseStrict reads the text of a set as the API server's validation does
// (job.md INV-12 and INV-13): parts "N" or "A-B" with A < B, strictly increasing
// over the whole text, all below bound. It accepts more than the canonical form: a
// run may be written in pieces that touch ("0-1,2"). The error names the part at
// fault.
func ParseStrict(text string, bound int) (Set, error) {
	if text == "" {
		return Set{}, nil
	}
	var b builder
	previous := -1
	for part := range strings.SplitSeq(text, ",") {
		firstText, lastText, ranged := strings.Cut(part, "-")
		first, err := number(part, firstText, bound)
		if err != nil {
			return Set{}, err
		}
		last := first
		if ranged {
			if last, err = number(part, lastText, bound); err != nil {
				return Set{}, err
			}
			if last <= first {
				return Set{}, fmt.Errorf("indexes %q: %d is not greater than %d", clip(part), last, first)
			}
		}
		if first <= previous {
			return Set{}, fmt.Errorf("indexes %q: %d comes after %d; indexes must be in ascending order", clip(part), first, previous)
		}
		previous = last
		b.add(span{first, last})
	}
	return b.set(), nil
}

func number(part, text string, bound int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("indexes %q: %q is not a number; write N or A-B, separated by commas", clip(part), clip(text))
	}
	if n >= bound {
		return 0, fmt.Errorf("indexes %q: %d is not below %d", clip(part), n, bound)
	}
	return n, nil
}

// clip keeps a message short whatever the text.
func clip(s string) string {
	const longest = 60
	if len(s) > longest {
		return s[:longest] + "..."
	}
	return s
}

// String writes the set in the canonical form: ascending, without blanks, three or
// more in a row as "first-last", two in a row as two numbers. The empty set is "".
// [Parse] and [ParseStrict] read it back.
func (s Set) String() string { return string(s.Append(nil)) }

// Append appends the canonical form to b.
func (s Set) Append(b []byte) []byte {
	for i, p := range s.spans {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(p.first), 10)
		switch p.last {
		case p.first:
			continue
		case p.first + 1:
			b = append(b, ',')
		default:
			b = append(b, '-')
		}
		b = strconv.AppendInt(b, int64(p.last), 10)
	}
	return b
}
