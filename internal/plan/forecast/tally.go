// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"time"
)

// A tally adds up the starts of groups.
type tally struct {
	options  Options
	from, to int64 // seconds since 1970
	// starts are those of each minute.
	starts []int64
	// change is by how many active runs each second has more than the one before it.
	change []int64
}

func newTally(options Options) *tally {
	minutes := int(options.Length / time.Minute)
	from := options.From.Unix()
	return &tally{options: options, from: from, to: from + int64(minutes)*60, starts: make([]int64, minutes), change: make([]int64, minutes*60)}
}

func (t *tally) clone() *tally {
	c := newTally(t.options)
	copy(c.starts, t.starts)
	copy(c.change, t.change)
	return c
}

// maxWarmUp is how far before the first minute starts are looked for whose runs are still active in it.
const maxWarmUp = MaxLength

// warmUp is how far before the first minute the starts of members matter, in seconds.
func warmUp(members []*member) int64 {
	longest := int64(0)
	for _, m := range members {
		longest = max(longest, m.takes)
	}
	return min(longest, int64(maxWarmUp/time.Second))
}

// addGroup adds a group to the sums; sign -1 takes it out.
func (t *tally) addGroup(g *group, sign int64) {
	starts := g.times.between(t.from-warmUp(g.members), t.to)
	g.idle = !t.add(starts, g.members, sign)
}

// add adds members that all have these starts, the first of them at least warmUp before the first minute; it tells
// whether one counts. sign -1 takes them out.
func (t *tally) add(starts []int64, members []*member, sign int64) (any bool) {
	weight := sign * int64(len(members))
	for _, s := range starts {
		if s >= t.from {
			t.starts[(s-t.from)/60] += weight
			any = true
		}
	}
	same := map[runModel]int64{}
	for _, m := range members {
		same[modelOf(m)]++
	}
	for model, n := range same { // sums do not depend on the order
		model.walk(starts, t.to, func(begin, end int64) {
			t.active(begin, end, sign*n)
		})
	}
	return any
}

// active adds runs that are active in [begin, end).
func (t *tally) active(begin, end, n int64) {
	if end <= t.from || begin >= t.to || end <= begin {
		return
	}
	t.change[max(begin, t.from)-t.from] += n
	if end < t.to {
		t.change[end-t.from] -= n
	}
}

// running gives how many runs are active at once in each minute, at most.
func (t *tally) running() []int64 {
	most := make([]int64, len(t.starts))
	now := int64(0)
	for i, change := range t.change {
		now += change
		most[i/60] = max(most[i/60], now)
	}
	return most
}

func (t *tally) peaks() (starts, running Peak) {
	return peakOf(t.options.From, t.starts), peakOf(t.options.From, t.running())
}
