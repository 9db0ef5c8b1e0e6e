// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/cron"
)

// ChildChooser is a Kind whose objects each choose the kind of what they start. Its children are unstructured when they
// are built and when they are read live (but see TypedChildren), and as TrimChild left them when they come from a
// cache. Only those are watched that carry the label Info.OwnerLabel.
type ChildChooser interface {
	Kind
	// ChildKinds are the kinds of the children of one object: first the one that it asks for now, then those of runs that
	// began when it asked for another one and are active still, as far as its status tells. There is at least one. An
	// object that is unreadable has none.
	ChildKinds(obj Object) []schema.GroupVersionKind
	// TrimChild gives what caches keep of a child of that kind: what ReadChild reads of it, its metadata with labels and
	// owner references, and nothing that is large. The child may be modified, and may come trimmed already.
	TrimChild(child Object, kind schema.GroupVersionKind) Object
	// MayBeChild tells whether objects of that kind may be children at all.
	MayBeChild(kind schema.GroupVersionKind) bool
	// ChildObstacle is what keeps an object from starting children of that kind, in the words of its users.
	ChildObstacle(kind schema.GroupVersionKind, trouble ChildTrouble) *cron.Obstacle
}

// TypedChildren is a ChildChooser of which the children of some kinds are read, and as far as they fit built, by the Go
// types that the manager's scheme has for them: that takes the server and us less time than JSON without types.
type TypedChildren interface {
	ChildChooser
	// NewChild gives an empty object of the Go type of that kind; nil: children of that kind are unstructured.
	NewChild(kind schema.GroupVersionKind) Object
}

// ChildTrouble is why children of some kind can be neither started nor watched.
type ChildTrouble struct {
	// NotServed: the API server does not have the kind. Otherwise it may not be a child here: nobody has granted it, it is
	// not namespaced, or it is of a group that children are never of.
	NotServed bool
	// NotNamespaced: its objects belong to no namespace, whatever anybody grants.
	NotNamespaced bool
	// Former: it is not the kind that the object asks for now, but that of a run which is active still.
	Former bool
	// Why says so in words, without a full stop.
	Why string
}

// Dependent is a Kind whose objects say only together with others what they ask for.
type Dependent interface {
	Kind
	// DependencyKinds are the kinds of those others; constant. AddToScheme registers their Go types, too.
	DependencyKinds() []schema.GroupVersionKind
	// Dependencies are the others that obj names, whether they exist or not. All are in its namespace. A change of one of
	// them calls for a sync over obj, and reading it asks for them (ReadOptions.Dependency).
	Dependencies(obj Object) []Dependency
}

// Dependency names an object that another one in the same namespace depends on.
type Dependency struct {
	Kind schema.GroupVersionKind
	Name string
}
