// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package make builds API objects for tests, so that a test says only what it is
// about:
//
//	job := make.Job("batch", "report").Indexed(3).CompletedIndexes("0").Obj()
//	pod := make.Pod("batch", "report-1").Of(job).Index(1).Phase(corev1.PodRunning).Obj()
//
// An object starts out as the API server stores one of which only name and template
// were given: defaults filled in, a UID made of kind, namespace and name, created at
// [Created].
//
// Builders are values: a step returns a changed copy, so a test may keep one and
// branch from it. Obj gives the object as stored, New the same as a user would
// create it (no UID, no status, nothing that the server fills in). Each call gives a
// fresh object.
package make

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Created is the creation time of objects of which a test says nothing else.
var Created = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func newMeta(kind, namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:         namespace,
		Name:              name,
		UID:               types.UID(kind + "-" + namespace + "-" + name),
		CreationTimestamp: metav1.NewTime(Created),
		ResourceVersion:   "1",
		Generation:        1,
	}
}

// unsaved is what of the metadata a user writes.
func unsaved(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:       m.Namespace,
		Name:            m.Name,
		Labels:          maps.Clone(m.Labels),
		Annotations:     maps.Clone(m.Annotations),
		OwnerReferences: slices.Clone(m.OwnerReferences),
		Finalizers:      slices.Clone(m.Finalizers),
	}
}

// with returns a copy of m in which key has a value. m may be nil.
func with(m map[string]string, key, value string) map[string]string {
	c := maps.Clone(m)
	if c == nil {
		c = map[string]string{}
	}
	c[key] = value
	return c
}

// add returns a copy of s with more elements, so that branches of a builder do not
// share a backing array.
func add[E any](s []E, more ...E) []E { return slices.Concat(s, more) }

func at(t time.Time) *metav1.Time {
	m := metav1.NewTime(t)
	return &m
}
