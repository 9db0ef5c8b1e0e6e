// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Change is one change of one object. The objects belong to the store: they are
// shared and never change.
type Change struct {
	// Kind of the object, such as "Pod".
	Kind string
	// Old is the object before; nil: there was none.
	Old client.Object
	// New is the object after. If Gone, it is how the object was when it went.
	New  client.Object
	Gone bool
	// By is who did it, Verb how: create, update, status, patch, delete, or the words of [Edit].
	By, Verb string
	// version is the resource version of the change.
	version uint64
	// trimmed is New as caches keep it.
	trimmed client.Object
}

// store holds all objects and remembers how each kind came to be as it is.
// Objects in it are replaced, never changed.
type store struct {
	version uint64
	kinds   map[string]*shelf
	tell    []func(*Change)
}

// shelf is all objects of one kind.
type shelf struct {
	objects map[types.NamespacedName]client.Object
	log     []*Change
}

func newStore() *store { return &store{kinds: map[string]*shelf{}} }

func (s *store) shelf(kind string) *shelf {
	h := s.kinds[kind]
	if h == nil {
		h = &shelf{objects: map[types.NamespacedName]client.Object{}}
		s.kinds[kind] = h
	}
	return h
}

func (s *store) get(kind string, key types.NamespacedName) client.Object {
	return s.shelf(kind).objects[key]
}

// list gives the objects of a kind, by name.
func (s *store) list(kind string) []client.Object {
	objects := s.shelf(kind).objects
	return slices.SortedFunc(maps.Values(objects), byName)
}

func byName(a, b client.Object) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}

// put carries out a change, gives it its version and tells everybody. What is
// on its way out and held by nothing any more is gone with it.
func (s *store) put(c *Change) client.Object {
	s.version++
	c.version = s.version
	c.New.SetResourceVersion(strconv.FormatUint(s.version, 10))
	normalize(c.New)
	c.Gone = c.Gone || over(c.New)
	h, key := s.shelf(c.Kind), client.ObjectKeyFromObject(c.New)
	if c.Gone {
		delete(h.objects, key)
	} else {
		h.objects[key] = c.New
	}
	h.log = append(h.log, c)
	for _, tell := range s.tell {
		tell(c)
	}
	return c.New
}

// over reports whether nothing keeps an object that is being deleted: no
// finalizer, and of a pod no node that has still to stop it.
func over(obj client.Object) bool {
	if obj.GetDeletionTimestamp() == nil || len(obj.GetFinalizers()) > 0 {
		return false
	}
	grace := obj.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}

// normalize makes of an object what a journey through JSON would.
func normalize(obj client.Object) {
	cut(obj.GetDeletionTimestamp())
	switch o := obj.(type) {
	case *batchv1.Job:
		s := &o.Status
		cut(s.StartTime)
		cut(s.CompletionTime)
		for i := range s.Conditions {
			cut(&s.Conditions[i].LastProbeTime)
			cut(&s.Conditions[i].LastTransitionTime)
		}
		if len(s.Conditions) == 0 {
			s.Conditions = nil
		}
		if u := s.UncountedTerminatedPods; u != nil {
			if len(u.Succeeded) == 0 {
				u.Succeeded = nil
			}
			if len(u.Failed) == 0 {
				u.Failed = nil
			}
		}
	case *batchv1.CronJob:
		cut(o.Status.LastScheduleTime)
		cut(o.Status.LastSuccessfulTime)
	}
}

func cut(t *metav1.Time) {
	if t != nil && t.Nanosecond() != 0 {
		*t = metav1.NewTime(metav1.Unix(t.Unix(), 0).UTC())
	}
}

// KindOf is the kind under which the store keeps an object.
func KindOf(obj client.Object) string {
	switch o := obj.(type) {
	case *corev1.Pod:
		return "Pod"
	case *batchv1.Job:
		return "Job"
	case *batchv1.CronJob:
		return "CronJob"
	case *metav1.PartialObjectMetadata:
		return o.Kind
	}
	if kind := obj.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	t := reflect.TypeOf(obj).Elem()
	if t.Kind() == reflect.Struct && t.NumField() > 0 && t.Field(0).Anonymous && t.Field(0).Type != reflect.TypeFor[metav1.TypeMeta]() {
		t = t.Field(0).Type // a form of an API type that embeds it
	}
	return t.Name()
}

// duplicate is DeepCopy for objects.
func duplicate[T client.Object](obj T) T { return obj.DeepCopyObject().(T) }

// fill makes of into what obj is.
func (s *Server) fill(into, obj client.Object) error {
	switch to := into.(type) {
	case *metav1.PartialObjectMetadata:
		to.ObjectMeta = *metaOf(obj).DeepCopy()
		return nil
	default:
		copied, dst := duplicate(obj), reflect.ValueOf(into)
		if s.Served != nil && reflect.TypeOf(obj) != dst.Type() {
			copied = s.Served(copied)
		}
		from := reflect.ValueOf(copied)
		if from.Type() != dst.Type() {
			return fmt.Errorf("sim: a %T was asked for, %s/%s is a %T", into, obj.GetNamespace(), obj.GetName(), obj)
		}
		dst.Elem().Set(from.Elem())
		return nil
	}
}

// metaOf gives the metadata of an object.
func metaOf(obj client.Object) *metav1.ObjectMeta {
	if o, ok := obj.(metav1.ObjectMetaAccessor); ok {
		if m, ok := o.GetObjectMeta().(*metav1.ObjectMeta); ok {
			return m
		}
	}
	panic(fmt.Sprintf("sim: %T has no metav1.ObjectMeta", obj))
}
