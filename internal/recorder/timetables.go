// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"hash/maphash"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// timetableSeen takes in what the status of a Timetable tells of times that were not started, and follows what it
// starts.
func (k *kinds) timetableSeen(object client.Object) {
	t, ok := object.(*timetable.Object)
	if !ok {
		return
	}
	for _, gvk := range (kind.Timetable{}).ChildKinds(t) {
		switch {
		case gvk == jobKind, gvk.Empty(), !(kind.Timetable{}).MayBeChild(gvk):
		case gvk == podKind:
			k.want(k.pods())
		default:
			k.want(k.unstructured(gvk, ofTimetables()))
		}
	}
	omissions := run.OmissionsOf(&t.Timetable, time.Now())
	marks := make([]uint64, len(omissions))
	for i, o := range omissions {
		o.Seen = time.Time{}
		marks[i] = maphash.Comparable(seed, o)
	}
	k.mu.Lock()
	before := k.omitted[t.UID]
	if len(marks) == 0 {
		delete(k.omitted, t.UID)
	} else {
		k.omitted[t.UID] = marks
	}
	k.mu.Unlock()
	fresh := omissions[:0]
	for i, mark := range marks {
		if !slices.Contains(before, mark) {
			fresh = append(fresh, omissions[i])
		}
	}
	k.recorder.omitted(fresh)
}

func (k *kinds) timetableGone(object client.Object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.omitted, object.GetUID())
}
