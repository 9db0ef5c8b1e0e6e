// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// keys are a store, by key.
type keys map[string]int

// Range implements ranger.
func (k keys) Range(_ context.Context, r *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	var names []string
	for name := range k {
		if name >= string(r.Key) && name < string(r.RangeEnd) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	response := &etcdserverpb.RangeResponse{More: len(names) > int(r.Limit)}
	for _, name := range names[:min(len(names), int(r.Limit))] {
		response.Kvs = append(response.Kvs, &mvccpb.KeyValue{Key: []byte(name), Value: make([]byte, k[name])})
	}
	return response, nil
}

// Every object is counted once, over all pages, under its resource, and nothing else is.
func TestContents(t *testing.T) {
	store := keys{"compact_rev_key": 9, "/registry0": 9}
	for i := range 3*contentsPage + 1 {
		store[fmt.Sprintf("/registry/events/default/e%03d", i)] = 1000 - len("/registry/events/default/e000")
	}
	for key, size := range map[string]int{
		"/registry/batch.example.org/bells/default/x": 500_000,
		"/registry/jobs/default/x":                    100_000,
		"/registry/services/specs/default/kubernetes": 10,
		"/registry/ranges/serviceips":                 10,
		"/registry/minions/here":                      10,
	} {
		store[key] = size - len(key)
		if size == 10 {
			store[key] = 100
		}
	}
	uses, err := contents(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, use := range uses {
		got[use.resource] = use.objects
	}
	if diff := cmp.Diff(map[string]int{"events": 301, "bells.batch.example.org": 1, "jobs": 1, "services": 1, "ranges": 1, "nodes": 1}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got, want := inWords(uses), "bells.batch.example.org 488.3 KiB in 1, events 293.9 KiB in 301, jobs 97.7 KiB in 1, "; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := inWords(append(uses, resourceUse{"a", 1, 1}, resourceUse{"b", 2, 1 << 31})); !strings.HasSuffix(got, "others 2.0 GiB in 4") {
		t.Errorf("%q does not sum up the rest", got)
	}
	if got := inWords(nil); got != "no objects" {
		t.Errorf("got %q", got)
	}
}
