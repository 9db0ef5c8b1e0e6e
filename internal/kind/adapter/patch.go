// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
)

// Patches makes the patches of a record. Merge patches leave alone what they do not name, so status fields that only
// the server or a newer version of the API knows survive.
//
// The status patch is bound to the resource version that was read: a record decided on an older picture must not
// take back what a newer one holds. StatusCarriesAnnotation says that the server accepts metadata with a status write;
// otherwise the annotation follows in a patch of its own, which is bound to the UID only, because the status patch has
// just moved the resource version, and because it states what was decided on, which no other write can make wrong.
func Patches(obj metav1.Object, record cron.StatusWrite, info Info) ([]CronJobPatch, error) {
	var patches []CronJobPatch
	timingChanged, statusChanged := record.Changed.Has(cron.PartTiming), record.Changed&^cron.PartTiming != 0
	rides := info.Traits.StatusCarriesAnnotation
	annotations := map[string]any{}
	if timingChanged {
		text, err := TimetableAnnotation(record.Memory.Timing)
		if err != nil {
			return nil, err
		}
		annotations[AnnotationTimetable] = text
	}
	if statusChanged || (rides && timingChanged) {
		metadata := map[string]any{"resourceVersion": obj.GetResourceVersion(), "uid": obj.GetUID()}
		if rides && timingChanged {
			metadata["annotations"] = annotations
		}
		status := map[string]any{}
		if statusChanged {
			status["active"] = references(record.Memory.Active)
			status[info.LastScheduleField] = instant(record.Memory.LastSchedule)
			if info.LastSuccessField != "" {
				status[info.LastSuccessField] = instant(record.Memory.LastSuccessful)
			}
			if len(record.Memory.Conditions) > 0 {
				status["conditions"] = record.Memory.Conditions
			}
		}
		patch, err := mergePatch("status", map[string]any{"metadata": metadata, "status": status})
		if err != nil {
			return nil, err
		}
		patches = append(patches, patch)
	}
	if timingChanged && !rides {
		metadata := map[string]any{"uid": obj.GetUID(), "annotations": annotations}
		patch, err := mergePatch("", map[string]any{"metadata": metadata})
		if err != nil {
			return nil, err
		}
		patches = append(patches, patch)
	}
	return patches, nil
}

func mergePatch(subresource string, body any) (CronJobPatch, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return CronJobPatch{}, fmt.Errorf("encoding the patch of a record: %w", err)
	}
	return CronJobPatch{Subresource: subresource, Type: types.MergePatchType, Data: data}, nil
}

// Runs are the active runs of which a status holds references only.
func Runs(refs []corev1.ObjectReference) []cron.ActiveRun {
	if refs == nil {
		return nil
	}
	runs := make([]cron.ActiveRun, len(refs))
	for i, ref := range refs {
		runs[i].ObjectReference = ref
	}
	return runs
}

// references gives null for an empty list, which removes the field.
func references(runs []cron.ActiveRun) any {
	if len(runs) == 0 {
		return nil
	}
	refs := make([]corev1.ObjectReference, len(runs))
	for i, r := range runs {
		refs[i] = r.ObjectReference
	}
	return refs
}

// instant gives null for an absent time, which removes the field.
func instant(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}
