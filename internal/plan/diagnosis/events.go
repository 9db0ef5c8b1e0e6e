// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// eventsKept is how long API servers keep events unless they are told otherwise.
const eventsKept = time.Hour

// Event is an event, of either API that has them.
type Event struct {
	// Kind, Name and UID are those of the object that it is about.
	Kind, Name string
	UID        types.UID
	Type       string
	Reason     string
	Message    string
	// First and Last are when it happened for the first and for the last time.
	First, Last time.Time
	Count       int32
}

// by is how evidence names it.
func (e *Event) by() string { return "event " + e.Reason }

// ReadEvent reads an event of either API; ok is false if it is none, or has no reason.
func ReadEvent(content *unstructured.Unstructured) (Event, bool) {
	about, message := "involvedObject", "message"
	if content.GroupVersionKind().Group == "events.k8s.io" {
		about, message = "regarding", "note"
	}
	typed, ok := as[corev1.Event](content)
	if !ok {
		return Event{}, false
	}
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(content.Object, fields...)
		return value
	}
	e := Event{
		Kind: text(about, "kind"), Name: text(about, "name"), UID: types.UID(text(about, "uid")),
		Type: typed.Type, Reason: typed.Reason, Message: text(message),
		First: firstTime(typed.FirstTimestamp.Time, typed.EventTime.Time, typed.CreationTimestamp.Time),
		Last:  firstTime(typed.LastTimestamp.Time, typed.EventTime.Time, typed.CreationTimestamp.Time),
		Count: max(1, typed.Count),
	}
	if s := typed.Series; s != nil {
		e.Last, e.Count = firstTime(s.LastObservedTime.Time, e.Last), max(e.Count, s.Count)
	}
	return e, e.Reason != ""
}

// firstTime is the first that is not zero.
func firstTime(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// about are the events about an object with one of these reasons, oldest first.
func (e *Evidence) about(kind, name string, reasons ...string) []*Event {
	var found []*Event
	for i := range e.Events {
		event := &e.Events[i]
		if event.Kind == kind && event.Name == name && (len(reasons) == 0 || slices.Contains(reasons, event.Reason)) {
			found = append(found, event)
		}
	}
	return found
}

// aboutOwner are those about the CronJob or Timetable.
func (e *Evidence) aboutOwner(reasons ...string) []*Event {
	return e.about(e.Scheduled.Kind.Info().Owner.Kind, e.Scheduled.Owner.Name, reasons...)
}

// warnings are the Warnings about the CronJob or Timetable.
func (e *Evidence) warnings() []*Event {
	return slices.DeleteFunc(e.aboutOwner(), func(event *Event) bool { return event.Type != corev1.EventTypeWarning })
}

// newest leaves the last ones.
func newest(events []*Event, most int) []*Event { return events[max(0, len(events)-most):] }

// within leaves those that happened in an interval, at least once.
func within(events []*Event, from, to time.Time) []*Event {
	return slices.DeleteFunc(events, func(e *Event) bool { return e.Last.Before(from) || firstTime(e.First, e.Last).After(to) })
}

// lastOf is the last of some events that overlap an interval, of those that surely happened in it if there are such;
// nil if there is none. An event that was counted several times tells only when it was so first and last: sure is false
// if neither lies in the interval, and the count does not reach for all scheduled times between the two.
func (e *Evidence) lastOf(events []*Event, from, to time.Time) (last *Event, sure bool) {
	for _, event := range events {
		if certain := e.happened(event, from, to); certain || !sure {
			last, sure = event, certain
		}
	}
	return last, sure
}

func (e *Evidence) happened(event *Event, from, to time.Time) bool {
	in := func(t time.Time) bool { return !t.Before(from) && !t.After(to) }
	if event.Count <= 1 || in(firstTime(event.First, event.Last)) || in(event.Last) {
		return true
	}
	times := e.Scheduled.Policy.Timing.Times
	if times == nil || e.Scheduled.Policy.Timing.Every != 0 {
		return false
	}
	n := int32(0)
	for t := times.Next(event.First.Add(-time.Minute)); !t.IsZero() && !t.After(event.Last); t = times.Next(t) {
		if n++; n > event.Count {
			return false
		}
	}
	return true
}

// tells adds an event to the evidence.
func (b *builder) tells(e *Event) {
	text := firstLine(e.Message)
	if e.Count > 1 && !e.First.IsZero() && !e.Last.IsZero() {
		text += " (" + quantity.Count(int(e.Count), "time") + ", first " + b.clock(e.First) + ", last " + b.clock(e.Last) + ")"
	} else if !e.Last.IsZero() {
		text = b.clock(e.Last) + ", " + text
	}
	b.show(e.by(), e.Last, "%s", text)
}

// creates are the reasons of events that tell of a start.
var creates = []string{"SuccessfulCreate", "RunStarted"}

// createdBy is the event that tells of the start of a scheduled time, nil if there is none: the name of what was
// started tells the time.
func (e *Evidence) createdBy(t time.Time) (event *Event, name string) {
	for _, event := range e.aboutOwner(creates...) {
		for _, word := range words(event.Message) {
			if named, ok := timeInName(e.Scheduled, word); ok && e.sameTime(named, t) {
				return event, word
			}
		}
	}
	return nil, ""
}

// sameTime tells whether a name's time stands for a scheduled time: names of CronJobs have minutes only.
func (e *Evidence) sameTime(named, t time.Time) bool {
	return named.Equal(t.Truncate(max(e.Scheduled.Kind.Info().Traits.NameUnit, time.Second)))
}

// naming leaves the events whose message names a scheduled time: as a run's name, or as an instant.
func (e *Evidence) naming(events []*Event, t time.Time) []*Event {
	return slices.DeleteFunc(slices.Clone(events), func(event *Event) bool {
		return !slices.ContainsFunc(words(event.Message), func(word string) bool {
			if at, err := time.Parse(time.RFC3339, word); err == nil {
				return at.Equal(t)
			}
			named, ok := timeInName(e.Scheduled, word)
			return ok && e.sameTime(named, t)
		})
	})
}

// words are the words of a message, without punctuation.
func words(message string) []string {
	fields := strings.Fields(message)
	for i := range fields {
		fields[i] = strings.Trim(fields[i], `"'.,:;()[]`)
	}
	return fields
}

// eventsGone says that events of a time are not kept any more, or were not looked at.
func (b *builder) eventsGone(t time.Time) {
	switch oldest := b.oldestEvent(); {
	case !b.Read.Events:
		b.lack("events were not looked at")
	case b.Now.Sub(t) > eventsKept && (oldest.IsZero() || oldest.After(t)):
		b.lack("events are kept for an hour, unless the API server is told otherwise; none of %s is left", b.clock(t))
	}
}

func (e *Evidence) oldestEvent() time.Time {
	if len(e.Events) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(e.Events, func(a, b Event) int { return cmp.Compare(a.Last.UnixNano(), b.Last.UnixNano()) }).Last
}
