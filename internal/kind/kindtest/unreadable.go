// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package kindtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// unreadable decodes lists in which one item is none, as clients do: the others are read, and that one says what is
// wrong.
func (s Suite) unreadable(t *testing.T) {
	if s.Cannot.BeUnreadable {
		return
	}
	info := s.Kind.Info()
	for sentence, c := range map[string]struct {
		path  []string
		value any
		want  string
	}{
		"labels of numbers":       {[]string{"spec", "jobTemplate", "metadata", "labels"}, map[string]any{"a": "b", "tier": 5}, "spec.jobTemplate.metadata.labels.tier is the number 5, and must be a string"},
		"labels as a list":        {[]string{"spec", "jobTemplate", "metadata", "labels"}, []any{"a"}, "spec.jobTemplate.metadata.labels is a list, and must be an object of strings"},
		"annotations of booleans": {[]string{"spec", "jobTemplate", "metadata", "annotations"}, map[string]any{"x": true}, "spec.jobTemplate.metadata.annotations.x is true, and must be a string"},
		"a schedule as a number":  {[]string{"spec", "schedule"}, 5, "spec.schedule is the number 5, and must be a string"},
		"a deadline in words":     {[]string{"spec", "startingDeadlineSeconds"}, "soon", `spec.startingDeadlineSeconds is the string "soon", and must be a whole number`},
		"half a history":          {[]string{"spec", "failedJobsHistoryLimit"}, 1.5, "spec.failedJobsHistoryLimit is the number 1.5, and must be a whole number"},
		"a policy as an object":   {[]string{"spec", "concurrencyPolicy"}, map[string]any{"Forbid": 1}, "spec.concurrencyPolicy is an object, and must be a string"},
		"suspend in words":        {[]string{"spec", "suspend"}, "yes", `spec.suspend is the string "yes", and must be true or false`},
		"a spec that is a string": {[]string{"spec"}, "none", `spec is the string "none", and must be an object`},
		"a time that is none":     {[]string{"status", "lastScheduleTime"}, "yesterday", `status.lastScheduleTime is the string "yesterday", which cannot be read`},
		"active as a string":      {[]string{"status", "active"}, "none", `status.active is the string "none", and must be a list`},
		"an active name":          {[]string{"status", "active"}, []any{map[string]any{"name": "a"}, map[string]any{"name": 1}}, "status.active[1].name is the number 1, and must be a string"},
	} {
		t.Run(sentence, func(t *testing.T) {
			good, bad := encode(t, s.owner(t)), encode(t, s.owner(t))
			path, want := slices.Clone(c.path), c.want
			if len(path) > 1 {
				path[1] = s.name(path[1])
				want = strings.Replace(want, c.path[1], path[1], 1)
			}
			set(bad, c.value, path...)
			items := s.list(t, info.Owner.Kind, bad, good)
			_, _, _, err := s.Kind.Read(items[0], adapter.ReadOptions{})
			var trouble *adapter.Unreadable
			if !errors.As(err, &trouble) || !strings.HasPrefix(err.Error(), want) || adapter.Trouble(items[0]) != trouble {
				t.Errorf("read with %v, want %s", err, want)
			}
			if items[0].GetName() != "tick" || items[0].GetUID() != "cj-1" {
				t.Errorf("the name was lost: %s, %s", items[0].GetName(), items[0].GetUID())
			}
			if twin := items[0].DeepCopyObject(); adapter.Trouble(twin) == nil {
				t.Error("a copy forgets the trouble")
			}
			if _, policy, _, err := s.Kind.Read(items[1], adapter.ReadOptions{}); err != nil || policy.Timing.Times == nil {
				t.Errorf("its neighbour: %v, %v", policy.Timing.Times, err)
			}
			// When it is mended, it is as good as any, also in the same Go object.
			raw, err := json.Marshal(good)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw, items[0]); err != nil {
				t.Fatal(err)
			}
			if _, _, _, err := s.Kind.Read(items[0], adapter.ReadOptions{}); err != nil {
				t.Errorf("mended: %v", err)
			}
		})
	}
}

// unreadableChild (CJ-196): a child that is none is unfinished, so that Forbid holds and nothing deletes it.
func (s Suite) unreadableChild(t *testing.T) {
	if s.Cannot.BeUnreadable || s.Cannot.ChildBeUnreadable {
		return
	}
	good, bad := encode(t, s.child(t, anyOf(s.Children).Status)), encode(t, s.child(t, anyOf(s.Children).Status))
	bad["status"] = "done"
	items := s.list(t, s.Kind.Info().Child.Kind, bad, good)
	child, err := s.Kind.ReadChild(items[0], s.Kind.Info().Child, nil)
	if err != nil || child.Phase != cron.Unfinished || child.Status != "Unreadable" || child.UID != "u1" {
		t.Errorf("read as %+v, %v", child, err)
	}
	if trouble := adapter.Trouble(items[0]); trouble == nil || trouble.Error() != `status is the string "done", and must be an object` {
		t.Errorf("trouble: %v", trouble)
	}
	if adapter.Trouble(items[1]) != nil {
		t.Error("its neighbour is in trouble")
	}
}

// list is what a client makes of a list of these objects.
func (s Suite) list(t *testing.T, kind string, objs ...map[string]any) []adapter.Object {
	t.Helper()
	gvk := s.Kind.Info().Owner
	if kind != gvk.Kind {
		gvk = s.Kind.Info().Child
	}
	apiVersion, listKind := gvk.GroupVersion().WithKind(kind + "List").ToAPIVersionAndKind()
	data, err := json.Marshal(map[string]any{"apiVersion": apiVersion, "kind": listKind, "metadata": map[string]any{}, "items": objs})
	if err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(s.scheme(t)).UniversalDeserializer()
	list, _, err := decoder.Decode(data, nil, nil)
	if err != nil {
		t.Fatalf("one object keeps the others from being read: %v", err)
	}
	var items []adapter.Object
	err = meta.EachListItem(list, func(item runtime.Object) error {
		obj, ok := item.(adapter.Object)
		if !ok {
			return fmt.Errorf("a %T in the list", item)
		}
		items = append(items, obj)
		return nil
	})
	if err != nil || len(items) != len(objs) {
		t.Fatalf("%d items of %d: %v", len(items), len(objs), err)
	}
	return items
}

func set(obj map[string]any, value any, path ...string) {
	for _, member := range path[:len(path)-1] {
		next, ok := obj[member].(map[string]any)
		if !ok {
			next = map[string]any{}
			obj[member] = next
		}
		obj = next
	}
	obj[path[len(path)-1]] = value
}
