// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"slices"
)

// Names gives names that are remembered in a namespace ("" is all), in order and each once, as many as most at most: of
// a kind of owner ("CronJob", "Timetable"), those of all of which a run or an omission is kept; of "Job", those of Jobs
// that had no owner, and then those of the newest other Jobs.
func (r *Reader) Names(ctx context.Context, namespace, kind string, most int) ([]string, error) {
	var names []string
	err := r.read(ctx, func(t *reading) error {
		add := func(query string, args ...any) error {
			return t.each(query, append(args, most-len(names)), func(scan func(...any) error) error {
				var name any
				err := scan(&name)
				names = append(names, textOf(name))
				return err
			})
		}
		if kind != "Job" {
			return add(`SELECT DISTINCT owner_name FROM series WHERE owner_kind = ?1 AND (?2 = '' OR namespace = ?2)
				ORDER BY 1 LIMIT ?3`, kind, namespace)
		}
		const of = "SELECT id FROM series WHERE kind = ?1 AND (?2 = '' OR namespace = ?2) AND owner_name "
		if err := add("SELECT name FROM runs WHERE series IN ("+of+"= '') ORDER BY time DESC LIMIT ?3", kind, namespace); err != nil {
			return err
		}
		// The + keeps to the order of time, in which the newest are found at once, instead of ordering the runs of all
		// series.
		return add("SELECT name FROM runs WHERE series IS NOT NULL AND +series IN ("+of+"<> '') ORDER BY time DESC LIMIT ?3", kind, namespace)
	})
	slices.Sort(names)
	return slices.Compact(names), err
}
