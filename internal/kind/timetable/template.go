// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json" // whole numbers are int64

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/expand"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

const (
	// maxTemplateBytes is how large a template may be, as JSON.
	maxTemplateBytes = 256 << 10
	// maxChildBytes is how large a child may be, as JSON.
	maxChildBytes = 1 << 20
	// ttlField is where a Job says how long it is kept after its end.
	ttlField = "ttlSecondsAfterFinished"
	// maxOwnMetadata is how much of it is the name, labels, annotations and owner reference of ours at most.
	maxOwnMetadata = 2 << 10
)

// A Template is the template of a Timetable, read once for a generation of its spec. It is immutable.
type Template struct {
	apiVersion, kind string
	spec             *expand.Template
	// metadata is the JSON of the template's labels and annotations; plain is what it holds if it has no variables.
	metadata   *expand.Template
	plain      v1alpha1.TemplateMetadata
	parameters *expand.Parameters
	// timeout bounds the activeDeadlineSeconds of a Job; 0 is none.
	timeout     time.Duration
	ttl         *int64
	fingerprint string
}

// templateKind gives the kind that a template makes, with its defaults.
func templateKind(template *v1alpha1.RunTemplate) (apiVersion, kind string) {
	apiVersion, kind = template.APIVersion, template.Kind
	if apiVersion == "" {
		apiVersion = "batch/v1"
	}
	if kind == "" {
		kind = "Job"
	}
	return apiVersion, kind
}

// ReadTemplate reads template, parameters and timeout, and finds all that can be told without running it: unknown
// variables, unfit parameters, a template that is too large. The obstacle is InvalidParameter or InvalidTemplate.
//
// The Template may keep parts of spec, which must not be modified any more.
func ReadTemplate(spec *v1alpha1.TimetableSpec) (*Template, *Obstacle) {
	t := &Template{plain: spec.Template.Metadata}
	t.apiVersion, t.kind = templateKind(&spec.Template)
	declared := make([]expand.Parameter, len(spec.Parameters))
	for i, p := range spec.Parameters {
		declared[i] = expand.Parameter(p)
	}
	var err error
	if t.parameters, err = expand.CompileParameters(declared); err != nil {
		return nil, &Obstacle{InvalidParameter, err.Error()}
	}
	if spec.Timeout != nil {
		if t.timeout, err = timeset.ParseDuration(string(*spec.Timeout)); err != nil {
			return nil, &Obstacle{InvalidTemplate, "timeout: " + err.Error()}
		}
	}
	written, obstacle := t.readSpec(&spec.Template)
	if obstacle != nil {
		return nil, obstacle
	}
	if t.spec, err = expand.Compile("spec.template.spec", spec.Template.Spec.Raw, t.parameters.Names()); err != nil {
		return nil, &Obstacle{InvalidTemplate, err.Error()}
	}
	metadata, err := json.Marshal(&spec.Template.Metadata)
	if err != nil {
		panic(err) // maps of strings always can be written
	}
	if t.metadata, err = expand.Compile("spec.template.metadata", metadata, t.parameters.Names()); err != nil {
		return nil, &Obstacle{InvalidTemplate, err.Error()}
	}
	t.fingerprint = fingerprint(t, written, spec)
	return t, nil
}

// readSpec gives the JSON of template.spec as it is written when it has been read, and finds its time to live.
func (t *Template) readSpec(template *v1alpha1.RunTemplate) (written []byte, obstacle *Obstacle) {
	raw := template.Spec.Raw
	canonical := canonicalObject(raw, func(key, value []byte) {
		if string(key) != ttlField {
			return
		}
		if seconds, err := strconv.ParseInt(string(value), 10, 64); err == nil {
			t.ttl = &seconds
		}
	})
	if sized := *template; canonical { // whose length is that of its text
		sized.Spec.Raw = []byte("{}")
		return raw, checkSize(&sized, len(raw)-len(sized.Spec.Raw))
	}
	if obstacle := checkSize(template, 0); obstacle != nil {
		return nil, obstacle
	}
	var object map[string]any
	if err := utiljson.Unmarshal(raw, &object); err != nil || object == nil {
		return nil, &Obstacle{InvalidTemplate, "spec.template.spec must be an object"}
	}
	t.ttl = nil
	if seconds, ok := object[ttlField].(int64); ok {
		t.ttl = &seconds
	}
	written, err := json.Marshal(object)
	if err != nil {
		panic(err) // it was read from JSON
	}
	return written, nil
}

// checkSize tells whether a template with more bytes of JSON beside it is too large, or none at all.
func checkSize(template *v1alpha1.RunTemplate, more int) *Obstacle {
	whole, err := json.Marshal(template)
	if err != nil {
		return &Obstacle{InvalidTemplate, "spec.template.spec is no valid JSON"}
	}
	if size := len(whole) + more; size > maxTemplateBytes {
		return &Obstacle{InvalidTemplate, fmt.Sprintf("spec.template has %d bytes of JSON, and may have %d: "+
			"put what is large into a ConfigMap or the image", size, maxTemplateBytes)}
	}
	return nil
}

