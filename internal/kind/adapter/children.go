// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import "k8s.io/apimachinery/pkg/runtime/schema"

// ChildChooser is a Kind whose objects each choose the kind of what they start.
type ChildChooser interface {
	Kind
	// ChildKinds are the kinds of the children of one object: first the one that it asks for now, then those of runs that
	// began when it asked for another one and are active still, as far as its status tells. There is at least one.
	ChildKinds(obj Object) []schema.GroupVersionKind
}
