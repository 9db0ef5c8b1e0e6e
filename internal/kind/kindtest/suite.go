// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kindtest holds the suite that every kind of CronJob passes. A kind declares what its API cannot do;
// everything else must work.
package kindtest

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// Suite describes a kind to the suite.
type Suite struct {
	Kind adapter.Kind
	// Stamp is the annotation that holds a child's scheduled time.
	Stamp string
	// Template is the spec of a child as JSON, with a field that no Go type knows if the kind keeps those.
	Template string
	// Children are statuses of children as JSON, by a sentence that says what they mean.
	Children map[string]Meaning
	// Cannot is what the kind's API has no place for.
	Cannot Cannot
}

// Cannot is the list of what a kind may leave out.
type Cannot struct {
	// TimeZone: there is no spec.timeZone.
	TimeZone bool
	// LastSuccessful: there is no status.lastSuccessfulTime.
	LastSuccessful bool
	// RideAlong: a status write takes no metadata.
	RideAlong bool
	// UnknownFields: fields of the child's spec that the Go types do not know are lost.
	UnknownFields bool
}

// Meaning is a child's status, and what it means.
type Meaning struct {
	Status    string
	Phase     cron.Phase
	Succeeded bool
	// Finished is the completion instant, "" for none.
	Finished string
}

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	t.Run("its parts agree about its name", s.info)
	t.Run("its types are registered and copy deeply", s.types)
	t.Run("a CronJob is read whole", s.read)
	t.Run("an empty CronJob is read as it is", s.readEmpty)
	t.Run("objects of other types are refused", s.wrong)
	t.Run("children mean what their status says", s.children)
	t.Run("CJ-009 CJ-011 a child is built from the template, and the stamp wins", s.build)
	t.Run("a template without metadata and spec makes a child too", s.buildEmpty)
	t.Run("a record becomes patches", s.write)
	t.Run("a pass starts a child, records it and knows it again", s.pass)
}

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
		"a last success is kept if there is a place":       info.Traits.HasSuccess == !s.Cannot.LastSuccessful,
		"the timetable rides if it can":                    info.Traits.TimetableRides == !s.Cannot.RideAlong,
		"it has events if it has a source for them":        (info.Traits.EventSource != "") == (info.Traits.Events != cron.Events{}),
	} {
		if !ok {
			t.Errorf("not so: %s: %+v", what, info)
		}
	}
}

func (s Suite) scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := s.Kind.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
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
		scramble(t, twin, name == "child")
		if diff := cmp.Diff(before, encode(t, obj)); diff != "" {
			t.Errorf("%s: changing the copy changed the original (-want +got):\n%s", name, diff)
		}
	}
}

// scramble overwrites what the object shares with others if it was not copied deeply.
func scramble(t *testing.T, obj adapter.Object, child bool) {
	t.Helper()
	if annotations := obj.GetAnnotations(); annotations != nil {
		annotations["shared"] = "scrambled"
	}
	filler := `{"metadata":{"labels":{"shared":"scrambled"}},"spec":{"suspend":true,"timeZone":"Scrambled/Zone",` +
		`"startingDeadlineSeconds":1,"successfulJobsHistoryLimit":9,"failedJobsHistoryLimit":9,` +
		`"jobTemplate":{"metadata":{"labels":{"a":"scrambled"}},"spec":{"scrambled":1}}},` +
		`"status":{"active":[{"name":"scrambled"}],"lastScheduleTime":"2001-01-01T00:00:00Z","lastSuccessfulTime":"2001-01-01T00:00:00Z"}}`
	if child {
		filler = `{"metadata":{"labels":{"shared":"scrambled"}},"spec":{"scrambled":1,"parallelism":9,` +
			`"template":{"spec":{"containers":[{"name":"scrambled"}]}}},` +
			`"status":{"startTime":"2001-01-01T00:00:00Z","conditions":[{"type":"Scrambled"}],"state":{"lastTransitionTime":"2001-01-01T00:00:00Z"}}}`
	}
	// Decoding into an object reuses what its pointers, maps and slices hold already.
	if err := json.Unmarshal([]byte(filler), obj); err != nil {
		t.Fatal(err)
	}
}

// owner is a CronJob with every field that a kind may have.
func (s Suite) owner(t *testing.T) adapter.Object { return s.decode(t, s.ownerJSON(t)) }

