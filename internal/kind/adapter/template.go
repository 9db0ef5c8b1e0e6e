// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Template is the jobTemplate of a kind that is served through slim types: its metadata, and its spec as the user wrote
// it, so that fields which these types do not know reach the child.
type Template struct {
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              runtime.RawExtension `json:"spec,omitempty"`
}

// DeepCopyInto copies t into out.
func (t *Template) DeepCopyInto(out *Template) {
	t.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	t.Spec.DeepCopyInto(&out.Spec)
}

// DeepCopyPointer copies what p points to; nil stays nil.
func DeepCopyPointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
