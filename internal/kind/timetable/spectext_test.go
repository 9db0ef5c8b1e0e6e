// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// A text comes back as it was, whatever it is and whoever compresses others at the same time; the caller's text may be
// modified later.
func TestSpecText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.OneOf(
			rapid.SliceOf(rapid.Byte()),
			rapid.Map(rapid.IntRange(0, len(commonSpec)), func(n int) []byte { return []byte(commonSpec[n:]) }),
			rapid.Map(rapid.IntRange(0, 300_000), func(n int) []byte { return []byte(strings.Repeat(`{"a":1}`, n/7)) }),
		), 1, 4).Draw(t, "texts")
		var all sync.WaitGroup
		for _, text := range texts {
			all.Go(func() {
				of := bytes.Clone(text)
				small := compressed(of)
				clear(of)
				if got, err := small.text(); err != nil || !bytes.Equal(got, text) {
					t.Errorf("%q comes back as %q, %v", text, got, err)
				}
			})
		}
		all.Wait()
	})
}

// What is common to specs takes nearly no room.
func TestCommonSpecIsSmall(t *testing.T) {
	if small := compressed([]byte(commonSpec)); len(small) > len(commonSpec)/20 {
		t.Errorf("%d bytes of %d", len(small), len(commonSpec))
	}
}
