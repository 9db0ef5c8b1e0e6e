// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// Parameter is a value that the template asks for with
// $(carillon.parameters.NAME).
//
// +kubebuilder:validation:XValidation:rule=`self.default.matches(self.pattern) && self.default.matches('^(?:' + self.pattern + ')$')`,message="default must match pattern as a whole"
type Parameter struct {
	// The name, as in $(carillon.parameters.NAME).
	//
	// +required
	// +kubebuilder:validation:MaxLength=31
	// +kubebuilder:validation:Pattern=`^[a-z][A-Za-z0-9]{0,30}$`
	Name string `json:"name"`

	// The value of scheduled runs.
	//
	// +required
	// +kubebuilder:validation:MaxLength=256
	Default string `json:"default"`

	// A regular expression (RE2) that a value must match as a whole. The default
	// one, ^[A-Za-z0-9._:/@=,+-]*$, admits no blank, quote, dollar, semicolon or
	// backquote, so that a value cannot leave the shell word that it is put in.
	//
	// +optional
	// +kubebuilder:default="^[A-Za-z0-9._:/@=,+-]*$"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Pattern string `json:"pattern,omitempty"`
}

// RunTemplate is the object that a run starts: of any namespaced kind that
// has a spec and that an administrator allowed, a Job unless it says
// otherwise. In its strings $(carillon.scheduledTime) and other variables are
// replaced.
type RunTemplate struct {
	// The API of the kind: batch/v1 by default.
	//
	// +optional
	// +kubebuilder:default="batch/v1"
	// +kubebuilder:validation:MaxLength=275
	// +kubebuilder:validation:Pattern=`^([a-z0-9.-]{1,253}/)?v[0-9]+((alpha|beta)[0-9]+)?$`
	APIVersion string `json:"apiVersion,omitempty"`

	// The kind: Job by default. Of a Job, Pod, JobSet or Volcano Job Carillon
	// knows when it has succeeded or failed; for other kinds spec.outcome says
	// it.
	//
	// +optional
	// +kubebuilder:default=Job
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]{0,62}$`
	Kind string `json:"kind,omitempty"`

	// Labels and annotations of what is started. Its name is made from the
	// Timetable's and the scheduled time.
	//
	// +optional
	Metadata TemplateMetadata `json:"metadata,omitzero"`

	// The spec of what is started, at most 256 KiB. A change concerns attempts
	// that start later.
	//
	// +required
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec runtime.RawExtension `json:"spec"`
}

// TemplateMetadata holds the labels and annotations of what is started.
//
// +kubebuilder:validation:XValidation:rule=`(!has(self.labels) || self.labels.all(k, !k.startsWith('carillon.dev/'))) && (!has(self.annotations) || self.annotations.all(k, !k.startsWith('carillon.dev/')))`,message="labels and annotations under carillon.dev/ are Carillon's own"
type TemplateMetadata struct {
	// Labels; those under carillon.dev/ are Carillon's own. Variables are
	// replaced in their values.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// Annotations; those under carillon.dev/ are Carillon's own. Variables are
	// replaced in their values.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`
}

// LabelValue is the value of a label before variables are replaced, which is
// why it may be longer than 63 characters.
//
// +kubebuilder:validation:MaxLength=253
type LabelValue string

// AnnotationValue is the value of an annotation.
//
// +kubebuilder:validation:MaxLength=4096
type AnnotationValue string

// Outcome tells whether an object of a kind that Carillon does not know has
// ended, by two CEL expressions over object. The first that is true is final;
// failed is asked first. A missing field counts as false.
type Outcome struct {
	// True once the object has succeeded, such as: object.status.phase ==
	// 'Completed'. With "true" nobody waits for its end.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Succeeded string `json:"succeeded"`

	// True once the object has failed.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Failed string `json:"failed"`
}
