// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "slices"

// shown is a column that is shown, and how wide.
type shown struct{ column, width int }

// fit chooses the columns that are shown in width columns of the terminal (0: any number). Columns are first made
// narrower, down to their Min, the widest first. Where that is not enough, those with a priority are left out, one
// after the other. What is left then and still does not fit is made as narrow as it must be.
func (t *Table) fit(natural []int, width int) []shown {
	var columns []shown
	for n, w := range natural {
		if w > 0 {
			columns = append(columns, shown{n, w})
		}
	}
	if width <= 0 {
		return columns
	}
	room := func() int { return width - t.indent(width) - gap*max(0, len(columns)-1) }
	least := func(s shown) int {
		if m := t.Columns[s.column].Min; m > 0 {
			return min(m, natural[s.column])
		}
		return natural[s.column]
	}
	for sum(columns, least) > room() {
		last := t.firstToGo(columns)
		if last < 0 {
			break
		}
		columns = slices.Delete(columns, last, last+1)
	}
	narrow(columns, room(), least)
	narrow(columns, room(), func(s shown) int { return min(4, s.width) }) // a letter or two, and "…"
	narrow(columns, room(), func(shown) int { return 1 })
	for len(columns) > 1 && sum(columns, shown.size) > room() {
		columns = columns[:len(columns)-1]
	}
	if len(columns) == 1 {
		columns[0].width = min(columns[0].width, max(1, room()))
	}
	return columns
}

func (s shown) size() int { return s.width }

func sum(columns []shown, of func(shown) int) int {
	total := 0
	for _, s := range columns {
		total += of(s)
	}
	return total
}

// firstToGo is the place of the column with the highest priority, the last of them; -1 if none may go.
func (t *Table) firstToGo(columns []shown) int {
	found, priority := -1, 1
	for n, s := range columns {
		if p := t.Columns[s.column].Priority; p >= priority {
			found, priority = n, p
		}
	}
	return found
}

// narrow takes width away from the widest columns until all fit into room or each is as narrow as least says.
func narrow(columns []shown, room int, least func(shown) int) {
	floor := make([]int, len(columns))
	for n, s := range columns {
		floor[n] = least(s)
		s.width = min(s.width, max(floor[n], room)) // no column is wider than all of them may be
		columns[n] = s
	}
	for excess := sum(columns, shown.size) - room; excess > 0; excess-- {
		widest := -1
		for n, s := range columns {
			if s.width > floor[n] && (widest < 0 || s.width > columns[widest].width) {
				widest = n
			}
		}
		if widest < 0 {
			return
		}
		columns[widest].width--
	}
}
