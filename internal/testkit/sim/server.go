// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Server is the API server.
type Server struct {
	World *World
	// Clock is the server's.
	Clock *Clock
	// Validate, if set, is asked about each status that is written; a text refuses it.
	Validate func(old, updated client.Object) string
	// Trim, if set, makes of an object what caches keep of it. It gets a copy.
	Trim func(client.Object) client.Object
	// Served and Stored convert between the types that clients use and those that the server stores; nil: they are the
	// same. Both get a copy, and leave an object that is of the right type already as it is.
	Served, Stored func(client.Object) client.Object
	// Custom are the kinds of custom resources: a write of their status takes no metadata, and a delete that asks for
	// nothing deletes the dependents in the background.
	Custom []string

	store  *store
	named  int
	uids   map[string]int
	asking func(Request)
}

// NewServer returns an empty server.
func NewServer(w *World) *Server {
	s := &Server{World: w, Clock: w.NewClock(0), store: newStore(), uids: map[string]int{}}
	s.OnChange(func(c *Change) { w.Story.Tell(c.By, "%v", (*news)(c)) })
	return s
}

// OnChange calls tell after each change, in order and at once.
func (s *Server) OnChange(tell func(*Change)) { s.store.tell = append(s.store.tell, tell) }

// OnRequest calls tell before each request that reaches the server has its effect.
func (s *Server) OnRequest(tell func(Request)) { s.asking = tell }

// Get gives an object as it is; nil if there is none. It must not be changed.
func (s *Server) Get(kind, namespace, name string) client.Object {
	return s.store.get(kind, types.NamespacedName{Namespace: namespace, Name: name})
}

// List gives all objects of a kind as they are, by name. They must not be changed.
func (s *Server) List(kind string) []client.Object { return s.store.list(kind) }

// Log gives all changes of a kind that ever were.
func (s *Server) Log(kind string) []*Change { return s.store.shelf(kind).log }

// Create makes an object, and lets obj be as it was made.
func (s *Server) Create(by string, obj client.Object) error {
	made, err := s.create(by, duplicate(obj))
	if err != nil {
		return err
	}
	return s.fill(obj, made)
}

// create makes an object of made, which it keeps.
func (s *Server) create(by string, made client.Object) (client.Object, error) {
	if s.Stored != nil {
		made = s.Stored(made)
	}
	kind := KindOf(made)
	if made.GetName() == "" {
		if made.GetGenerateName() == "" {
			return nil, invalid(kind, "", field.Required(field.NewPath("metadata", "name"), "name or generateName is required"))
		}
		s.named++
		made.SetName(fmt.Sprintf("%s%05d", made.GetGenerateName(), s.named))
	}
	if s.store.get(kind, client.ObjectKeyFromObject(made)) != nil {
		return nil, apierrors.NewAlreadyExists(resource(kind), made.GetName())
	}
	if made.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	s.uids[kind]++
	made.SetUID(types.UID(fmt.Sprintf("%s-%d", strings.ToLower(kind), s.uids[kind])))
	made.SetCreationTimestamp(s.Clock.stamp())
	made.SetGeneration(1)
	made.SetDeletionTimestamp(nil)
	admit(made)
	return s.store.put(&Change{Kind: kind, New: made, By: by, Verb: "create"}), nil
}

// dryRun gives what a create would make of made, which it keeps.
func (s *Server) dryRun(made client.Object) (client.Object, error) {
	if s.Stored != nil {
		made = s.Stored(made)
	}
	if s.store.get(KindOf(made), client.ObjectKeyFromObject(made)) != nil {
		return nil, apierrors.NewAlreadyExists(resource(KindOf(made)), made.GetName())
	}
	made.SetUID("dry-run")
	made.SetCreationTimestamp(s.Clock.stamp())
	admit(made)
	return made, nil
}

// update replaces an object, all but its status, by updated, which it keeps.
// Without a resource version it does so in any case.
func (s *Server) update(by string, updated client.Object) (client.Object, error) {
	return s.replace(by, "update", updated, func(old client.Object) error {
		keepStatus(old, updated)
		if specChanged(old, updated) {
			updated.SetGeneration(old.GetGeneration() + 1)
		}
		return nil
	})
}

