// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"math"

	"github.com/carillon-dev/carillon/schedule"
)

// jitter is ChangeJitter.
func (t *trial) jitter(Summary) (Change, bool) {
	e := t.newEdited(ChangeJitter)
	limit := uint64(t.options.Jitter.Seconds())
	if limit == 0 {
		return Change{}, false
	}
	for _, g := range t.groups {
		if !t.goesOn() {
			break
		}
		if g.idle || g.times.jitter > 0 {
			continue
		}
		warm := warmUp(g.members)
		// The start after the last one counts as well: no start is put off to it.
		scheduled := g.times.scheduled(t.base.from-warm-int64(limit), t.base.to)
		starts := g.times.between(t.base.from, t.base.to)
		if longestGap(scheduled) <= 60 || !fullHour(g) && !t.startsCrowded(starts) {
			continue
		}
		byOffset := map[int64][]*member{}
		for _, m := range g.members {
			own := schedule.Hash{Namespace: m.Owner.Namespace, Name: m.Owner.Name}.Value("", "jitter") % (limit + 1)
			byOffset[int64(own)] = append(byOffset[int64(own)], m)
			e.count(m)
		}
		e.tally.addGroup(g, -1)
		for offset, members := range byOffset {
			if !t.goesOn() {
				break
			}
			starts := putOff(scheduled, offset, max(t.base.from-warm, g.times.notBefore), t.base.to)
			e.tally.add(append(g.times.resumed(t.base.from-warm, t.base.to), starts...), members, 1)
		}
	}
	return e.done(t)
}

// fullHour tells whether a schedule of a group's objects is one that starts at minute 0.
func fullHour(g *group) bool {
	for _, text := range cronTexts(g.members[0].Scheduled) {
		if x, ok := parseExpression(text); ok {
			if first, _, ok := x.even(); ok && first == 0 {
				return true
			}
		}
	}
	return false
}

// longestGap is the longest time between two that follow each other, in seconds.
func longestGap(times []int64) int64 {
	longest := int64(0)
	if len(times) == 1 {
		return math.MaxInt64
	}
	for i := 1; i < len(times); i++ {
		longest = max(longest, times[i]-times[i-1])
	}
	return longest
}

// putOff gives the starts in [from, to) of scheduled times that a jitter puts off by so much, each before the next one.
func putOff(scheduled []int64, offset, from, to int64) []int64 {
	starts := make([]int64, 0, len(scheduled))
	for i, s := range scheduled {
		s += offset
		if i+1 < len(scheduled) {
			s = min(s, scheduled[i+1]-1)
		}
		if s >= from && s < to {
			starts = append(starts, s)
		}
	}
	return starts
}