func (s Suite) ownerJSON(t *testing.T) map[string]any {
	t.Helper()
	apiVersion, kind := s.Kind.Info().Owner.ToAPIVersionAndKind()
	obj := map[string]any{}
	text := `{
		"metadata": {"name": "tick", "namespace": "batch", "uid": "cj-1", "resourceVersion": "41", "generation": 2,
			"creationTimestamp": "2026-05-04T12:03:20Z", "labels": {"shared": "original"},
			"annotations": {"shared": "original", "carillon.dev/timetable": "{\"schedules\":[\"*/10 * * * *\"]}"},
			"managedFields": [
				{"manager": "kubectl", "operation": "Update", "time": "2026-05-04T12:04:00Z", "fieldsType": "FieldsV1",
				 "fieldsV1": {"f:spec": {"f:schedule": {}}}},
				{"manager": "other", "operation": "Update", "time": "2026-05-04T12:09:00Z", "fieldsType": "FieldsV1",
				 "fieldsV1": {"f:metadata": {"f:labels": {"f:schedule": {}}}}}]},
		"spec": {"schedule": "*/10 * * * *", "startingDeadlineSeconds": 300, "concurrencyPolicy": "Forbid", "suspend": false,
			"successfulJobsHistoryLimit": 2, "failedJobsHistoryLimit": 4,
			"jobTemplate": {"metadata": {"name": "dropped", "finalizers": ["dropped/too"], "labels": {"a": "b"},
				"annotations": {"x": "y", "` + s.Stamp + `": "bogus"}}, "spec": ` + s.Template + `}},
		"status": {"active": [{"apiVersion": "batch/v1", "kind": "Job", "namespace": "batch", "name": "tick-1", "uid": "u1"}],
			"lastScheduleTime": "2026-05-04T12:00:00Z"}
	}`
	if err := json.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	obj["apiVersion"], obj["kind"] = apiVersion, kind
	if !s.Cannot.TimeZone {
		obj["spec"].(map[string]any)["timeZone"] = "Europe/Rome"
	}
	if !s.Cannot.LastSuccessful {
		obj["status"].(map[string]any)["lastSuccessfulTime"] = "2026-05-04T12:01:00Z"
	}
	return obj
}

// child is a child with that status as JSON.
func (s Suite) child(t *testing.T, status string) adapter.Object {
	t.Helper()
	apiVersion, kind := s.Kind.Info().Child.ToAPIVersionAndKind()
	obj := map[string]any{}
	text := `{"apiVersion": "` + apiVersion + `", "kind": "` + kind + `",
		"metadata": {"name": "tick-29631610", "namespace": "batch", "uid": "u1", "resourceVersion": "7",
			"creationTimestamp": "2026-05-04T12:10:01Z", "deletionTimestamp": "2026-05-04T12:30:00Z",
			"labels": {"shared": "original"}, "annotations": {"shared": "original", "` + s.Stamp + `": "2026-05-04T12:10:00Z"}},
		"spec": ` + s.Template + `, "status": ` + status + `}`
	if err := json.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return s.decode(t, obj)
}

func (s Suite) decode(t *testing.T, obj map[string]any) adapter.Object {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	info, gvk := s.Kind.Info(), s.Kind.Info().Owner
	if obj["apiVersion"] != info.Owner.GroupVersion().String() || obj["kind"] != info.Owner.Kind {
		gvk = info.Child
	}
	typed, err := s.scheme(t).New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, typed); err != nil {
		t.Fatal(err)
	}
	return typed.(adapter.Object)
}

