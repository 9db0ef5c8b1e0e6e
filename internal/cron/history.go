// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// beyondHistoryLimits gives the finished children beyond the limits of number and age, oldest first in each class
// (cronjob.md 4.4, timetable.md 3.10). It runs in every sync, whatever happens to the start, so that cleaning up never
// waits for a quota to be freed by cleaning up. Children that are being deleted take no place: no other one goes for
// what is not kept (B14). The attempts of a run count as one child, the newest. wake is when the next one may have to
// go because of its age, zero if none will.
func beyondHistoryLimits(in *Input, all []Child) (deletions []Deletion, wake time.Time) {
	classes := []struct {
		phase ChildPhase
		keep  Retention
	}{{Complete, in.Policy.Succeeded}, {Failed, in.Policy.Failed}}
	if in.Traits.FailedFirst {
		slices.Reverse(classes)
	}
	for _, class := range classes {
		if class.keep == (Retention{}) {
			continue
		}
		var finished []*Child
		for i := range all {
			if c := &all[i]; c.Phase == class.phase && !c.Gone && !c.Deleting && isNewest(in, all, *c) {
				finished = append(finished, c)
			}
		}
		slices.SortStableFunc(finished, in.Traits.History.compare)
		tooMany := 0
		if class.keep.Limit != nil {
			tooMany = len(finished) - int(max(0, *class.keep.Limit))
		}
		for i, c := range finished {
			why := ""
			switch age := class.keep.MaxAge; {
			case i < tooMany:
				why = fmt.Sprintf("%d %s, %d kept", len(finished), class.phase, *class.keep.Limit)
			case age == 0 || c.Finished == nil:
				continue
			case in.Now.Sub(*c.Finished) < age:
				wake = earlier(wake, c.Finished.Add(age).UTC())
				continue
			default:
				why = fmt.Sprintf("%s longer than %v ago", class.phase, age)
			}
			switch {
			case aheadOfCursor(in, *c):
				t, _ := proof(in, *c)
				wake = earlier(wake, t.UTC())
			case in.Policy.KeepAtLeast > 0 && in.Now.Sub(c.Created) < in.Policy.KeepAtLeast: // not by a clock that is behind alone
				wake = earlier(wake, c.Created.Add(in.Policy.KeepAtLeast).UTC())
			default:
				for _, c := range append(earlierAttempts(in, all, *c), *c) {
					if _, held := in.done.held[c.UID]; held {
						continue
					}
					deletions = append(deletions, Deletion{Namespace: c.Namespace, Name: c.Name, UID: c.UID, Why: why})
				}
			}
		}
	}
	return deletions, wake
}

// aheadOfCursor tells whether the child proves a scheduled time that has not come, by a clock that was set back since:
// where the status holds a cursor, nothing but the child tells of it.
func aheadOfCursor(in *Input, c Child) bool {
	if !in.Traits.Durable.Has(PartCursor) {
		return false
	}
	t, ok := proof(in, c)
	return ok && t.After(in.Now)
}

// compare orders children from oldest to newest.
func (o HistoryOrder) compare(a, b *Child) int {
	x, y, absent := a.Started, b.Started, 1
	switch o {
	case ByCreation:
		x, y = present(a.Created), present(b.Created)
	case ByStartUnstartedFirst:
		absent = -1
	}
	return cmp.Or(compareTimes(x, y, absent), byName(*a, *b))
}

func byName(a, b Child) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID)) }

// compareTimes puts an absent time last (absent 1) or first (absent -1).
func compareTimes(a, b *time.Time, absent int) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return absent
	case b == nil:
		return -absent
	default:
		return a.Compare(*b)
	}
}

func present(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t)
}

// safeWithoutRecord keeps the deletions that may be made although the record of this sync was not written: those whose
// child proves nothing that the stored status does not know (cronjob.md B3), and does not serve the due time either.
// keepListed: references to pruned children must not stay behind.
func (s *syncState) safeWithoutRecord(stored *Memory, deletions []Deletion, keepListed bool) []Deletion {
	return slices.DeleteFunc(slices.Clone(deletions), func(d Deletion) bool {
		i := slices.IndexFunc(s.children, func(c Child) bool { return c.UID == d.UID })
		c := s.children[i]
		switch {
		case timeUnrecorded(s.in, c, stored), s.isDue(c.Name):
			return true
		case s.in.Traits.Durable.Has(PartCursor) && stored.Cursor == nil: // a clock that goes back would name its time again
			return true
		case keepListed && (listed(stored.Active, c.UID) || ofRun(s.in, stored.Active, c)):
			return true
		}
		return successUnrecorded(s.in, c, stored)
	})
}

// pruneRetry is when a delete that failed for another reason than that the child was gone is tried again, if nothing
// else wakes the CronJob before.
const pruneRetry = time.Minute

// untried are the deletions that this sync has not tried yet.
func untried(in *Input, deletions []Deletion) []Deletion {
	return slices.DeleteFunc(slices.Clone(deletions), func(d Deletion) bool {
		_, tried := in.done.pruned[d.UID]
		return tried
	})
}

// pruneEvents reports the deletions, on the assumption that those not tried yet succeed.
func pruneEvents(in *Input, deletions []Deletion) []Event {
	var events []Event
	for _, d := range deletions {
		c := Child{Name: d.Name, UID: d.UID}
		err := in.done.pruned[d.UID]
		switch {
		case apierrors.IsNotFound(err) && in.Traits.Durable.Has(PartResults):
			// somebody else has deleted it: what was to be has come about
		case err != nil:
			events = append(events, failedDelete(in, c, err))
		default:
			events = append(events, deleted(in, c))
		}
	}
	return events
}

// retryPruneAt is when a failed delete is tried again, zero if none is.
func retryPruneAt(in *Input, deletions []Deletion) time.Time {
	for _, d := range deletions {
		if err := in.done.pruned[d.UID]; err != nil && !apierrors.IsNotFound(err) {
			return in.Now.Add(pruneRetry).UTC()
		}
	}
	return time.Time{}
}
