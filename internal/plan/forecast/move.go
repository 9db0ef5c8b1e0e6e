// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import "slices"

// move is ChangeMove.
func (t *trial) move(before Summary) (Change, bool) {
	makers := t.makers(before.Starts.At)
	for _, maker := range makers {
		if maker.Objects < 2 {
			break
		}
		x, ok := parseExpression(t.text(maker.Schedule))
		if !ok {
			continue
		}
		first, step, ok := x.even()
		if !ok {
			continue
		}
		return t.moveTo(maker, t.bestMinute(maker, first, step), step)
	}
	return Change{}, false
}

// text is the schedule behind a label: that of a CronJob, or the only one of a Timetable; "" for others.
func (t *trial) text(label string) string {
	for _, g := range t.groups {
		for _, m := range g.members {
			if m.label != label {
				continue
			}
			if texts := cronTexts(m.Scheduled); len(texts) == 1 {
				return texts[0]
			}
			return ""
		}
	}
	return ""
}

// bestMinute is the minute at which the starts of a maker would make the lowest peak, and of those the one around which
// others start least: their runs would still be active.
func (t *trial) bestMinute(maker Maker, first, step int) int {
	others, own := slices.Clone(t.base.starts), make([]int64, len(t.base.starts))
	for _, g := range t.groups {
		if !t.goesOn() {
			break
		}
		members := int64(0)
		for _, m := range g.members {
			if m.label == maker.Schedule {
				members++
			}
		}
		if members == 0 {
			continue
		}
		for _, s := range g.times.between(t.base.from, t.base.to) {
			others[(s-t.base.from)/60] -= members
			own[(s-t.base.from)/60] += members
		}
	}
	around := near(others, min(int(t.options.Duration.Minutes()), mostAround))
	highest := slices.Max(others)
	best, lowest := first, []int64(nil)
	for minute := range step {
		peak, load := highest, int64(0)
		for i, n := range own {
			at := i + minute - first
			if n == 0 || at < 0 || at >= len(others) {
				continue
			}
			peak, load = max(peak, others[at]+n), load+around[at]
		}
		if score := []int64{peak, load}; lowest == nil || slices.Compare(score, lowest) < 0 {
			best, lowest = minute, score
		}
	}
	return best
}

// mostAround is how many minutes before and after a start are looked at.
const mostAround = 15

// near gives for each minute the sum of those that are no more than some minutes away.
func near(numbers []int64, minutes int) []int64 {
	sums := make([]int64, len(numbers)+1)
	for i, n := range numbers {
		sums[i+1] = sums[i] + n
	}
	around := make([]int64, len(numbers))
	for i := range numbers {
		around[i] = sums[min(i+minutes+1, len(numbers))] - sums[max(i-minutes, 0)]
	}
	return around
}

func (t *trial) moveTo(maker Maker, first, step int) (Change, bool) {
	e := t.newEdited(ChangeMove)
	e.change.Schedule, e.change.Minute = maker.Schedule, evenMinutes(first, step)
	for _, g := range t.groups {
		if slices.ContainsFunc(g.members, func(m *member) bool { return m.label == maker.Schedule }) {
			t.replace(e, g, func(m *member, _ expression) (string, bool) {
				return e.change.Minute, m.label == maker.Schedule
			})
		}
	}
	return e.done(t)
}
