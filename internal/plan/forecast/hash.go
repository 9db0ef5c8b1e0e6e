// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import "github.com/carillon-dev/carillon/schedule"

// hash is ChangeHash.
func (t *trial) hash(Summary) (Change, bool) {
	e := t.newEdited(ChangeHash)
	for _, g := range t.groups {
		if !t.goesOn() {
			break
		}
		if g.idle {
			continue
		}
		crowded := t.startsCrowded(g.times.between(t.base.from, t.base.to))
		t.replace(e, g, func(m *member, x expression) (string, bool) {
			first, step, ok := x.even()
			switch {
			case !ok || first != 0 && !crowded:
				return "", false
			case m.Timetable() != nil:
				return hashedMinutes(step), true
			}
			own := schedule.Hash{Namespace: m.Owner.Namespace, Name: m.Owner.Name}.Value(mainItem, minuteField) % uint64(step)
			return evenMinutes(int(own), step), int(own) != first
		})
	}
	return e.done(t)
}

// What H in the only schedule of a Timetable is hashed from (schedule.Hash): a CronJob gets the minute that it would
// have as a Timetable.
const (
	mainItem    = "main"
	minuteField = "minute"
)
