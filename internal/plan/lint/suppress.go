// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// AnnotationIgnore is the annotation of an object with the rules that say nothing about it, each with a reason:
// "no-time-zone: the cluster runs in UTC; herd: nobody else is up at night".
const AnnotationIgnore = "carillon.dev/lint-ignore"

// ignoreComment is the same in a comment of YAML, about the field below it or on its line, or the whole object above
// it.
var ignoreComment = regexp.MustCompile(`(?:^|\s)#\s*carillon-lint\s+ignore=(.*)$`)

// suppression is one rule that is to say nothing.
type suppression struct {
	id, reason string
	// line is where it is written, 0 in an annotation.
	line int
	// first and last are the lines that it is about; 0 and 0: the whole object.
	first, last int
	used        bool
}

type suppressions []*suppression

// use tells whether somebody has decided to live with a finding, and why.
func (s suppressions) use(id string, line int) (reason string, suppressed bool) {
	for _, each := range s {
		if each.id == id && each.reason != "" && (each.first == 0 || each.first <= line && line <= each.last) {
			each.used = true
			return each.reason, true
		}
	}
	return "", false
}

// suppressed tells whether somebody has decided to live with what a rule finds at a path.
func (s *Subject) suppressed(id string, path Path) bool {
	line := s.Line
	if at, ok := s.document.position(path); ok {
		line = at.line
	}
	_, suppressed := s.suppressions.use(id, line)
	return suppressed
}

// readIgnored reads "rule: reason; other-rule: reason".
func readIgnored(text string) []suppression {
	var all []suppression
	for part := range strings.SplitSeq(text, ";") {
		id, reason, _ := strings.Cut(part, ":")
		if id = strings.TrimSpace(id); id != "" {
			all = append(all, suppression{id: id, reason: strings.TrimSpace(reason)})
		}
	}
	return all
}

func suppressionsOf(s *Subject) suppressions {
	var all suppressions
	for _, each := range readIgnored(s.Content.GetAnnotations()[AnnotationIgnore]) {
		all = append(all, &each)
	}
	if s.document == nil || !s.document.file.suppresses {
		return all
	}
	return append(all, s.document.comments()...)
}

// comments are the suppressions in comments of the object.
func (d *document) comments() suppressions {
	var all suppressions
	begin, end := d.extent()
	for number := begin; number < end; number++ {
		line := d.file.line(number)
		match := ignoreComment.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		first, last := d.about(number, end)
		for _, each := range readIgnored(match[1]) {
			each.line, each.first, each.last = number, first, last
			all = append(all, &each)
		}
	}
	return all
}

// extent are the lines of the object, with the comments above it; the end is the line after the last.
func (d *document) extent() (begin, end int) {
	begin, end = d.first+d.root.Line-1, d.end()
	if d.prefix != nil {
		end = d.first + lastLine(d.root)
	}
	for begin > 1 && remark(d.file.line(begin-1)) {
		begin--
	}
	if begin == d.first && begin > 1 && separator(d.file.line(begin-1)) { // what stands above the separator of the first document
		for above := begin - 2; above >= 0 && (above == 0 || remark(d.file.line(above))); above-- {
			if above == 0 {
				begin = 1
			}
		}
	}
	return begin, end
}

// remark tells whether a line holds nothing but a comment, if anything.
func remark(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, each := range n.Content {
		last = max(last, lastLine(each))
	}
	return last
}

// about gives the lines that a comment on a line is about: the field on that line or below, with all that is in it; 0
// and 0 if that is the first of the object, and so the whole.
func (d *document) about(comment, end int) (first, last int) {
	first = comment
	for first < end && (remark(d.file.line(first)) || separator(d.file.line(first))) {
		first++
	}
	if first <= d.first+d.root.Line-1 {
		return 0, 0
	}
	depth, item := indent(d.file.line(first))
	last = first
	for number := first + 1; number < end; number++ {
		line := d.file.line(number)
		if remark(line) {
			continue
		}
		if deep, dash := indent(line); deep < depth || deep == depth && (item || !dash) {
			break
		}
		last = number
	}
	return first, last
}

// indent is how far a line is indented, and whether it begins an item of a list.
func indent(line string) (depth int, item bool) {
	text := strings.TrimLeft(line, " ")
	return len(line) - len(text), strings.HasPrefix(text, "-")
}

// suppressionFindings are what is wrong with the suppressions themselves.
func suppressionFindings(all *subjects, options Options) []Finding {
	var found []Finding
	add := func(s *Subject, each *suppression, rule *Rule, message string) {
		if !asked(rule.ID, options) {
			return
		}
		f := s.finding(rule, problem{path: at("metadata", "annotations", AnnotationIgnore), message: message})
		if each.line > 0 {
			f.Line, f.Column = each.line, 0
		}
		found = append(found, f)
	}
	for _, s := range all.subjects {
		for _, each := range s.suppressions {
			switch {
			case Find(each.id) == nil:
				message := fmt.Sprintf("there is no rule %q", each.id)
				if near := Nearest(each.id); near != "" {
					message += fmt.Sprintf("; did you mean %s?", near)
				}
				add(s, each, suppressionOfUnknownRule, message)
			case each.reason == "":
				add(s, each, suppressionWithoutReason, fmt.Sprintf("the suppression of %s gives no reason, so it has no effect", each.id))
			case !each.used && asked(each.id, options):
				add(s, each, suppressionUnused, fmt.Sprintf("%s has nothing to say here, so nothing needs to be suppressed (%q)", each.id, each.reason))
			}
		}
	}
	return found
}
