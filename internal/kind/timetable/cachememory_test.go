// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// assorted is the n-th of many daily Timetables as the API server gives it, keys in order, after the first pass.
func assorted(t *testing.T, n int) []byte {
	cj := make.Assorted(n)
	tt := &timetable.Object{}
	tt.Namespace, tt.Name, tt.UID = "ops", cj.Name, types.UID(fmt.Sprintf("%08d-0000-4000-8000-000000000000", n))
	tt.Labels, tt.Generation, tt.CreationTimestamp = cj.Labels, 1, clock("12:00")
	tt.Spec.Schedules = []v1alpha1.Schedule{{Name: "main", Cron: cj.Spec.Schedule}}
	spec, err := json.Marshal(&cj.Spec.JobTemplate.Spec)
	if err != nil {
		t.Fatal(err)
	}
	tt.Spec.Template.Spec.Raw = spec
	firstPass(t, tt, policyNow)
	data, err := json.Marshal(&tt.Timetable)
	if err != nil {
		t.Fatal(err)
	}
	var sorted map[string]any
	if err := utiljson.Unmarshal(data, &sorted); err != nil {
		t.Fatal(err)
	}
	if data, err = json.Marshal(sorted); err != nil {
		t.Fatal(err)
	}
	return data
}

// firstPass gives a Timetable the status that the first pass over it leaves.
func firstPass(t testing.TB, tt *timetable.Object, now time.Time) {
	in := cron.Input{Now: now, Traits: worldKind.Info().Traits}
	var err error
	if in.Owner, in.Policy, in.Stored, err = worldKind.Read(tt, adapter.ReadOptions{}); err != nil {
		t.Fatal(err)
	}
	in.AddTemplateCheckResult(cron.TemplateCheckResult{Verdict: cron.TemplateAccepted})
	patches, err := worldKind.Patches(tt, *cron.Decide(in).StatusWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(patches[0].Data, &tt.Timetable); err != nil { // a merge patch of an empty status
		t.Fatal(err)
	}
}

// heapInUse is how many bytes of the heap are in use.
func heapInUse() float64 {
	for range 4 { // what one found free, weak pointers and their cleanups included, the next one takes
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// What a cache keeps of a Timetable that waits takes at most two fifths of the memory of the Timetable as it was read.
func TestMemoryOfCachedTimetables(t *testing.T) {
	const n = 1500
	texts := [][]byte{}
	for i := range n {
		texts = append(texts, assorted(t, i))
	}
	fill := func(kept func(*timetable.Object) adapter.Object) any {
		var all []adapter.Object
		for _, text := range texts {
			tt := &timetable.Object{}
			if err := json.Unmarshal(text, tt); err != nil {
				t.Fatal(err)
			}
			all = append(all, kept(tt))
		}
		return all
	}
	measure := func(kept func(*timetable.Object) adapter.Object) float64 {
		before := heapInUse()
		made := fill(kept)
		after := heapInUse()
		runtime.KeepAlive(made)
		return (after - before) / n
	}
	whole := measure(func(tt *timetable.Object) adapter.Object { return tt })
	compact := measure(func(tt *timetable.Object) adapter.Object { return worldKind.Compact(tt) })
	runtime.KeepAlive(texts)
	t.Logf("%.0f bytes for each Timetable, %.0f as it was read: %.2f", compact, whole, compact/whole)
	if compact > whole*2/5 {
		t.Errorf("%.0f bytes for each Timetable, which is more than two fifths of the %.0f bytes as it was read", compact, whole)
	}
}
