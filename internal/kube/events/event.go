// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events writes the events that users see with `kubectl describe`.
//
// A controller makes them with a Recorder: core/v1 events with the controller's own source component, the form that
// users' tooling has read for years. It differs from client-go's recorder in this:
//
//   - An event can name its cause (Event.DedupKey). The same event for the same cause is then written once and not by
//     every sync (cronjob.md B6).
//   - Events wait while there is urgent work (package loadgate), and a fixed number of writers write them: a burst of
//     starts is not slowed by events about it.
//   - Repeated events become one event with a count, and many similar ones become one combined event, but none is
//     dropped by a budget for each object; the queue is bounded. client-go's EventCorrelator cannot do this part: it
//     combines for ever what comes every minute, counts what was never written, and always has a budget.
//
// Losing the Recorder is safe: an event is made after the write that it reports, so a crash loses events, never state.
package events

import (
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Event is what happened to an object.
type Event struct {
	// About is the object that the event is shown with.
	About corev1.ObjectReference
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason is the CamelCase word that tooling matches.
	Reason string
	// Message is a sentence that names the object concerned and what to do. More than 1024 bytes are cut off.
	Message string
	// DedupKey, if not empty, names the cause: a scheduled time, a generation. An event with the same About.UID, Reason
	// and DedupKey as one of the last 64 with a key about that object is not written again.
	DedupKey string

	// at is when it was made, which may be some time before it is written.
	at time.Time
}

// About refers to obj as an object of kind gvk. Typed objects that come from a client do not know their own kind,
// which is why it is asked for.
func About(obj client.Object, gvk schema.GroupVersionKind) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion:      gvk.GroupVersion().String(),
		Kind:            gvk.Kind,
		Namespace:       obj.GetNamespace(),
		Name:            obj.GetName(),
		UID:             obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(),
	}
}

// maxMessage is the longest message that every version of the event API accepts.
const maxMessage = 1024

// cut shortens a message that is longer than limit bytes, between two characters.
func cut(message string, limit int) string {
	if len(message) <= limit {
		return message
	}
	const more = "..."
	message = message[:limit-len(more)]
	for len(message) > 0 && !utf8.ValidString(message[max(0, len(message)-utf8.UTFMax):]) {
		if r, size := utf8.DecodeLastRuneInString(message); r != utf8.RuneError || size != 1 {
			break
		}
		message = message[:len(message)-1]
	}
	return message + more
}

// eventName is unique for one involved object as long as stamp is, and a valid object name whatever the length of
// the involved object's name.
func eventName(involved, stamp string) string {
	const limit = 253
	if room := limit - len(stamp) - 1; len(involved) > room {
		involved = strings.TrimRight(involved[:room], ".-")
	}
	return involved + "." + stamp
}
