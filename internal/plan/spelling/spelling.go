// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package spelling finds the words that somebody may have meant.
package spelling

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest are the words that are most like one that was written, at most three of them, nearest first; none if no word
// is like it.
func Nearest(written string, words []string) []string {
	type candidate struct {
		word string
		far  int
	}
	var found []candidate
	for _, word := range words {
		far := edits(written, word)
		if written != "" && (strings.Contains(word, written) || word != "" && strings.Contains(written, word)) {
			far = min(far, 2)
		}
		if far <= max(2, len(written)/4) {
			found = append(found, candidate{word, far})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(a.far-b.far, strings.Compare(a.word, b.word)) })
	found = slices.Compact(found)
	var near []string
	for _, c := range found[:min(3, len(found))] {
		near = append(near, c.word)
	}
	return near
}

// edits is how many letters have to be put in, taken out or changed to make one word of another.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner, row[j+1] = row[j+1], min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
