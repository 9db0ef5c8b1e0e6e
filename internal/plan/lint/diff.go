// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"
)

// Diff shows how a file changes, as "diff -u" does: with three lines around each change. It is "" if nothing changes.
func Diff(name, before, after string) string {
	if before == after {
		return ""
	}
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
	for _, h := range hunks(a, b) {
		h.write(&out, a, b)
	}
	return out.String()
}

// block is a run of lines that differ: a[aBegin:aEnd] became b[bBegin:bEnd].
type block struct{ aBegin, aEnd, bBegin, bEnd int }

// blocks finds them. Fixes change and add few lines, so that the next equal line is near.
func blocks(a, b []string) []block {
	var all []block
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		if i < len(a) && j < len(b) && a[i] == b[j] {
			i, j = i+1, j+1
			continue
		}
		k, l := resume(a[i:], b[j:])
		all = append(all, block{i, i + k, j, j + l})
		i, j = i+k, j+l
	}
	return all
}

// resume gives how many lines of both differ before they are the same again.
func resume(a, b []string) (k, l int) {
	for sum := 1; sum <= len(a)+len(b); sum++ {
		for k := range sum + 1 {
			if l := sum - k; k < len(a) && l < len(b) && a[k] == b[l] {
				return k, l
			}
		}
	}
	return len(a), len(b)
}

// hunk is blocks that are shown together.
type hunk struct{ blocks []block }

const around = 3

func hunks(a, b []string) []hunk {
	var all []hunk
	for _, each := range blocks(a, b) {
		if n := len(all); n > 0 && each.aBegin-all[n-1].last().aEnd <= 2*around {
			all[n-1].blocks = append(all[n-1].blocks, each)
			continue
		}
		all = append(all, hunk{[]block{each}})
	}
	return all
}

func (h hunk) last() block { return h.blocks[len(h.blocks)-1] }

func (h hunk) write(out *strings.Builder, a, b []string) {
	first, last := h.blocks[0], h.last()
	begin := max(0, first.aBegin-around)
	end := min(len(a), last.aEnd+around)
	if end == len(a) && a[end-1] == "" { // after the end of the last line
		end = max(end-1, last.aEnd)
	}
	other := first.bBegin - (first.aBegin - begin)
	fmt.Fprintf(out, "@@ -%s +%s @@\n", lineRange(begin, end-begin), lineRange(other, last.bEnd+end-last.aEnd-other))
	at := begin
	for _, each := range h.blocks {
		show(out, " ", a[at:each.aBegin])
		show(out, "-", a[each.aBegin:each.aEnd])
		show(out, "+", b[each.bBegin:each.bEnd])
		at = each.aEnd
	}
	show(out, " ", a[at:end])
}

func lineRange(begin, count int) string {
	if count == 0 {
		return fmt.Sprintf("%d,0", begin)
	}
	return fmt.Sprintf("%d,%d", begin+1, count)
}

func show(out *strings.Builder, mark string, lines []string) {
	for _, line := range lines {
		if line == "" {
			continue // after the end of the last line
		}
		out.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\\ No newline at end of file\n")
		}
	}
}
