// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package kind_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/deploy/crds"
	"github.com/carillon-dev/carillon/internal/kind"
)

// The kinds live side by side in one scheme, and none takes another's name or type.
func TestAll(t *testing.T) {
	scheme := runtime.NewScheme()
	taken := map[string]bool{}
	for _, k := range kind.All {
		info := k.Info()
		for _, name := range []string{info.Name, info.ShortName, info.Owner.String(), info.StampAnnotation} {
			if taken[name] {
				t.Errorf("%s is there twice", name)
			}
			taken[name] = true
		}
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
	there := "; there are: " + strings.Join(kind.Names(), ", ")
	for want, names := range map[string][]string{
		`no kind of CronJob is called "cronjobs.batch", ""` + there: {"batch", "cronjobs.batch", ""},
		`no kind of CronJob is named` + there:                       {},
	} {
		if _, err := kind.Select(names); err == nil || err.Error() != want {
			t.Errorf("%q: %v", names, err)
		}
	}
	if got, err := kind.Select(kind.Default); err != nil || len(got) != 1 || got[0].Info().Name != "cronjobs.batch" {
		t.Errorf("by default: %v, %v", got, err)
	}
}

// What a kind needs beside its folder is there: the rights of its controller, its definition or how to get it, an
// example, and its line in the guide.
func TestWhatAKindNeeds(t *testing.T) {
	read := func(file string) string {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	granted := map[string]bool{}
	for document := range strings.SplitSeq(read("deploy/rbac.yaml"), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						granted[verb+" "+resource+"."+group] = true
					}
				}
			}
		}
	}
	guide, metrics := read("docs/start.md"), read("docs/metrics.md")
	for _, k := range kind.All {
		info := k.Info()
		owners, children := info.OwnerResource.GroupResource(), info.ChildResource.GroupResource()
		status, finalizers := owners, owners
		status.Resource += "/status"
		finalizers.Resource += "/finalizers"
		needs := map[schema.GroupResource][]string{
			owners: {"get", "list", "watch"}, status: {"patch"}, finalizers: {"update"},
			children: {"get", "list", "watch", "create", "delete"},
		}
		if !info.Traits.StatusCarriesAnnotation {
			needs[owners] = append(needs[owners], "patch")
		}
		for resource, verbs := range needs {
			for _, verb := range verbs {
				if !granted[verb+" "+resource.String()] {
					t.Errorf("%s: deploy/rbac.yaml does not grant %s on %s", info.Name, verb, resource)
				}
			}
		}
		if _, _, shipped := crds.Find(info.Name); !shipped && info.Install == "" && info.Owner.Group != batchv1.GroupName {
			t.Errorf("%s: its definition is not in deploy/crds, and Install does not say where it comes from", info.Name)
		}
		if _, err := os.Stat("../../examples/" + info.ShortName); err != nil && info.Owner.Group != batchv1.GroupName {
			t.Errorf("%s has no example: %v", info.Name, err)
		}
		if !strings.Contains(guide, "| `"+info.ShortName+"`") {
			t.Errorf("%s: the table in docs/start.md has no line `%s`", info.Name, info.ShortName)
		}
		if !strings.Contains(metrics, "`"+info.Name+"`") {
			t.Errorf("%s is missing among the values of kind in docs/metrics.md", info.Name)
		}
	}
}
