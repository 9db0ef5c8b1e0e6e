// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package kindtest

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

var start = adapter.Start{Start: cron.Start{Name: "tick-29631610", Stamp: "2026-05-04T14:10:00+02:00", Time: time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC)}}

func (s Suite) build(t *testing.T) {
	owner := s.owner(t)
	before := encode(t, owner)
	child, err := s.Kind.Build(owner, start)
	if err != nil {
		t.Fatal(err)
	}
	apiVersion, kind := s.Kind.Info().Owner.ToAPIVersionAndKind()
	got := encode(t, child)
	metadata := got["metadata"].(map[string]any)
	delete(metadata, "creationTimestamp")
	wantMeta := map[string]any{
		"name": "tick-29631610", "namespace": "batch",
		"labels":      map[string]any{"a": "b"},
		"annotations": map[string]any{"x": "y", s.Stamp: "2026-05-04T14:10:00+02:00"},
		"ownerReferences": []any{map[string]any{"apiVersion": apiVersion, "kind": kind, "name": "tick", "uid": "cj-1",
			"controller": true, "blockOwnerDeletion": true}},
	}
	if diff := cmp.Diff(wantMeta, metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	var wantSpec map[string]any
	if err := json.Unmarshal([]byte(s.Template), &wantSpec); err != nil {
		t.Fatal(err)
	}
	if s.Cannot.UnknownFields {
		delete(wantSpec, "unknownField")
	} else if _, ok := wantSpec["unknownField"]; !ok {
		t.Fatal("the template of the suite needs an unknownField")
	}
	if diff := cmp.Diff(wantSpec, got["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	s.scramble(t, child, true)
	if diff := cmp.Diff(before, encode(t, owner)); diff != "" {
		t.Errorf("the child shares something with its CronJob (-want +got):\n%s", diff)
	}
}

func (s Suite) buildEmpty(t *testing.T) {
	apiVersion, kind := s.Kind.Info().Owner.ToAPIVersionAndKind()
	child, err := s.Kind.Build(s.decode(t, map[string]any{"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"name": "tick", "namespace": "batch", "uid": "cj-1"}}), start)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := child.GetAnnotations(), map[string]string{s.Stamp: start.Stamp}; !maps.Equal(got, want) {
		t.Errorf("annotations %v, want %v", got, want)
	}
}
