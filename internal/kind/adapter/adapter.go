// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package adapter holds the words that a kind of CronJob and its users share: the interface that a kind implements,
// and what every implementation needs to say the same thing in the same way.
//
// An adapter translates. It reads a CronJob and its children into the terms of package cron, and turns the two steps
// that carry content (start, record) back into API objects and patches. It judges nothing and holds no client; what
// the kinds do differently is data, in cron.KindTraits.
package adapter

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
)

// Object is an API object with metadata; the same interface as controller-runtime's client.Object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Kind adapts one API. Implementations are stateless: all methods may be called by several goroutines at once, and
// none modifies or keeps the objects it is given.
type Kind interface {
	// Info says what the kind is; constant.
	Info() Info
	// AddToScheme registers the Go types of the CronJob, the child and their lists under the GVKs of Info (the list
	// kinds have the suffix "List").
	AddToScheme(*runtime.Scheme) error
	// Read translates a CronJob. The error is an *Unreadable, with the owner read, or means that obj is not of this
	// kind's Go type: a programming error.
	Read(obj Object, options ReadOptions) (cron.Owner, cron.Policy, cron.Memory, error)
	// ReadChild translates a child of this kind of child, or any other object of its type. owner is what controls it,
	// nil if that is not known. The error means that it is of another type. One that is unreadable (see Trouble) is
	// unfinished.
	ReadChild(obj Object, kind schema.GroupVersionKind, owner Object) (cron.Child, error)
	// Build makes the child that start asks for, ready to be created. The error means that the template cannot be made
	// into a child; it is the user's to mend and belongs to AddStartResult like the server's answer, which is why it is an
	// API error that refuses (BadRequest, Invalid).
	Build(obj Object, start Start) (Object, error)
	// Patches turns a record into patches of obj, to be sent in this order; the first one that fails ends the write.
	// None is empty; a record that changes nothing gives no patch.
	Patches(obj Object, record cron.StatusWrite) ([]CronJobPatch, error)
}

// Info describes a kind.
type Info struct {
	// Name is the CronJob's resource and group ("cronjobs.batch"), unique among the kinds; also the name of the CRD of
	// a kind that has one.
	Name string
	// ShortName is the word by which users choose the kind (--kinds).
	ShortName string
	// Owner and Child are the types of the CronJob and of what it starts. Child is the same for all objects of the kind;
	// it is empty if they choose (ChildChooser).
	Owner schema.GroupVersionKind
	Child schema.GroupVersionKind
	// OwnerResource and ChildResource are the resources that serve them; ChildResource is empty if Child is.
	OwnerResource schema.GroupVersionResource
	ChildResource schema.GroupVersionResource
	// ScheduleFields are the fields of spec that say when the CronJob runs, first that of the schedule. What lies below
	// them belongs to them. Managed fields tell when they were last written (cronjob.md B2).
	ScheduleFields []string
	// LastScheduleField and LastSuccessField are the fields of status that hold these times, "" for none. Only
	// controllers of CronJobs write them: who owns one in managed fields and is not us is another controller.
	LastScheduleField, LastSuccessField string
	// TemplateField is the field of spec that holds the metadata and spec of the child.
	TemplateField string
	// OwnerLabel is the label of children that holds the UID of their owner, for a ChildChooser; "" for others.
	OwnerLabel string
	// StampAnnotation is the annotation of a child that holds its scheduled time.
	StampAnnotation string
	// MessageField is the path of the field of a child that says in words how it ended, for children that are not Jobs
	// of batch/v1.
	MessageField []string
	// RunBy is the name of the system that runs the children, "" when it is Carillon.
	RunBy string
	// Install says how the API comes to a cluster that does not serve it; "" when deploy/crds has its definition, and
	// when every cluster serves it.
	Install string
	// SwitchOff says how the controller that usually serves this API is switched off.
	SwitchOff string
	// Traits are the kind's differences in behaviour.
	Traits *cron.KindTraits
}

// CronJobPatch is one write to the CronJob.
type CronJobPatch struct {
	// Subresource is "status", or "" for the object itself.
	Subresource string
	Type        types.PatchType
	// Data carries its preconditions itself (metadata.resourceVersion or metadata.uid): a conflict is answered by the
	// server, and nothing is overwritten.
	Data []byte
}

// Wrong is the error for an object of another type than the kind's own.
func Wrong(info Info, want, got any) error {
	return fmt.Errorf("kind %s: got a %T where a %T belongs", info.Name, got, want)
}
