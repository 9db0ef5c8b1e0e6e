// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
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
	// memory is how long an event is added to instead of written anew; API servers keep events for an hour.
	memory = 50 * time.Minute
	// similarLimit events with the same object, type and reason but different messages are written within
	// similarWindow; further ones are combined.
	similarLimit  = 20
	similarWindow = 10 * time.Minute
	combined      = "(combined from similar events): "
	// requestTimeout bounds one try.
	requestTimeout = 10 * time.Second
)

// backoff is how long a writer waits before it tries again after an error that may pass.
var backoff = []time.Duration{200 * time.Millisecond, time.Second, 5 * time.Second}

// writer turns events into events. One goroutine owns it.
type writer struct {
	options Options
	events  *lru.Cache // eventKey -> *told
	similar *lru.Cache // eventKey without message -> *kin
	stamp   int64
}

type eventKey struct {
	uid                   types.UID
	name                  string
	kind, reason, message string
}

type told struct {
	namespace, name string
	count           int32
	last            time.Time
}

type kin struct {
	since    time.Time
	messages int
}

func newWriter(options Options) *writer {
	return &writer{options: options, events: lru.New(rememberedEvents), similar: lru.New(rememberedEvents)}
}

// drain writes at most limit events that are already queued.
func (w *writer) drain(ctx context.Context, events <-chan Event, limit int) {
	for range limit {
		select {
		case n := <-events:
			w.write(ctx, n)
			if ctx.Err() != nil {
				return
			}
		default:
			return
		}
	}
}

// write tells one event: it adds to an event that said the same before, or makes a new one. The end of ctx ends the
// trying, but does not tear a request that is under way.
func (w *writer) write(ctx context.Context, n Event) {
	now := w.options.Clock.Now()
	kind := eventKey{uid: n.About.UID, name: n.About.Name, kind: n.Type, reason: n.Reason}
	key := kind
	key.message = n.Message
	event := w.told(key, now)
	if event == nil && w.tooMany(kind, now) {
		key.message = combined
		n.Message = cut(combined+n.Message, maxMessage)
		event = w.told(key, now)
	}
	var err error
	for try := 0; ; try++ {
		request, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		if event != nil {
			err = w.add(request, event, n, now)
			if apierrors.IsNotFound(err) { // expired earlier than we thought, or deleted by hand
				event = nil
				err = w.create(request, key, n, now)
			}
		} else {
			err = w.create(request, key, n, now)
		}
		cancel()
		if err == nil || !passing(err) || try >= len(backoff) {
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
		w.options.Logger.V(1).Info("Event was not written", "reason", n.Reason, "object", n.About.Namespace+"/"+n.About.Name, "error", err.Error())
	}
}

func (w *writer) told(key eventKey, now time.Time) *told {
	found, _ := w.events.Get(key)
	event, ok := found.(*told)
	if !ok || now.Sub(event.last) > memory {
		return nil
	}
	return event
}

// tooMany counts a new message of this kind and reports whether it must be combined with others.
func (w *writer) tooMany(kind eventKey, now time.Time) bool {
	found, _ := w.similar.Get(kind)
	k, ok := found.(*kin)
	if !ok || now.Sub(k.since) > similarWindow {
		k = &kin{since: now}
		w.similar.Add(kind, k)
	}
	k.messages++
	return k.messages > similarLimit
}

func (w *writer) add(ctx context.Context, event *told, n Event, now time.Time) error {
	patch, err := json.Marshal(map[string]any{
		"count":         event.count + 1,
		"message":       n.Message,
		"lastTimestamp": metav1.NewTime(n.at),
	})
	if err != nil {
		return err
	}
	if err := w.options.Sink.Patch(ctx, event.namespace, event.name, patch); err != nil {
		return err
	}
	event.count++
	event.last = now
	return nil
}

func (w *writer) create(ctx context.Context, key eventKey, n Event, now time.Time) error {
	w.stamp = max(w.stamp+1, now.UnixNano())
	namespace := n.About.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	at := metav1.NewTime(n.at)
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      eventName(n.About.Name, strconv.FormatInt(w.stamp, 16)),
		},
		InvolvedObject:      n.About,
		Type:                n.Type,
		Reason:              n.Reason,
		Message:             n.Message,
		Source:              corev1.EventSource{Component: w.options.Component, Host: w.options.Host},
		ReportingController: w.options.Component,
		FirstTimestamp:      at,
		LastTimestamp:       at,
		Count:               1,
	}
	if err := w.options.Sink.Create(ctx, event); err != nil {
		return err
	}
	w.events.Add(key, &told{namespace: namespace, name: event.Name, count: 1, last: now})
	return nil
}

// passing reports whether err may go away by itself. Refusals (a namespace that is going, missing rights, invalid
// events) do not.
func passing(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code >= 500 || code == 429
	}
	return true
}
