// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package volcano_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/kindtest"
	"github.com/carillon-dev/carillon/internal/kind/volcano"
)

// The CRDs of the tests serve what the adapter expects, and leave a child as it was built.
func TestCRDs(t *testing.T) {
	text, err := os.ReadFile("testdata/batch.volcano.sh.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crds := kindtest.ParseCRDs(t, text)
	if len(crds) != 2 {
		t.Fatalf("%d CRDs, want those of CronJob and Job", len(crds))
	}
	info := volcano.Kind{}.Info()
	crds[0].Serves(t, info.OwnerResource, info.Owner)
	crds[1].Serves(t, info.ChildResource, info.Child)

	owner := &volcano.CronJob{}
	owner.Name, owner.Namespace, owner.UID = "tick", "batch", "cj-1"
	owner.Spec.JobTemplate.Spec.Raw = []byte(`{"queue":"q","maxRetry":5,"plugins":{"ssh":[]},"tasks":[{"name":"main","replicas":1}]}`)
	child, err := volcano.Kind{}.Build(owner, cron.Start{Name: "tick-29631610", Stamp: "2026-05-04T12:10:00Z"})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(child)
	if err != nil {
		t.Fatal(err)
	}
	var sent, stored map[string]any
	if err := json.Unmarshal(data, &sent); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}
	if sent["kind"] != "Job" || sent["apiVersion"] != "batch.volcano.sh/v1alpha1" {
		t.Errorf("sent as %v %v", sent["apiVersion"], sent["kind"])
	}
	if errs := crds[1].Admit(t, stored); len(errs) > 0 {
		t.Errorf("refused: %v", errs)
	}
	if diff := cmp.Diff(sent["spec"], stored["spec"]); diff != "" {
		t.Errorf("spec (-sent +stored):\n%s", diff)
	}
}
