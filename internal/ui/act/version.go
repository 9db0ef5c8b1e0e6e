// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// isBookkeeping tells whether an annotation is for programs, which write it as they need it.
func isBookkeeping(annotation string) bool {
	return annotation == adapter.AnnotationTimetable || annotation == corev1.LastAppliedConfigAnnotation
}

// errChanged says that an object is not what the viewer saw.
var errChanged = errors.New("it has changed")

// version tells what the viewer sees of an object from what it may be later: its identity, and what people write of it.
// Its status changes with each run, and says nothing about whether he would decide otherwise; how a run stands does.
func (s *subject) version() string {
	seen := struct {
		UID                 types.UID
		Spec                any
		Labels, Annotations map[string]string
		Outcome             string
		Deleting            bool
	}{s.live.GetUID(), s.live.Object["spec"], s.live.GetLabels(), maps.Clone(s.live.GetAnnotations()), "", s.live.GetDeletionTimestamp() != nil}
	maps.DeleteFunc(seen.Annotations, func(key, _ string) bool { return isBookkeeping(key) })
	if s.run != nil {
		seen.Outcome = string(s.run.Outcome)
	}
	text, err := json.Marshal(seen)
	if err != nil {
		return "" // it came as JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// unchanged is errChanged if the object is not what the form was made for.
func (r *request) unchanged() error {
	if r.form.Get("version") != r.version() {
		return errChanged
	}
	return nil
}

// send changes the object.
func (r *request) send(ctx context.Context, change map[string]any) error {
	_, err := r.patch(ctx, change, metav1.PatchOptions{})
	return err
}

// try asks the API server what it would store.
func (r *request) try(ctx context.Context, change map[string]any) (*unstructured.Unstructured, error) {
	return r.patch(ctx, change, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
}

// mostConflicts is how often a write of somebody else may come before one of the viewer's.
const mostConflicts = 10

// patch changes the object if it still is what was read. A controller writes its status at any time: what comes after
// such a write is sent again, as long as the object is what the viewer saw.
func (r *request) patch(ctx context.Context, change map[string]any, options metav1.PatchOptions) (*unstructured.Unstructured, error) {
	resource, err := r.resource()
	if err != nil {
		return nil, err
	}
	options.FieldManager, options.FieldValidation = manager, metav1.FieldValidationStrict
	for n := 0; ; n++ {
		data, err := r.guarded(change)
		if err != nil {
			return nil, err
		}
		changed, err := resource.Patch(ctx, r.live.GetName(), types.MergePatchType, data, options)
		if !apierrors.IsConflict(err) || n == mostConflicts {
			return changed, err
		}
		seen := r.version()
		if failed := r.reread(ctx); failed != nil {
			return nil, errors.Join(err, failed)
		}
		if r.version() != seen {
			return nil, errChanged
		}
	}
}

// reread reads the object again. One that is not there any more stays as it was.
func (r *request) reread(ctx context.Context) error {
	live, err := get(ctx, r.server, r.gvk, r.live.GetNamespace(), r.live.GetName())
	if err != nil || live == nil {
		return err
	}
	if r.run != nil {
		s, err := runSubject(ctx, r.server, r.gvk, live)
		if err == nil {
			*r.subject = *s
		}
		return err
	}
	scheduled, err := readScheduled(ctx, r.server, live)
	if err == nil {
		r.live, r.scheduled = live, scheduled
	}
	return err
}

// guarded is a merge patch that the API server takes for the object that was read only.
func (r *request) guarded(change map[string]any) ([]byte, error) {
	metadata, _ := change["metadata"].(map[string]any)
	guarded := map[string]any{"uid": string(r.live.GetUID())}
	if version := r.live.GetResourceVersion(); version != "" {
		guarded["resourceVersion"] = version
	}
	maps.Copy(guarded, metadata)
	whole := maps.Clone(change)
	whole["metadata"] = guarded
	return json.Marshal(whole)
}
