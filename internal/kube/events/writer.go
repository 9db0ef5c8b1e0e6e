// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
)

const (
	// rememberedEvents bounds the events that a writer can still add to.
	rememberedEvents = 8192
	// countFor is how long an event is counted up instead of written anew; API servers keep events for an hour.
	countFor = 50 * time.Minute
	// similarLimit events with the same object, type and reason but different messages are written within
	// similarWindow; further ones are combined.
	similarLimit  = 20
	similarWindow = 10 * time.Minute
	combinedMark  = "(combined from similar events): "
	// requestTimeout bounds one try.
	requestTimeout = 10 * time.Second
)

// backoff is how long a writer waits before it tries again after an error that may pass.
var backoff = []time.Duration{200 * time.Millisecond, time.Second, 5 * time.Second}

// writer writes Events as API objects. One goroutine owns it.
type writer struct {
	options Options
	written *lru.Cache // eventKey -> *written
	similar *lru.Cache // eventKey without message -> *similar
	stamp   int64
}

type eventKey struct {
	uid                   types.UID
	name                  string
	kind, reason, message string
}

// written is an event that the server has.
type written struct {
	namespace, name string
	count           int32
	last            time.Time
}

// similar counts the events that differ in their message alone.
type similar struct {
	since    time.Time
	messages int
}

func newWriter(options Options) *writer {
	return &writer{options: options, written: lru.New(rememberedEvents), similar: lru.New(rememberedEvents)}
}

// drain writes at most limit events that are already queued.
func (w *writer) drain(ctx context.Context, events *queue, limit int) {
	for range limit {
		e, ok := events.take()
		if !ok {
			return
		}
		w.write(ctx, e)
		if ctx.Err() != nil {
			return
		}
	}
}

// write counts up an event of the same message, or creates a new one. The end of ctx ends the tries, but does not cut
// off a request that is under way.
func (w *writer) write(ctx context.Context, e Event) {
	now := w.options.Clock.Now()
	kind := eventKey{uid: e.About.UID, name: e.About.Name, kind: e.Type, reason: e.Reason}
	key := kind
	key.message = e.Message
	known := w.find(key, now)
	if known == nil && w.tooMany(kind, now) {
		key.message = combinedMark
		e.Message = cut(combinedMark+e.Message, maxMessage)
		known = w.find(key, now)
	}
	var err error
	for try := 0; ; try++ {
		request, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		if known != nil {
			err = w.countUp(request, known, e, now)
			if apierrors.IsNotFound(err) { // the server keeps events for a shorter time, or somebody deleted it
				known = nil
				err = w.create(request, key, e, now)
			}
		} else {
			err = w.create(request, key, e, now)
		}
		cancel()
		if err == nil || !transient(err) || try >= len(backoff) {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-w.options.Clock.After(backoff[try]):
		}
	}
	if err != nil {
		dropped.WithLabelValues("refused").Inc()
		w.options.Logger.V(1).Info("Event was not written", "reason", e.Reason, "object", e.About.Namespace+"/"+e.About.Name, "error", err.Error())
	}
}

// find gives the event that can be counted up; nil: there is none.
func (w *writer) find(key eventKey, now time.Time) *written {
	found, _ := w.written.Get(key)
	known, ok := found.(*written)
	if !ok || now.Sub(known.last) > countFor {
		return nil
	}
	return known
}

// tooMany counts a new message of this kind and reports whether it must be combined with others.
func (w *writer) tooMany(kind eventKey, now time.Time) bool {
	found, _ := w.similar.Get(kind)
	s, ok := found.(*similar)
	if !ok || now.Sub(s.since) > similarWindow {
		s = &similar{since: now}
		w.similar.Add(kind, s)
	}
	s.messages++
	return s.messages > similarLimit
}

func (w *writer) countUp(ctx context.Context, known *written, e Event, now time.Time) error {
	patch, err := json.Marshal(map[string]any{
		"count":         known.count + 1,
		"message":       e.Message,
		"lastTimestamp": metav1.NewTime(e.at),
	})
	if err != nil {
		return err
	}
	if err := w.options.Sink.Patch(ctx, known.namespace, known.name, patch); err != nil {
		return err
	}
	known.count++
	known.last = now
	return nil
}

func (w *writer) create(ctx context.Context, key eventKey, e Event, now time.Time) error {
	w.stamp = max(w.stamp+1, now.UnixNano())
	namespace := cmp.Or(e.About.Namespace, metav1.NamespaceDefault)
	at := metav1.NewTime(e.at)
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      eventName(e.About.Name, strconv.FormatInt(w.stamp, 16)),
		},
		InvolvedObject:      e.About,
		Type:                e.Type,
		Reason:              e.Reason,
		Message:             e.Message,
		Source:              corev1.EventSource{Component: w.options.Component, Host: w.options.Host},
		ReportingController: w.options.Component,
		FirstTimestamp:      at,
		LastTimestamp:       at,
		Count:               1,
	}
	if err := w.options.Sink.Create(ctx, event); err != nil {
		return err
	}
	w.written.Add(key, &written{namespace: namespace, name: event.Name, count: 1, last: now})
	return nil
}

// transient reports whether err may go away by itself. Refusals (a namespace that is going, missing rights, invalid
// events) do not.
func transient(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code >= 500 || code == 429
	}
	return true
}
