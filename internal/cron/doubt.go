// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A create can succeed and its answer get lost. The child then exists, and neither the state nor, for a while, the
// cache knows it: under Forbid the next scheduled time would start beside it. So an answer that says neither yes nor
// no is followed by a live read, and when that fails too, the name is remembered and read before the next start that
// must not overlap.

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
	// Doubts are the names of children that may have been created.
	Doubts []string `json:"doubts,omitempty"`
}

func parseMemo(text string) memo {
	var m memo
	if text == "" || json.Unmarshal([]byte(text), &m) != nil {
		return memo{}
	}
	return m
}

// memoOf is the memo of a pass: its timetable, the outcomes that it named, and the doubts that it did not resolve.
func memoOf(in Input, all []Child, e edit, t turn, l ledger) string {
	doubts := doubts(in, all)
	if t.doubt != "" {
		doubts = append(doubts, t.doubt)
	}
	if len(doubts) == 0 && l == (ledger{}) {
		return e.text
	}
	data, err := json.Marshal(memo{timetable: e.now, ledger: l, Doubts: doubts[max(0, len(doubts)-maxDoubts):]})
	if err != nil {
		return e.text
	}
	return string(data)
}

// doubts are the names from earlier passes that neither the cache nor a look of this pass has explained.
func doubts(in Input, all []Child) []string {
	return slices.DeleteFunc(parseMemo(in.Seen).Doubts, func(name string) bool {
		if slices.ContainsFunc(all, func(c Child) bool { return c.Name == name }) {
			return true
		}
		s, asked := seen(in, name)
		return asked && s.err == nil
	})
}

// resolve looks at the doubts before a start that must not overlap. It tells whether all of them are resolved.
func (t *turn) resolve(in Input, all []Child) bool {
	open := doubts(in, all)
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
