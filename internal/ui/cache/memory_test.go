// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// largest is how many bytes a CronJob of usual size may take in memory.
const largest = 3400

// A CronJob takes little memory, so that there is room for a fleet.
func TestMemory(t *testing.T) {
	const count = 10_000
	c := newSchedules(func() {})
	store := &scheduleStore{kind: kind.All[0], reader: workload.NewReader(workload.Options{}), schedules: c}
	before := heap()
	for n := range count {
		if err := store.Add(received(t, n)); err != nil {
			t.Fatal(err)
		}
	}
	c.all()
	each := (heap() - before) / count
	runtime.KeepAlive(store)
	t.Logf("a CronJob takes %d bytes", each)
	if each > largest {
		t.Errorf("a CronJob takes %d bytes", each)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// received is a CronJob of usual size as a client decodes it.
func received(t *testing.T, n int) *batchv1.CronJob {
	t.Helper()
	at := metav1.NewTime(time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC))
	labels := map[string]string{"app": fmt.Sprint("job-", n), "team": "a"}
	cj := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("job-", n), UID: types.UID(fmt.Sprint("uid-", n)), Labels: labels,
			Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: strings.Repeat("x", 700)},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: "Apply", Time: &at, FieldsV1: metav1.NewFieldsV1(strings.Repeat("x", 1000))}}},
		Spec: batchv1.CronJobSpec{Schedule: fmt.Sprintf("%d %d * * *", n%60, n/60%24), JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example/team/program", Args: []string{"run"}}}}}}}},
		Status: batchv1.CronJobStatus{LastScheduleTime: &at},
	}
	text, err := cj.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	decoded := &batchv1.CronJob{}
	if err := decoded.Unmarshal(text); err != nil {
		t.Fatal(err)
	}
	return decoded
}