// fingerprint tells one template from another, whatever the order of its keys: status.checkedTemplate says by it which
// one a dry run has answered for. written is template.spec as readSpec gives it. What else a child is made of belongs
// to it. It outlives this process: parts may come to it, which must be left out where they are absent, and never go.
func fingerprint(t *Template, written []byte, spec *v1alpha1.TimetableSpec) string {
	text, err := json.Marshal(struct {
		APIVersion string                    `json:"apiVersion"`
		Kind       string                    `json:"kind"`
		Metadata   v1alpha1.TemplateMetadata `json:"metadata,omitzero"`
		Spec       json.RawMessage           `json:"spec"`
		Parameters []v1alpha1.Parameter      `json:"parameters,omitempty"`
		Timeout    time.Duration             `json:"timeout,omitempty"`
	}{t.apiVersion, t.kind, spec.Template.Metadata, written, spec.Parameters, t.timeout})
	if err != nil {
		panic(err) // it was read from JSON
	}
	return hash(string(text), 16)
}

// Fingerprint is 16 hexadecimal digits that tell this template from another, for status.checkedTemplate. Parameters and
// timeout are part of it, because children are made of them too.
func (t *Template) Fingerprint() string { return t.fingerprint }

// ShortTTL is what the template says in ttlSecondsAfterFinished, if that is less than 600: it draws a Warning
// (timetable.md 3.10), because a child that vanishes before it was seen has no result and, after a crash, may run
// again.
func (t *Template) ShortTTL() (seconds int64, short bool) {
	const shortest = 600
	if t.ttl == nil || *t.ttl >= shortest {
		return 0, false
	}
	return *t.ttl, true
}

// Kind is the kind of what it starts.
func (t *Template) Kind() (apiVersion, kind string) { return t.apiVersion, t.kind }

// Start is an attempt that is to be started.
type Start struct {
	// Run says which; its Schedule is not looked at.
	Run
	// Name is that of the run; "" is that of its scheduled time.
	Name string
	// Schedules are the names of the schedules that name the time, in the order of the spec.
	Schedules []string
	// Zone is the time zone of the Timetable; nil is UTC.
	Zone *time.Location
	// PreviousTime and NextTime are the scheduled times before and after this one; LastSuccessScheduledTime is that of
	// the latest scheduled run that succeeded. Zero times mean that there is none.
	PreviousTime, NextTime, LastSuccessScheduledTime time.Time
	// Parameters are values that a request gives; the others are the defaults.
	Parameters map[string]string
}

// Build makes the child of an attempt, ready to be created: what the template says, with our name, labels, annotations
// and owner reference, which win. The obstacle is InvalidTemplate: the child would be too large.
func (t *Template) Build(timetable metav1.Object, start Start) (*unstructured.Unstructured, *Obstacle) {
	p, obstacle := t.expand(timetable, start)
	if obstacle != nil {
		return nil, obstacle
	}
	return t.build(p)
}

// childParts are what a child is made of: the JSON of its spec, which must not be modified, and its metadata.
type childParts struct {
	spec     []byte
	metadata metav1.ObjectMeta
}

// expand replaces the variables.
func (t *Template) expand(timetable metav1.Object, start Start) (*childParts, *Obstacle) {
	run := start.Name
	if run == "" {
		run = RunName(timetable.GetName(), start.ScheduledTime)
	}
	parameters, err := t.parameters.Values(start.Parameters)
	if err != nil {
		return nil, &Obstacle{InvalidParameter, err.Error()}
	}
	values := &expand.Values{
		Zone:          start.Zone,
		ScheduledTime: start.ScheduledTime, PreviousTime: start.PreviousTime, NextTime: start.NextTime,
		LastSuccessScheduledTime: start.LastSuccessScheduledTime,
		Schedules:                start.Schedules,
		Run:                      run,
		Attempt:                  start.Attempt,
		Trigger:                  string(start.Trigger),
		Timetable:                timetable.GetName(),
		Namespace:                timetable.GetNamespace(),
		Parameters:               parameters,
	}
	p := &childParts{}
	var size int
	var ok bool
	if p.spec, size, ok = t.spec.Expand(values, maxChildBytes); !ok {
		return nil, tooLarge(size)
	}
	p.metadata.Namespace, p.metadata.Name = timetable.GetNamespace(), ChildName(run, start.Attempt)
	p.metadata.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(timetable, ownerKind)}
	if obstacle := t.setMetadata(&p.metadata, timetable, start, values); obstacle != nil {
		return nil, obstacle
	}
	metadata, err := json.Marshal(&p.metadata)
	if err != nil {
		panic(err) // strings and true
	}
	if size += len(metadata) + len(t.apiVersion) + len(t.kind) + len(`{"apiVersion":"","kind":"","metadata":,"spec":}`); size > maxChildBytes {
		return nil, tooLarge(size)
	}
	return p, nil
}

