// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

// union is the instants of any of its sources, each once.
type union []source

func (u union) after(sec int64) (next int64, end end) {
	end = over
	for _, s := range u {
		if t, e := s.after(sec); e == found && (end != found || t < next) {
			next, end = t, found
		}
	}
	return next, end
}

func (u union) before(sec int64) (last int64, end end) {
	end = over
	for _, s := range u {
		if t, e := s.before(sec); e == found && (end != found || t > last) {
			last, end = t, found
		}
	}
	return last, end
}

// count adds to the instants of the source that has most those of the others that it does
// not have, which it walks.
func (u union) count(from, to int64) int64 {
	most, n, sum := 0, int64(-1), int64(0)
	for i, s := range u {
		count := s.count(from, to)
		if sum += count; count > n {
			most, n = i, count
		}
	}
	if n == sum {
		return n
	}
	for sec := from - 1; ; {
		next, end := int64(0), over
		for i, s := range u {
			if i == most {
				continue
			}
			if t, e := s.after(sec); e == found && (end != found || t < next) {
				next, end = t, found
			}
		}
		if end != found || next >= to {
			return n
		}
		if !has(u[most], next) {
			n++
		}
		sec = next
	}
}
