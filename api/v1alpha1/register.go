// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of this API.
var GroupVersion = schema.GroupVersion{Group: "batch.carillon.dev", Version: "v1alpha1"}

// SchemeBuilder collects what AddToScheme registers.
var SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme registers the types of this package.
var AddToScheme = SchemeBuilder.AddToScheme

// Resource gives a resource of this group, such as "timetables".
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Timetable{}, &TimetableList{}, &Calendar{}, &CalendarList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
