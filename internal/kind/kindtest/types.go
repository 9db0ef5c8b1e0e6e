// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package kindtest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

func (s Suite) info(t *testing.T) {
	info := s.Kind.Info()
	if want := info.OwnerResource.Resource + "." + info.OwnerResource.Group; info.Name != want {
		t.Errorf("name %q, want %q", info.Name, want)
	}
	for what, ok := range map[string]bool{
		"the owner's resource is of its group and version": info.OwnerResource.GroupVersion() == info.Owner.GroupVersion(),
		"the child's resource is of its group and version": info.ChildResource.GroupVersion() == info.Child.GroupVersion(),
		"traits name the owner's group":                    info.Traits.Group == info.Owner.Group,
		"traits name the owner's kind":                     info.Traits.Kind == info.Owner.Kind,
		"traits name the child's kind":                     info.Traits.ChildKind == info.Child.Kind,
		"there is a word for it":                           info.ShortName != "" && !strings.ContainsAny(info.ShortName, " ,."),
		"a last success is kept if there is a place":       info.Traits.Durable.Has(cron.PartLastSuccessful) == !s.Cannot.LastSuccessful && info.Traits.Durable.Has(cron.PartLastSuccessful) == (info.LastSuccessField != ""),
		"what all of them have is remembered":              info.Traits.Durable.Has(cron.PartActive | cron.PartLastSchedule | cron.PartTiming),
		"conditions are kept if there is a place":          info.Traits.Durable.Has(cron.PartConditions) == !s.Cannot.Conditions,
		"its fields are those of the suite":                info.LastScheduleField == s.name("lastScheduleTime") && info.TemplateField == s.name("jobTemplate"),
		"its stamp is that of the suite":                   info.StampAnnotation == s.Stamp,
		"Jobs of batch/v1 are run by us, others are not":   (info.RunBy == "") == (info.Child.Group == batchv1.GroupName),
		"children that are not of batch/v1 have a message": (len(info.MessageField) == 0) == (info.Child.Group == batchv1.GroupName),
		"the timetable rides if it can":                    info.Traits.StatusCarriesAnnotation == !s.Cannot.RideAlong,
		"it says how to switch off its usual controller":   info.SwitchOff != "",
		"it has events if it has a source for them":        (info.Traits.EventSource != "") == (info.Traits.Events != cron.EventReasons{}),
	} {
		if !ok {
			t.Errorf("not so: %s: %+v", what, info)
		}
	}
}

func (s Suite) types(t *testing.T) {
	scheme, info := s.scheme(t), s.Kind.Info()
	for _, gvk := range []schema.GroupVersionKind{info.Owner, info.Child} {
		if _, err := scheme.New(gvk.GroupVersion().WithKind(gvk.Kind + "List")); err != nil {
			t.Error(err)
		}
	}
	for name, obj := range map[string]adapter.Object{"owner": s.owner(t), "child": s.child(t, anyOf(s.Children).Status)} {
		before := encode(t, obj)
		twin, ok := obj.DeepCopyObject().(adapter.Object)
		if !ok {
			t.Fatalf("%s: the copy is a %T", name, obj.DeepCopyObject())
		}
		if diff := cmp.Diff(before, encode(t, twin)); diff != "" {
			t.Errorf("%s: the copy differs (-want +got):\n%s", name, diff)
		}
		s.scramble(t, twin, name == "child")
		if diff := cmp.Diff(before, encode(t, obj)); diff != "" {
			t.Errorf("%s: changing the copy changed the original (-want +got):\n%s", name, diff)
		}
	}
}

// scramble overwrites what the object shares with others if it was not copied deeply.
func (s Suite) scramble(t *testing.T, obj adapter.Object, child bool) {
	t.Helper()
	if annotations := obj.GetAnnotations(); annotations != nil {
		annotations["shared"] = "scrambled"
	}
	filler := `{"metadata":{"labels":{"shared":"scrambled"}},"spec":{"suspend":true,"timeZone":"Scrambled/Zone",` +
		`"startingDeadlineSeconds":1,"successfulJobsHistoryLimit":9,"failedJobsHistoryLimit":9,` +
		`"jobTemplate":{"metadata":{"labels":{"a":"scrambled"}},"spec":{"scrambled":1}}},` +
		`"status":{"active":[{"name":"scrambled"}],"lastScheduleTime":"2001-01-01T00:00:00Z","lastSuccessfulTime":"2001-01-01T00:00:00Z",` +
		`"conditions":[{"type":"Scrambled"}]}}`
	if child {
		filler = `{"metadata":{"labels":{"shared":"scrambled"}},"spec":{"scrambled":1,"parallelism":9,` +
			`"template":{"spec":{"containers":[{"name":"scrambled"}]}}},` +
			`"status":{"startTime":"2001-01-01T00:00:00Z","conditions":[{"type":"Scrambled"}],"state":{"lastTransitionTime":"2001-01-01T00:00:00Z"}}}`
	}
	named := map[string]any{}
	if err := json.Unmarshal([]byte(filler), &named); err != nil {
		t.Fatal(err)
	}
	if !child {
		s.rename(named)
	}
	data, err := json.Marshal(named)
	if err != nil {
		t.Fatal(err)
	}
	// Decoding into an object reuses what its pointers, maps and slices hold already.
	if err := json.Unmarshal(data, obj); err != nil {
		t.Fatal(err)
	}
}