// updateStatus replaces the status of an object, and of its metadata what one may change.
func (s *Server) updateStatus(by string, updated client.Object) (client.Object, error) {
	return s.replace(by, "status", updated, func(old client.Object) error {
		keepSpec(old, updated)
		return s.valid(old, updated)
	})
}

func (s *Server) valid(old, updated client.Object) error {
	if s.Validate != nil {
		if why := s.Validate(old, updated); why != "" {
			return invalid(KindOf(old), old.GetName(), field.Invalid(field.NewPath("status"), nil, why))
		}
	}
	return nil
}

func (s *Server) replace(by, verb string, updated client.Object, merge func(old client.Object) error) (client.Object, error) {
	kind, name := KindOf(updated), updated.GetName()
	old := s.store.get(kind, client.ObjectKeyFromObject(updated))
	switch {
	case old == nil:
		return nil, apierrors.NewNotFound(resource(kind), name)
	case updated.GetUID() != "" && updated.GetUID() != old.GetUID():
		return nil, apierrors.NewConflict(resource(kind), name, errors.New("the UID in the precondition does not match"))
	case updated.GetResourceVersion() != "" && updated.GetResourceVersion() != old.GetResourceVersion():
		return nil, apierrors.NewConflict(resource(kind), name, errors.New("the object has been modified"))
	}
	keepMeta(old, updated)
	if err := merge(old); err != nil {
		return nil, err
	}
	return s.commit(by, verb, old, updated), nil
}

// Edit changes an object as somebody does who reads it and writes it back at
// once. It reports whether the object exists.
func Edit[T client.Object](s *Server, by, what, namespace, name string, change func(T)) bool {
	none, _ := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(client.Object)
	return EditKind(s, by, what, KindOf(none), namespace, name, func(obj client.Object) { change(obj.(T)) })
}

// EditKind is Edit for an object of a kind that its Go type does not tell.
func EditKind(s *Server, by, what, kind, namespace, name string, change func(client.Object)) bool {
	old := s.store.get(kind, types.NamespacedName{Namespace: namespace, Name: name})
	if old == nil {
		return false
	}
	updated := duplicate(old)
	change(updated)
	if specChanged(old, updated) {
		updated.SetGeneration(old.GetGeneration() + 1)
	}
	s.commit(by, what, old, updated)
	return true
}

// commit stores what became of an object, if it became anything else.
func (s *Server) commit(by, verb string, old, updated client.Object) client.Object {
	updated.SetResourceVersion(old.GetResourceVersion())
	normalize(updated)
	if same(old, updated) && !over(updated) {
		return old
	}
	return s.store.put(&Change{Kind: KindOf(old), Old: old, New: updated, By: by, Verb: verb})
}

// Deletion is how to delete: zero fields ask for nothing.
type Deletion struct {
	UID         types.UID
	Version     string
	Propagation metav1.DeletionPropagation
	// Grace in seconds for pods; nil: what the pod asks for.
	Grace *int64
}

// Delete deletes an object, or begins to.
func (s *Server) Delete(by, kind, namespace, name string, d Deletion) error {
	old := s.store.get(kind, types.NamespacedName{Namespace: namespace, Name: name})
	switch {
	case old == nil:
		return apierrors.NewNotFound(resource(kind), name)
	case d.UID != "" && d.UID != old.GetUID():
		return apierrors.NewConflict(resource(kind), name, errors.New("the UID in the precondition does not match"))
	case d.Version != "" && d.Version != old.GetResourceVersion():
		return apierrors.NewConflict(resource(kind), name, errors.New("the ResourceVersion in the precondition does not match"))
	}
	updated := duplicate(old)
	grace := graceOf(updated, d.Grace)
	began := old.GetDeletionTimestamp() == nil
	if g := old.GetDeletionGracePeriodSeconds(); began || g != nil && grace < *g {
		at := metav1.NewTime(s.Clock.Now().Add(time.Duration(grace) * time.Second).Truncate(time.Second))
		updated.SetDeletionTimestamp(&at)
		updated.SetDeletionGracePeriodSeconds(&grace)
	}
	if began {
		updated.SetGeneration(old.GetGeneration() + 1)
	}
	if kind != "Pod" {
		how := d.Propagation
		if how == "" && slices.Contains(s.Custom, kind) {
			how = metav1.DeletePropagationBackground
		}
		propagate(updated, how)
	}
	if same(old, updated) && !over(updated) {
		return nil
	}
	s.store.put(&Change{Kind: kind, Old: old, New: updated, By: by, Verb: "delete"})
	return nil
}

