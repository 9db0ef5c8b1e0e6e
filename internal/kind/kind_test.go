// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package kind_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/carillon-dev/carillon/internal/kind"
)

// The kinds live side by side in one scheme, and none takes another's name or type.
func TestAll(t *testing.T) {
	scheme := runtime.NewScheme()
	names, owners := map[string]bool{}, map[string]bool{}
	for _, k := range kind.All {
		info := k.Info()
		if names[info.Name] || owners[info.Owner.String()] {
			t.Errorf("%s is there twice", info.Name)
		}
		names[info.Name], owners[info.Owner.String()] = true, true
		if err := k.AddToScheme(scheme); err != nil {
			t.Errorf("%s: %v", info.Name, err)
		}
	}
	for _, k := range kind.All {
		for what, obj := range map[string]func() (runtime.Object, error){
			"owner": func() (runtime.Object, error) { return scheme.New(k.Info().Owner) },
			"child": func() (runtime.Object, error) { return scheme.New(k.Info().Child) },
		} {
			o, err := obj()
			if err != nil {
				t.Errorf("%s: %s: %v", k.Info().Name, what, err)
				continue
			}
			if _, ok := o.(kind.Object); !ok {
				t.Errorf("%s: %s: a %T has no metadata", k.Info().Name, what, o)
			}
		}
	}
	if len(kind.All) != 3 {
		t.Errorf("%d kinds, want batch, Volcano and the tutorial", len(kind.All))
	}
}

// What the kinds do differently beside the decision: how children are deleted, and whether their lateness is measured.
func TestDeletesAndMetrics(t *testing.T) {
	background := metav1.DeletePropagationBackground
	for name, want := range map[string]struct {
		propagation *metav1.DeletionPropagation
		skew        bool
		source      string
	}{
		"CJ-065 CJ-014 K cronjobs.batch":              {&background, true, "cronjob-controller"},
		"CJ-012 CJ-014 V cronjobs.batch.volcano.sh":   {nil, false, "vc-controller-manager"},
		"T7 T cronjobs.batch.tutorial.kubebuilder.io": {&background, false, "cronjob"}, // events are ours
	} {
		t.Run(name, func(t *testing.T) {
			for _, k := range kind.All {
				if !strings.HasSuffix(name, " "+k.Info().Name) {
					continue
				}
				traits := k.Info().Traits
				if diff := cmp.Diff(want.propagation, traits.Propagation); diff != "" {
					t.Errorf("propagation (-want +got):\n%s", diff)
				}
				if traits.CreationSkew != want.skew || traits.EventSource != want.source {
					t.Errorf("skew %v, event source %q", traits.CreationSkew, traits.EventSource)
				}
				return
			}
			t.Error("there is no such kind")
		})
	}
}

// Users choose kinds by name; a name that is none is answered with those there are, and every kind has a name.
func TestSelect(t *testing.T) {
	all, err := kind.Select(kind.Names())
	if diff := cmp.Diff(kind.All, all); diff != "" || err != nil {
		t.Errorf("all names (-want +got): %v\n%s", err, diff)
	}
	for text, want := range map[string][]string{
		"batch": {"cronjobs.batch"}, "tutorial,batch,tutorial": {"cronjobs.batch", "cronjobs.batch.tutorial.kubebuilder.io"},
		"volcano": {"cronjobs.batch.volcano.sh"},
	} {
		kinds, err := kind.Select(strings.Split(text, ","))
		var got []string
		for _, k := range kinds {
			got = append(got, k.Info().Name)
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s (-want +got): %v\n%s", text, err, diff)
		}
	}
	for want, names := range map[string][]string{
		`no kind of CronJob is called "cronjobs.batch", ""; there are: batch, tutorial, volcano`: {"batch", "cronjobs.batch", ""},
		`no kind of CronJob is named; there are: batch, tutorial, volcano`:                       {},
	} {
		if _, err := kind.Select(names); err == nil || err.Error() != want {
			t.Errorf("%q: %v", names, err)
		}
	}
	if got, err := kind.Select(kind.Default); err != nil || len(got) != 1 || got[0].Info().Name != "cronjobs.batch" {
		t.Errorf("by default: %v, %v", got, err)
	}
}
