// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// usualRuns is how many runs Usual is made from, at most.
const usualRuns = 20

// finished is a successful run, as Usual needs it.
type finished struct {
	id, time, duration int64
}

// putUsual keeps the list of a series' last successful runs, so that Usual of thousands of owners reads thousands of
// rows and not twenty times as many. A run that is in it is brought up to date.
func (d *database) putUsual(series, id int64, r *run.Run) error {
	var data []byte
	if _, err := d.one("SELECT last FROM usual WHERE series = ?", []any{series}, &data); err != nil {
		return err
	}
	last := decodeUsual(data)
	before := slices.Clone(last)
	last = slices.DeleteFunc(last, func(f finished) bool { return f.id == id })
	if r.Outcome == run.Succeeded && !r.Begun().IsZero() && !r.Ended.IsZero() {
		last = newest(append(last, finished{id: id, time: bound(r.Time()), duration: int64(r.Duration(r.Ended))}))
	}
	if slices.Equal(last, before) {
		return nil
	}
	_, err := d.exec("INSERT OR REPLACE INTO usual (series, last) VALUES (?, ?)", series, encodeUsual(last))
	return err
}

// newest orders runs, the newest first, and leaves as many as Usual is made from.
func newest(all []finished) []finished {
	slices.SortFunc(all, func(a, b finished) int {
		if a.time != b.time {
			return compare(b.time, a.time)
		}
		return compare(b.id, a.id)
	})
	return all[:min(len(all), usualRuns)]
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func encodeUsual(all []finished) []byte {
	data := make([]byte, 0, 20*len(all))
	for _, f := range all {
		data = binary.AppendVarint(data, f.id)
		data = binary.AppendVarint(data, f.time)
		data = binary.AppendVarint(data, f.duration)
	}
	return data
}

// decodeUsual gives what encodeUsual was given; of damaged data what can be read.
func decodeUsual(data []byte) []finished {
	var all []finished
	for len(data) > 0 && len(all) < usualRuns {
		var f finished
		for _, to := range []*int64{&f.id, &f.time, &f.duration} {
			v, n := binary.Varint(data)
			if n <= 0 {
				return all
			}
			*to, data = v, data[n:]
		}
		all = append(all, f)
	}
	return all
}

// Usual is how long runs of one owner take that succeed.
type Usual struct {
	Runs         int // how many it was made from
	Median, Most time.Duration
}

// fewOwners is how many owners are looked up one by one; of more all series are read.
const fewOwners = 100

// Usual tells how long the last successful runs of owners took, at most 20 of each, by the UID of the owner. Who has
// none is left out.
func (r *Reader) Usual(ctx context.Context, owners []types.UID) (map[types.UID]Usual, error) {
	wanted := map[types.UID][]finished{}
	for _, uid := range owners {
		wanted[uid] = nil
	}
	err := r.with(func(o *opened) error {
		const query = "SELECT s.owner_uid, u.last FROM series s JOIN usual u ON u.series = s.id"
		read := func(query string, args ...any) error {
			rows, err := o.db.QueryContext(ctx, query, args...)
			if err != nil {
				return err
			}
			defer rows.Close() //nolint:errcheck // Err tells
			for rows.Next() {
				var uid any
				var last []byte
				if err := rows.Scan(&uid, &last); err != nil {
					return err
				}
				owner := types.UID(unpack(uid))
				if all, ok := wanted[owner]; ok {
					wanted[owner] = append(all, decodeUsual(last)...)
				}
			}
			return rows.Err()
		}
		if len(wanted) > fewOwners {
			return read(query)
		}
		for uid := range wanted {
			if err := read(query+" WHERE s.owner_uid = ?", pack(string(uid))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	usual := map[types.UID]Usual{}
	for uid, all := range wanted {
		if all = newest(all); len(all) > 0 {
			usual[uid] = summary(all)
		}
	}
	return usual, nil
}

func summary(all []finished) Usual {
	durations := make([]time.Duration, len(all))
	for i, f := range all {
		durations[i] = time.Duration(f.duration)
	}
	slices.Sort(durations)
	n := len(durations)
	return Usual{Runs: n, Median: (durations[(n-1)/2] + durations[n/2]) / 2, Most: durations[n-1]}
}
