// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package entry reads what a person writes into the fields of a form about a schedule. What is wrong is told in the
// same words on all pages: what was written, where in it the fault is, and what to write instead.
//
//   - entry.go     numbers and words
//   - schedule.go  the expression of a CronJob, and the schedules of a Timetable
//   - time.go      zones, durations and instants
//
// All of it is pure, and may be called at once.
package entry

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Number reads a whole number from least to most. With the error it is 0.
func Number(text string, least, most int64) (int64, error) {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("%q is no whole number", text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s is not allowed here: it is a whole number from %d to %d", text, least, most)
	}
	return n, nil
}

// Word checks that a text is one of some words.
func Word(text string, words []string) error {
	if slices.Contains(words, text) {
		return nil
	}
	for _, word := range words {
		if strings.EqualFold(word, text) {
			return fmt.Errorf("%q is not allowed: write %s, with these capitals", text, word)
		}
	}
	return fmt.Errorf("there is no %q: it is one of %s", text, strings.Join(words, ", "))
}
