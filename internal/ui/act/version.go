// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// patch changes the object, if it still is what was read.
func (r *request) patch(change map[string]any, dryRun bool) (typed []byte, options metav1.PatchOptions, err error) {
	metadata, _ := change["metadata"].(map[string]any)
	guarded := map[string]any{"uid": string(r.live.GetUID())}
	if version := r.live.GetResourceVersion(); version != "" {
		guarded["resourceVersion"] = version
	}
	for key, value := range metadata {
		guarded[key] = value
	}
	whole := map[string]any{"metadata": guarded}
	for key, value := range change {
		if key != "metadata" {
			whole[key] = value
		}
	}
	typed, err = json.Marshal(whole)
	options = metav1.PatchOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return typed, options, err
}