// build makes the child of its parts.
func (t *Template) build(p *childParts) (*unstructured.Unstructured, *Obstacle) {
	var spec map[string]any
	if err := utiljson.Unmarshal(p.spec, &spec); err != nil {
		return nil, &Obstacle{InvalidTemplate, fmt.Sprintf("spec.template.spec cannot be read: %v", err)}
	}
	t.boundDeadline(spec)
	child := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	child.SetAPIVersion(t.apiVersion)
	child.SetKind(t.kind)
	child.SetNamespace(p.metadata.Namespace)
	child.SetName(p.metadata.Name)
	child.SetOwnerReferences(p.metadata.OwnerReferences)
	child.SetLabels(p.metadata.Labels)
	child.SetAnnotations(p.metadata.Annotations)
	return child, nil
}

// maxGrowth is how many times its length a variable can have at most as JSON: $(carillon.parameters.p) of 256 control
// characters, each of six bytes.
const maxGrowth = 64

// tooLargeFor tells whether the child of the next run would be too large; nil if it would not, or there is none. What
// is found at the start only, because it is not the same for all runs, is an answer to that create.
func (t *Template) tooLargeFor(timetable *Object, set *timeset.Set) *Obstacle {
	if !t.spec.Variables() && !t.metadata.Variables() || maxGrowth*(t.spec.Len()+t.metadata.Len()+maxOwnMetadata) <= maxChildBytes {
		return nil
	}
	from := timetable.CreationTimestamp.Time
	if cursor := timetable.Status.Cursor; cursor != nil {
		from = cursor.Time
	}
	next := set.Next(from)
	if next.IsZero() {
		return nil
	}
	start := Start{Run: Run{ScheduledTime: next, Attempt: 1, Trigger: v1alpha1.TriggerSchedule}, Zone: set.Location(),
		Schedules: set.Names(next), PreviousTime: set.Prev(next), NextTime: set.Next(next)}
	if last := timetable.Status.LastSuccessScheduledTime; last != nil {
		start.LastSuccessScheduledTime = last.Time
	}
	_, obstacle := t.expand(timetable, start)
	return obstacle
}

func tooLarge(size int) *Obstacle {
	return &Obstacle{InvalidTemplate, fmt.Sprintf("with its variables replaced the template makes an object of %d bytes of JSON, "+
		"and may make one of %d: use fewer variables, or put what is large into a ConfigMap or the image", size, maxChildBytes)}
}

// setMetadata sets labels and annotations: those of the template with their variables replaced, and ours.
func (t *Template) setMetadata(child *metav1.ObjectMeta, timetable metav1.Object, start Start, values *expand.Values) *Obstacle {
	from := t.plain
	text, size, ok := t.metadata.Expand(values, maxChildBytes)
	if !ok {
		return tooLarge(size)
	}
	if t.metadata.Variables() {
		from = v1alpha1.TemplateMetadata{}
		if err := utiljson.Unmarshal(text, &from); err != nil {
			return &Obstacle{InvalidTemplate, fmt.Sprintf("spec.template.metadata cannot be read: %v", err)}
		}
	}
	labels := copied(from.Labels)
	labels[v1alpha1.LabelTimetableName] = timetable.GetName()
	labels[v1alpha1.LabelTimetableUID] = string(timetable.GetUID())
	labels[v1alpha1.LabelTrigger] = triggerLabels[start.Trigger]
	if len(start.Schedules) > 0 {
		labels[v1alpha1.LabelSchedule] = start.Schedules[0]
	}
	child.Labels = labels
	zone := start.Zone
	if zone == nil {
		zone = time.UTC
	}
	annotations := copied(from.Annotations)
	annotations[v1alpha1.AnnotationScheduledTime] = start.ScheduledTime.In(zone).Format(time.RFC3339)
	annotations[v1alpha1.AnnotationAttempt] = strconv.Itoa(int(start.Attempt))
	child.Annotations = annotations
	return nil
}

// copied copies a map of named strings.
func copied[V ~string](from map[string]V) map[string]string {
	to := make(map[string]string, len(from)+4)
	for key, value := range from {
		to[key] = string(value)
	}
	return to
}

// boundDeadline gives a Job the smaller of the timeout and its own activeDeadlineSeconds.
func (t *Template) boundDeadline(spec map[string]any) {
	if t.timeout == 0 || !t.makesJobs() {
		return
	}
	const field = "activeDeadlineSeconds"
	timeout := int64(t.timeout / time.Second)
	own, there := spec[field]
	if seconds, ok := own.(int64); !there || own == nil || ok && seconds > timeout {
		spec[field] = timeout
	}
}
