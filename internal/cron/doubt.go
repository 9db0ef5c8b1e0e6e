// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A create can succeed and its answer get lost. The child then exists, and neither the state nor, for a while, the
// cache knows it: under Forbid the next scheduled time would start beside it. So an answer that says neither yes nor
// no is followed by a live read, and the name is remembered and read again before each start that must not overlap,
// until the cache or the status shows what has it.

// requestTimeout is the one answer among the refusals that does not say whether the request was carried out.
const requestTimeout = 408

// unclear tells whether a create that was answered by err may have succeeded. Refusals (4xx) are clear.
func unclear(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err != nil
	}
	code := status.Status().Code
	return code < 400 || code >= 500 || code == requestTimeout
}

// maxDoubts bounds what is remembered; the server must be away for many scheduled times to get there.
const maxDoubts = 8

// memo is what one pass leaves for the next one in this process (Plan.Timetable, Input.Seen).
type memo struct {
	timetable
	ledger
	// Doubts are the names of children that may exist although neither the cache nor the status shows them.
	Doubts []string `json:"doubts,omitempty"`
	// Served is the latest scheduled time that is known to have been served and that no status write has recorded yet.
	// Its child proves it, but anybody may delete that before a write succeeds.
	Served *time.Time `json:"served,omitempty"`
	// Troubles are what was told lately of causes that last, and Misconfigured is what the last pass found.
	Troubles      []trouble        `json:"troubles,omitempty"`
	Misconfigured Misconfiguration `json:"misconfigured,omitempty"`
	// Touched is Owner.Touched, in seconds.
	Touched int64 `json:"touched,omitempty"`
}

func parseMemo(text string) memo {
	if text == "" {
		return memo{}
	}
	var m memo
	if json.Unmarshal([]byte(text), &m) != nil {
		return memo{}
	}
	return m
}

// memoOf is the memo of a pass: its timetable, the outcomes that it named, what it told of causes that last, and what the
// next pass could not know from the cache and the status. state is lastScheduleTime and the active list as far as they
// are true already.
func memoOf(in Input, e edit, state State, l ledger, told []trouble, found Misconfiguration) string {
	m := memo{timetable: e.now, ledger: l, Doubts: unshown(in, state), Served: unstored(in, state),
		Troubles: told, Misconfigured: found}
	if !in.Owner.Touched.IsZero() {
		m.Touched = in.Owner.Touched.Unix()
	}
	data, err := json.Marshal(m)
	if err != nil {
		return e.now.text()
	}
	return string(data)
}

// unstored is lastScheduleTime as the pass knows it, nil if the server knows it too.
func unstored(in Input, state State) *time.Time {
	last := state.LastSchedule
	if last == nil || in.done.record != nil && in.done.record.err == nil {
		return nil
	}
	if stored := in.State.LastSchedule; stored != nil && !last.After(*stored) {
		return nil
	}
	return last
}

// unshown are the doubts that this pass leaves: names that a create met or may have made, unless the cache shows them by
// now, or a look found nothing that could be in the way, or what it found is in the stored status.
func unshown(in Input, state State) []string {
	names := slices.Clone(in.memo.Doubts)
	if s := in.done.started; s != nil && s.err != nil && (unclear(s.err) || apierrors.IsAlreadyExists(s.err)) &&
		!slices.Contains(names, s.start.Name) {
		names = append(names, s.start.Name)
	}
	stored := in.State.Active
	if in.done.record != nil && in.done.record.err == nil {
		stored = state.Active
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		if cached(in, name) {
			return true
		}
		s, asked := seen(in, name)
		if !asked || s.err != nil {
			return false
		}
		return s.child == nil || !ours(in, *s.child) || s.child.Phase.finished() || listed(stored, s.child.UID)
	})
	return names[max(0, len(names)-maxDoubts):]
}

func cached(in Input, name string) bool {
	return slices.ContainsFunc(in.Children, func(c Child) bool { return c.Name == name })
}

// resolve looks at the doubts before a start that must not overlap. It tells whether all of them are resolved.
func (t *turn) resolve(in Input) bool {
	open := slices.DeleteFunc(slices.Clone(in.memo.Doubts), func(name string) bool {
		s, asked := seen(in, name)
		return cached(in, name) || asked && s.err == nil
	})
	for _, name := range open {
		s, asked := seen(in, name)
		if !asked {
			t.look = append(t.look, Look{Namespace: in.Owner.Namespace, Name: name, Why: "an earlier create may have succeeded"})
			continue
		}
		t.err = errors.Join(t.err, fmt.Errorf("reading %s %s, which may have been created: %w", in.Traits.ChildKind, name, s.err))
	}
	return len(open) == 0
}