func encode(t *testing.T, obj any) map[string]any {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func anyOf(m map[string]Meaning) Meaning { return m[slices.Sorted(maps.Keys(m))[0]] }

func instant(t *testing.T, text string) *time.Time {
	t.Helper()
	if text == "" {
		return nil
	}
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return &parsed
}

func (s Suite) read(t *testing.T) {
	obj := s.owner(t)
	before := encode(t, obj)
	owner, spec, state, err := s.Kind.Read(obj)
	if err != nil {
		t.Fatal(err)
	}
	wantSpec := cron.Spec{Schedules: []string{"*/10 * * * *"}, Deadline: new(int64(300)), Concurrency: "Forbid",
		KeepSuccessful: new(int32(2)), KeepFailed: new(int32(4))}
	if !s.Cannot.TimeZone {
		wantSpec.TimeZone = new("Europe/Rome")
	}
	wantState := cron.State{
		Active: []corev1.ObjectReference{{APIVersion: "batch/v1", Kind: "Job", Namespace: "batch", Name: "tick-1",
			UID: "u1"}},
		LastSchedule: instant(t, "2026-05-04T12:00:00Z"),
		Timetable:    `{"schedules":["*/10 * * * *"]}`,
	}
	if !s.Cannot.LastSuccessful {
		wantState.LastSuccessful = instant(t, "2026-05-04T12:01:00Z")
	}
	wantOwner := cron.Owner{Namespace: "batch", Name: "tick", UID: "cj-1", Generation: 2,
		Created: *instant(t, "2026-05-04T12:03:20Z"), Touched: *instant(t, "2026-05-04T12:04:00Z")}
	for what, diff := range map[string]string{
		"owner":  cmp.Diff(wantOwner, owner),
		"spec":   cmp.Diff(wantSpec, spec),
		"state":  cmp.Diff(wantState, state),
		"object": cmp.Diff(before, encode(t, obj)),
	} {
		if diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

func (s Suite) readEmpty(t *testing.T) {
	apiVersion, kind := s.Kind.Info().Owner.ToAPIVersionAndKind()
	obj := s.decode(t, map[string]any{"apiVersion": apiVersion, "kind": kind})
	_, spec, state, err := s.Kind.Read(obj)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cron.Spec{Schedules: []string{""}}, spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(cron.State{}, state); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func (s Suite) wrong(t *testing.T) {
	other := &metav1.PartialObjectMetadata{}
	if _, _, _, err := s.Kind.Read(other); err == nil {
		t.Error("Read took it")
	}
	if _, err := s.Kind.ReadChild(other); err == nil {
		t.Error("ReadChild took it")
	}
	if _, err := s.Kind.Build(other, cron.Start{}); err == nil {
		t.Error("Build took it")
	}
}

func (s Suite) children(t *testing.T) {
	apiVersion, kind := s.Kind.Info().Child.ToAPIVersionAndKind()
	for sentence, m := range s.Children {
		t.Run(sentence, func(t *testing.T) {
			got, err := s.Kind.ReadChild(s.child(t, m.Status))
			if err != nil {
				t.Fatal(err)
			}
			want := cron.Child{APIVersion: apiVersion, Kind: kind, Namespace: "batch", Name: "tick-29631610", UID: "u1",
				ResourceVersion: "7", Created: *instant(t, "2026-05-04T12:10:01Z"), Deleting: true,
				Stamp: "2026-05-04T12:10:00Z", Phase: m.Phase, Succeeded: m.Succeeded, Finished: instant(t, m.Finished)}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(cron.Child{}, "Started", "Status")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

var start = cron.Start{Name: "tick-29631610", Stamp: "2026-05-04T14:10:00+02:00", Time: time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC)}

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
	scramble(t, child, true)
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

// server holds a CronJob as JSON and takes patches as an API server does: a status patch changes the status, and the
// metadata only where the API lets it; another one changes everything but the status; preconditions must hold.
type server struct {
	obj  map[string]any
	ride bool
}

func (v *server) patch(t *testing.T, p adapter.Patch) {
	t.Helper()
	if p.Type != types.MergePatchType {
		t.Fatalf("a patch of type %s", p.Type)
	}
	var patch map[string]any
	if err := json.Unmarshal(p.Data, &patch); err != nil {
		t.Fatal(err)
	}
	metadata := patch["metadata"].(map[string]any)
	stored := v.obj["metadata"].(map[string]any)
	if metadata["uid"] != stored["uid"] {
		t.Fatalf("a patch without the UID as precondition: %s", p.Data)
	}
	if rv, ok := metadata["resourceVersion"]; ok && rv != stored["resourceVersion"] || p.Subresource == "status" && !ok {
		t.Fatalf("a patch that conflicts: %s; stored: %v", p.Data, stored["resourceVersion"])
	}
	delete(metadata, "resourceVersion")
	switch p.Subresource {
	case "status":
		if len(metadata) > 1 && !v.ride {
			t.Fatalf("a status patch with metadata that is lost: %s", p.Data)
		}
	case "":
		if patch["status"] != nil {
			t.Fatalf("a patch of the object with a status that is lost: %s", p.Data)
		}
	default:
		t.Fatalf("a patch of %q", p.Subresource)
	}
	v.obj = merge(v.obj, patch).(map[string]any)
	v.obj["metadata"].(map[string]any)["resourceVersion"] = stored["resourceVersion"].(string) + "1"
}

// merge is RFC 7386.
func merge(into, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	target, ok := into.(map[string]any)
	if !ok {
		target = map[string]any{}
	}
	target = maps.Clone(target)
	for k, v := range p {
		if v == nil {
			delete(target, k)
		} else {
			target[k] = merge(target[k], v)
		}
	}
	return target
}

func (s Suite) write(t *testing.T) {
	moved := instant(t, "2026-05-04T12:10:00Z")
	success := instant(t, "2026-05-04T12:08:00Z")
	if s.Cannot.LastSuccessful {
		success = nil
	}
	ref := corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: "batch", Name: "tick-2", UID: "u2", ResourceVersion: "9"}
	for sentence, c := range map[string]struct {
		record  cron.Record
		patches int
	}{
		"a status": {cron.Record{Status: true, State: cron.State{Active: []corev1.ObjectReference{ref}, LastSchedule: moved, LastSuccessful: success,
			Timetable: `{"schedules":["*/10 * * * *"]}`}}, 1},
		"an empty status": {cron.Record{Status: true, State: cron.State{Timetable: `{"schedules":["*/10 * * * *"]}`}}, 1},
		"a timetable": {cron.Record{Timetable: true, State: s.stored(t, func(st *cron.State) {
			st.Timetable = `{"schedules":["0 3 * * *"],"since":"2026-05-04T12:03:04.5Z"}`
		})}, 1},
		"both": {cron.Record{Status: true, Timetable: true, State: s.stored(t, func(st *cron.State) {
			st.LastSchedule, st.Timetable = moved, `{"schedules":["0 3 * * *"]}`
		})}, map[bool]int{false: 1, true: 2}[s.Cannot.RideAlong]},
		"nothing": {cron.Record{State: s.stored(t, func(*cron.State) {})}, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			v := server{obj: s.ownerJSON(t), ride: !s.Cannot.RideAlong}
			v.obj["status"].(map[string]any)["unknown"] = "kept"
			v.obj["spec"].(map[string]any)["unknown"] = "kept"
			patches, err := s.Kind.Write(s.decode(t, v.obj), c.record)
			if err != nil {
				t.Fatal(err)
			}
			if len(patches) != c.patches {
				t.Fatalf("%d patches, want %d", len(patches), c.patches)
			}
			spec := v.obj["spec"]
			for _, p := range patches {
				v.patch(t, p)
			}
			_, _, state, err := s.Kind.Read(s.decode(t, v.obj))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.record.State, state); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(spec, v.obj["spec"]); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if v.obj["status"].(map[string]any)["unknown"] != "kept" {
				t.Error("an unknown field of the status is lost")
			}
		})
	}
}

// stored is the state of the suite's CronJob, changed.
func (s Suite) stored(t *testing.T, change func(*cron.State)) cron.State {
	t.Helper()
	_, _, state, err := s.Kind.Read(s.owner(t))
	if err != nil {
		t.Fatal(err)
	}
	change(&state)
	return state
}

// pass leads one CronJob through two passes, with the kind as the only translator.
func (s Suite) pass(t *testing.T) {
	v := server{obj: s.ownerJSON(t), ride: !s.Cannot.RideAlong}
	v.obj["status"] = map[string]any{}
	now := time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC)

	read := func(children ...cron.Child) cron.Input {
		owner, spec, state, err := s.Kind.Read(s.decode(t, v.obj))
		if err != nil {
			t.Fatal(err)
		}
		return cron.Input{Now: now, Traits: s.Kind.Info().Traits, Owner: owner, Spec: spec, State: state, Children: children}
	}
	in := read()
	plan := cron.Decide(in)
	if plan.Next() != cron.PhaseStart {
		t.Fatalf("nothing starts:\n%s", plan)
	}
	built, err := s.Kind.Build(s.decode(t, v.obj), *plan.Start)
	if err != nil {
		t.Fatal(err)
	}
	built.SetUID("u1")
	built.SetResourceVersion("50")
	child, err := s.Kind.ReadChild(built)
	if err != nil {
		t.Fatal(err)
	}
	in.DidStart(*plan.Start, &child, nil)
	plan = cron.Decide(in)
	if plan.Err != nil || plan.Record == nil {
		t.Fatalf("the start is not recorded:\n%s", plan)
	}
	patches, err := s.Kind.Write(s.decode(t, v.obj), *plan.Record)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range patches {
		v.patch(t, p)
	}

	again := read(child)
	if len(again.State.Active) != 1 || again.State.Active[0].UID != "u1" || again.State.Active[0].Kind != s.Kind.Info().Child.Kind {
		t.Errorf("active: %+v", again.State.Active)
	}
	if again.State.LastSchedule == nil || !again.State.LastSchedule.Equal(now) {
		t.Errorf("last scheduled: %v, want %v", again.State.LastSchedule, now)
	}
	plan = cron.Decide(again)
	if len(plan.Look) > 0 || plan.Start != nil || plan.Err != nil || plan.Record != nil && !again.Traits.RecordAlways {
		t.Errorf("the second pass finds something to do:\n%s", plan)
	}

	// Without the record, as after a crash, the child is known by its controller reference and its stamp.
	v.obj["status"] = map[string]any{}
	lost := read(child)
	plan = cron.Decide(lost)
	if len(plan.Look) > 0 {
		lost.SawOwner(lost.Owner, lost.Spec, lost.State, nil)
		plan = cron.Decide(lost)
	}
	if plan.Start != nil || plan.Record == nil || plan.Record.State.LastSchedule == nil || !plan.Record.State.LastSchedule.Equal(now) {
		t.Errorf("the child is not adopted:\n%s", plan)
	}
}