// graceOf is how long a node has to stop a pod: not at all one that it does not run.
func graceOf(obj client.Object, asked *int64) int64 {
	pod, ok := obj.(*corev1.Pod)
	switch {
	case !ok, pod.Spec.NodeName == "", ended(pod):
		return 0
	case asked != nil:
		return *asked
	case pod.DeletionGracePeriodSeconds != nil:
		return *pod.DeletionGracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return *pod.Spec.TerminationGracePeriodSeconds
	}
	return 30
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// propagate puts on an object the finalizer that makes the garbage collector do
// what was asked for. Jobs are orphaned by default, for old times' sake.
func propagate(obj client.Object, how metav1.DeletionPropagation) {
	if _, isJob := obj.(*batchv1.Job); isJob && how == "" {
		how = metav1.DeletePropagationOrphan
	}
	var keep []string
	for _, f := range obj.GetFinalizers() {
		if f != metav1.FinalizerDeleteDependents && f != metav1.FinalizerOrphanDependents {
			keep = append(keep, f)
		}
	}
	switch how {
	case metav1.DeletePropagationForeground:
		keep = append(keep, metav1.FinalizerDeleteDependents)
	case metav1.DeletePropagationOrphan:
		keep = append(keep, metav1.FinalizerOrphanDependents)
	}
	obj.SetFinalizers(keep)
}

// keepMeta keeps of the metadata what only the server changes.
func keepMeta(old, updated client.Object) {
	updated.SetUID(old.GetUID())
	updated.SetCreationTimestamp(old.GetCreationTimestamp())
	updated.SetDeletionTimestamp(old.GetDeletionTimestamp())
	updated.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	updated.SetGeneration(old.GetGeneration())
}

func keepStatus(old, updated client.Object) {
	switch o := updated.(type) {
	case *corev1.Pod:
		old.(*corev1.Pod).Status.DeepCopyInto(&o.Status)
	case *batchv1.Job:
		old.(*batchv1.Job).Status.DeepCopyInto(&o.Status)
	case *batchv1.CronJob:
		old.(*batchv1.CronJob).Status.DeepCopyInto(&o.Status)
	default:
		keepField(old, updated, "Status")
	}
}

func keepSpec(old, updated client.Object) {
	switch o := updated.(type) {
	case *corev1.Pod:
		old.(*corev1.Pod).Spec.DeepCopyInto(&o.Spec)
	case *batchv1.Job:
		old.(*batchv1.Job).Spec.DeepCopyInto(&o.Spec)
	case *batchv1.CronJob:
		old.(*batchv1.CronJob).Spec.DeepCopyInto(&o.Spec)
	default:
		keepField(old, updated, "Spec")
	}
}

// keepField keeps a field of an object of any other Go type, if that has it.
func keepField(old, updated client.Object, name string) {
	if to := reflect.ValueOf(updated).Elem().FieldByName(name); to.IsValid() {
		to.Set(reflect.ValueOf(duplicate(old)).Elem().FieldByName(name))
	}
}

func specChanged(old, updated client.Object) bool {
	switch o := updated.(type) {
	case *batchv1.Job:
		return !equality.Semantic.DeepEqual(&old.(*batchv1.Job).Spec, &o.Spec)
	case *batchv1.CronJob:
		return !equality.Semantic.DeepEqual(&old.(*batchv1.CronJob).Spec, &o.Spec)
	}
	if is := reflect.ValueOf(updated).Elem().FieldByName("Spec"); is.IsValid() && KindOf(updated) != "Pod" {
		return !equality.Semantic.DeepEqual(reflect.ValueOf(old).Elem().FieldByName("Spec").Interface(), is.Interface())
	}
	return false
}

// same reports whether nothing changed: such a write makes no new version.
func same(old, updated client.Object) bool { return equality.Semantic.DeepEqual(old, updated) }

func resource(kind string) schema.GroupResource {
	group := "batch"
	if kind == "Pod" {
		group = ""
	}
	return schema.GroupResource{Group: group, Resource: strings.ToLower(kind) + "s"}
}

func invalid(kind, name string, errs ...*field.Error) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: resource(kind).Group, Kind: kind}, name, errs)
}
