// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lister

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func job(name string, refs ...metav1.OwnerReference) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "batch", Name: name, OwnerReferences: refs}}
}

func ref(uid types.UID, controller bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "batch/v1", Kind: "CronJob", Name: "tick", UID: uid, Controller: &controller}
}

// Children are found by the UID of their controller alone; owners that do not control, and nobody, find nothing.
func TestControlledBy(t *testing.T) {
	indexer := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	for _, j := range []*batchv1.Job{
		job("a", ref("u1", true)), job("b", ref("u2", false), ref("u1", true)), job("owned-only", ref("u1", false)),
		job("former", ref("u0", true)), job("nobody"),
	} {
		if err := indexer.Add(j); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Over(indexer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Over(indexer); err != nil {
		t.Errorf("a second user of the same informer: %v", err)
	}
	for uid, want := range map[types.UID]string{"u1": "a b", "u0": "former", "u2": "", "": ""} {
		var names []string
		for _, o := range l.ControlledBy(uid) {
			names = append(names, o.GetName())
		}
		slices.Sort(names)
		if diff := cmp.Diff(want, strings.Join(names, " ")); diff != "" {
			t.Errorf("controlled by %q (-want +got):\n%s", uid, diff)
		}
	}
	if obj, ok := l.Get(types.NamespacedName{Namespace: "batch", Name: "nobody"}); !ok || obj.GetName() != "nobody" {
		t.Errorf("got %v, %v", obj, ok)
	}
	if _, ok := l.Get(types.NamespacedName{Namespace: "other", Name: "nobody"}); ok {
		t.Error("found an object of another namespace")
	}
}

// An index of the caller's own finds objects by any of their values, and those only.
func TestIndex(t *testing.T) {
	indexer := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	a, b := job("a"), job("b")
	a.Annotations, b.Annotations = map[string]string{"calendars": "x,y"}, map[string]string{"calendars": "y"}
	if err := indexer.Add(a); err != nil { // before there is the index
		t.Fatal(err)
	}
	l, err := Over(indexer)
	if err != nil {
		t.Fatal(err)
	}
	calendars := func(obj client.Object) []string { return strings.Split(obj.GetAnnotations()["calendars"], ",") }
	for range 2 {
		if err := l.Index("calendars", calendars); err != nil {
			t.Fatal(err)
		}
	}
	if err := indexer.Add(b); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string][]string{"x": {"a"}, "y": {"a", "b"}, "z": nil} {
		var got []string
		for _, obj := range l.ByIndex("calendars", value) {
			got = append(got, obj.GetName())
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", value, diff)
		}
	}
	if found := l.ByIndex("unknown", "x"); found != nil {
		t.Errorf("an index that is not there finds %v", found)
	}
}
