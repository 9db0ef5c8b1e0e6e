// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import "time"

// Dice answer questions by chance: always the same answer to the same question.
// The number is the seed.
type Dice uint64

// Roll gives a number from 0 to n-1. The question is what it is asked for, and
// about which thing: its number, or the [Key] of its name.
func (d Dice) Roll(n int, question string, about ...uint64) int {
	if n <= 1 {
		return 0
	}
	h := mix(uint64(d) ^ Key(question))
	for _, a := range about {
		h = mix(h ^ a)
	}
	return int(h % uint64(n))
}

// Chance is true in so many of a hundred cases.
func (d Dice) Chance(percent int, question string, about ...uint64) bool {
	return percent > 0 && d.Roll(100, question, about...) < percent
}

// Between gives a span from least to most.
func (d Dice) Between(least, most time.Duration, question string, about ...uint64) time.Duration {
	if most <= least {
		return least
	}
	return least + time.Duration(d.Roll(int(most-least)+1, question, about...))
}

// Pick gives one of some things.
func Pick[T any](d Dice, from []T, question string, about ...uint64) T {
	return from[d.Roll(len(from), question, about...)]
}

// Key is the number of a name (FNV-1a).
func Key(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return h
}

// mix spreads a number over all bits (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
