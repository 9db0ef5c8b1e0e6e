// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events writes the events that users see with `kubectl describe`.
//
// Controllers speak through a Recorder: core/v1 events with the controller's own source component, the form that
// users' tooling has read for years. Compared with client-go's recorder it adds three things:
//
//   - An event can name its cause (Event.Once). The same Warning for the same cause is then said once and not on every
//     sync (cronjob.md B6).
//   - Events wait while starts are due (package loadgate), and are written by a fixed number of writers: a burst of
//     starts is never slowed by talk about it.
//   - Nothing is thrown away by a per-object budget; repeated events become one event with a count, many similar
//     ones become one combined event, and the queue is bounded.
//
// The Recorder is safe to lose: events are told after the write that they report, so a crash costs the story, never
// the state.
package events

import (
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Event is one thing to say about an object.
type Event struct {
	// About is the object that the event is shown with.
	About corev1.ObjectReference
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason is the CamelCase word that tooling matches.
	Reason string
	// Message is a sentence that names the object concerned and what to do. More than 1024 bytes are cut off.
	Message string
	// Once, if not empty, is its cause: a scheduled time, a generation. An event with the same About.UID,
	// Reason and Once as one of the last few dozen about that object is not repeated.
	Once string

	// at is when it was said, which may be some time before it is written.
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
