// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Compacter is a Kind that has a smaller form of its CronJobs. A cache holds every CronJob of the cluster, and most of
// them wait for a day; their Go types are several times larger than what they hold.
type Compacter interface {
	Kind
	// Compact gives the smaller form of a CronJob, which all methods of the kind take like the API's type, and which tells
	// them the same. Managed fields of obj that no controller reads have been dropped before. What is no CronJob of this
	// kind, and what has that form already, is returned itself. obj is not modified.
	Compact(obj Object) Object
}

// CompactMeta is the metadata of a CronJob as far as its controller reads it: what names and dates it, its versions,
// and the managed fields of other controllers. Labels, annotations, owners and finalizers are absent, and stay so
// when they are set. It implements metav1.Object.
type CompactMeta struct {
	namespace       unique.Handle[string]
	name            string
	uid             types.UID
	resourceVersion string
	generation      int64
	created         metav1.Time
	deleted         *metav1.Time
	// scheduleUnchangedSince is cron.Owner.ScheduleUnchangedSince, in seconds; zero when it is unknown.
	scheduleUnchangedSince int64
	statusWriters          []metav1.ManagedFieldsEntry
}

// NewCompactMeta takes it from the metadata of a CronJob of that kind.
func NewCompactMeta(obj metav1.Object, info Info) CompactMeta {
	m := CompactMeta{
		namespace:       unique.Make(obj.GetNamespace()),
		name:            obj.GetName(),
		uid:             obj.GetUID(),
		resourceVersion: obj.GetResourceVersion(),
		generation:      obj.GetGeneration(),
		created:         obj.GetCreationTimestamp(),
		deleted:         obj.GetDeletionTimestamp(),
	}
	if since := touched(obj.GetManagedFields(), info.ScheduleFields); !since.IsZero() {
		m.scheduleUnchangedSince = since.Unix()
	}
	for _, e := range obj.GetManagedFields() {
		if e.Subresource != "" {
			m.statusWriters = append(m.statusWriters, metav1.ManagedFieldsEntry{
				Manager: unique.Make(e.Manager).Value(), Time: e.Time, Subresource: unique.Make(e.Subresource).Value(),
			})
		}
	}
	return m
}

// scheduleUnchangedSince is when neither the schedule nor the time zone of a CronJob was changed any more, zero when
// that is unknown.
func scheduleUnchangedSince(obj metav1.Object, info Info) time.Time {
	compact, ok := obj.(interface{ unchangedSince() int64 })
	if !ok {
		return touched(obj.GetManagedFields(), info.ScheduleFields)
	}
	if seconds := compact.unchangedSince(); seconds != 0 {
		return time.Unix(seconds, 0)
	}
	return time.Time{}
}

func (m *CompactMeta) unchangedSince() int64 { return m.scheduleUnchangedSince }

// What is kept.

// GetNamespace implements metav1.Object.
func (m *CompactMeta) GetNamespace() string { return m.namespace.Value() }

// SetNamespace implements metav1.Object.
func (m *CompactMeta) SetNamespace(namespace string) { m.namespace = unique.Make(namespace) }

// GetName implements metav1.Object.
func (m *CompactMeta) GetName() string { return m.name }

// SetName implements metav1.Object.
func (m *CompactMeta) SetName(name string) { m.name = name }

// GetUID implements metav1.Object.
func (m *CompactMeta) GetUID() types.UID { return m.uid }

// SetUID implements metav1.Object.
func (m *CompactMeta) SetUID(uid types.UID) { m.uid = uid }

// GetResourceVersion implements metav1.Object.
func (m *CompactMeta) GetResourceVersion() string { return m.resourceVersion }

// SetResourceVersion implements metav1.Object.
func (m *CompactMeta) SetResourceVersion(version string) { m.resourceVersion = version }

// GetGeneration implements metav1.Object.
func (m *CompactMeta) GetGeneration() int64 { return m.generation }

// SetGeneration implements metav1.Object.
func (m *CompactMeta) SetGeneration(generation int64) { m.generation = generation }

// GetCreationTimestamp implements metav1.Object.
func (m *CompactMeta) GetCreationTimestamp() metav1.Time { return m.created }

// SetCreationTimestamp implements metav1.Object.
func (m *CompactMeta) SetCreationTimestamp(created metav1.Time) { m.created = created }

// GetDeletionTimestamp implements metav1.Object.
func (m *CompactMeta) GetDeletionTimestamp() *metav1.Time { return m.deleted }

// SetDeletionTimestamp implements metav1.Object.
func (m *CompactMeta) SetDeletionTimestamp(deleted *metav1.Time) { m.deleted = deleted }

// GetManagedFields gives those entries that tell of writes to subresources, without the fields that were written.
func (m *CompactMeta) GetManagedFields() []metav1.ManagedFieldsEntry { return m.statusWriters }

// What is absent.

// GetGenerateName implements metav1.Object.
func (*CompactMeta) GetGenerateName() string { return "" }

// SetGenerateName implements metav1.Object.
func (*CompactMeta) SetGenerateName(string) {}

// GetSelfLink implements metav1.Object.
func (*CompactMeta) GetSelfLink() string { return "" }

// SetSelfLink implements metav1.Object.
func (*CompactMeta) SetSelfLink(string) {}

// GetDeletionGracePeriodSeconds implements metav1.Object.
func (*CompactMeta) GetDeletionGracePeriodSeconds() *int64 { return nil }

// SetDeletionGracePeriodSeconds implements metav1.Object.
func (*CompactMeta) SetDeletionGracePeriodSeconds(*int64) {}

// GetLabels implements metav1.Object.
func (*CompactMeta) GetLabels() map[string]string { return nil }

// SetLabels implements metav1.Object.
func (*CompactMeta) SetLabels(map[string]string) {}

// GetAnnotations implements metav1.Object.
func (*CompactMeta) GetAnnotations() map[string]string { return nil }

// SetAnnotations implements metav1.Object.
func (*CompactMeta) SetAnnotations(map[string]string) {}

// GetFinalizers implements metav1.Object.
func (*CompactMeta) GetFinalizers() []string { return nil }

// SetFinalizers implements metav1.Object.
func (*CompactMeta) SetFinalizers([]string) {}

// GetOwnerReferences implements metav1.Object.
func (*CompactMeta) GetOwnerReferences() []metav1.OwnerReference { return nil }

// SetOwnerReferences implements metav1.Object.
func (*CompactMeta) SetOwnerReferences([]metav1.OwnerReference) {}

// SetManagedFields implements metav1.Object.
func (*CompactMeta) SetManagedFields([]metav1.ManagedFieldsEntry) {}
