// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/volcano"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
)

// warned waits until exactly these reasons, each once, are the Warnings about an object.
func (w *world) warned(uid types.UID, want ...string) {
	w.Helper()
	slices.Sort(want)
	w.eventually("warnings", func(ctx context.Context) error {
		events, err := w.client.CoreV1().Events(w.namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(uid)})
		if err != nil {
			return err
		}
		var got []string
		for _, e := range events.Items {
			if e.Type == corev1.EventTypeWarning {
				got = append(got, e.Reason)
			}
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			return fmt.Errorf("told %v, want %v", got, want)
		}
		return nil
	})
}

// What no API server of today would take, but an older one has stored, is told about in a Warning and harms nobody: not
// its neighbours, not the API server by repeated tries, and not itself where the contract says how to read it.
func TestCronJobsOfOldServers(t *testing.T) {
	var seen traffic
	w := newWorld(t, manager.Options{Controllers: []string{manager.CronJob}, Config: seen.on(plane.Start(t).Config())})
	begun := time.Now()
	minutely := func(name string) make.CronJobBuilder { return make.CronJob(w.namespace, name).Schedule("* * * * *") }
	always := minutely("always").New()
	always.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	const ticks = 2
	cases := map[string]struct {
		obj  *batchv1.CronJob
		want []string // Warnings
		runs int
	}{
		"CJ-026 CJ-161 a date that is none":              {obj: minutely("never").Schedule("0 0 30 2 *").New(), want: []string{"InvalidSchedule"}},
		"CJ-028 a schedule that is none":                 {obj: minutely("nonsense").Schedule("nonsense").New(), want: []string{"UnparseableSchedule"}},
		"CJ-028 CJ-160 no schedule":                      {obj: minutely("empty").Schedule("").New(), want: []string{"UnparseableSchedule"}},
		"CJ-030 a zone without a schedule":               {obj: minutely("zone-alone").Schedule("TZ=UTC").New(), want: []string{"UnparseableSchedule", "UnsupportedSchedule"}},
		"CJ-031 CJ-159 a zone that is none":              {obj: minutely("mars").TimeZone("Mars/Olympus").New(), want: []string{"UnknownTimeZone"}},
		"CJ-034 CJ-154 a zone in the schedule is obeyed": {obj: minutely("zone-inside").Schedule("TZ=Asia/Tokyo * * * * *").New(), want: []string{"UnsupportedSchedule"}, runs: ticks},
		"CJ-151 a name that is too long for its Jobs":    {obj: minutely(strings.Repeat("a", 60)).New(), want: []string{"FailedCreate", "MissSchedule"}},
		"CJ-160 a template that is invalid":              {obj: always, want: []string{"FailedCreate", "MissSchedule"}},
		"CJ-160 an unknown policy is no policy":          {obj: minutely("sometimes").Policy("Sometimes").New(), runs: ticks},
		"CJ-160 a negative limit keeps nothing":          {obj: minutely("negative").History(-1, -1).New(), runs: ticks},
	}
	for _, c := range cases {
		w.plane.Implant(t, cronJobs, c.obj)
	}
	witness := w.createCronJob(minutely("witness"))
	for tick := range ticks {
		w.pass(1)
		w.runs(witness, tick+1, tick+1)
		for _, c := range cases {
			if c.runs > 0 {
				w.runs(w.cronJob(t.Context(), c.obj.Name), tick+1, tick+1)
			}
		}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			cj := w.cronJob(t.Context(), c.obj.Name)
			w.warned(cj.UID, c.want...)
			w.runs(cj, c.runs, c.runs)
			tries := len(seen.in(w.namespace, func(w write) bool {
				return w.verb == "create" && w.resource == "jobs" && w.name == "" // its name is not known when it is refused
			}))
			if most := 2 * ticks * retries(5*time.Millisecond, 1000*time.Second, time.Since(begun)); tries > most {
				t.Errorf("%d tries to create two invalid Jobs, want at most %d", tries, most)
			}
		})
	}
}

// Volcano's own webhook refuses long names and zones in schedules, always (CJ-152, CJ-157, CJ-164). Where it is not
// installed, or was not when the object was made, such CronJobs run, with a Warning about the zone.
func TestVolcanoWithoutItsWebhook(t *testing.T) {
	k := volcano.Kind{}
	info := k.Info()
	install(t, definitions(t, k))
	w := newWorld(t, manager.Options{Controllers: []string{manager.CronJob}, Kinds: kind.All, Discovery: 50 * time.Millisecond})
	dyn := dynamic.NewForConfigOrDie(w.plane.Config())
	owners, children := dyn.Resource(info.OwnerResource).Namespace(w.namespace), dyn.Resource(info.ChildResource).Namespace(w.namespace)
	cases := map[string]struct {
		name, schedule string
		want           []string
	}{
		"CJ-152 a name of 60":           {name: strings.Repeat("a", 60), schedule: "* * * * *"},
		"CJ-157 a zone in the schedule": {name: "zone", schedule: "TZ=UTC * * * * *", want: []string{"UnsupportedSchedule"}},
		"CJ-164 both":                   {name: strings.Repeat("b", 60), schedule: "TZ=UTC * * * * *", want: []string{"UnsupportedSchedule"}},
	}
	stored := map[string]*unstructured.Unstructured{}
	for _, c := range cases {
		w.eventually("the API is served", func(ctx context.Context) (err error) {
			stored[c.name], err = owners.Create(ctx, customCronJob(k, w.namespace, c.name, c.schedule), metav1.CreateOptions{})
			return err
		})
	}
	w.pass(1)
	due := w.clock.Now().Truncate(time.Minute)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			w.eventually("the run", func(ctx context.Context) error {
				child, err := children.Get(ctx, childName(k, c.name, due), metav1.GetOptions{})
				if err == nil && !metav1.IsControlledBy(child, stored[c.name]) {
					err = errors.New("it belongs to another one")
				}
				return err
			})
			w.warned(stored[c.name].GetUID(), c.want...)
		})
	}
}

// An object that no Go type takes, stored under an older CRD or past all checks, is told about and harms nobody: others
// of its kind, in all namespaces, run on, whether it was there before us or comes while we run. What one server stored
// so another one mends as any other mistake.
func TestObjectsThatCannotBeRead(t *testing.T) {
	for _, k := range customKinds() {
		info := k.Info()
		t.Run(info.ShortName, func(t *testing.T) {
			install(t, definitions(t, k))
			p := plane.Start(t)
			w := &world{T: t, plane: p, client: p.Client(), namespace: p.Namespace(t), clock: clocktesting.NewFakeClock(time.Now())}
			dyn := dynamic.NewForConfigOrDie(p.Config())
			owners, children := dyn.Resource(info.OwnerResource).Namespace(w.namespace), dyn.Resource(info.ChildResource).Namespace(w.namespace)
			bad := func(name string) (uid types.UID) {
				obj := customCronJob(k, w.namespace, name, "* * * * *")
				labels := map[string]any{"app": "a", "tier": int64(5)}
				if err := unstructured.SetNestedMap(obj.Object, labels, "spec", info.TemplateField, "metadata", "labels"); err != nil {
					t.Fatal(err)
				}
				return p.Implant(t, info.OwnerResource.GroupResource(), obj)
			}
			var good *unstructured.Unstructured
			w.eventually("the API is served", func(ctx context.Context) (err error) {
				good, err = owners.Create(ctx, customCronJob(k, w.namespace, "good", "* * * * *"), metav1.CreateOptions{})
				return err
			})
			before := bad("before")
			if info.Child.Group != batchv1.GroupName {
				job := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": info.Child.GroupVersion().String(), "kind": info.Child.Kind, "status": "done",
					"metadata": map[string]any{"namespace": w.namespace, "name": "odd"},
				}}
				p.Implant(t, info.ChildResource.GroupResource(), job)
			}
			w.run(manager.Options{Config: p.Config(), Controllers: []string{manager.CronJob}, Kinds: kind.All, Discovery: 50 * time.Millisecond, Clock: w.clock, Zone: time.UTC})
			run := func() {
				t.Helper()
				w.pass(1)
				due := w.clock.Now().Truncate(time.Minute)
				w.eventually("the run", func(ctx context.Context) error {
					child, err := children.Get(ctx, childName(k, "good", due), metav1.GetOptions{})
					if err == nil && !metav1.IsControlledBy(child, good) {
						err = errors.New("it belongs to another one")
					}
					return err
				})
			}
			run()
			during := bad("during")
			run()
			for name, uid := range map[string]types.UID{"before": before, "during": during} {
				w.warned(uid, "Unreadable")
				events, err := w.client.CoreV1().Events(w.namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(uid)})
				if err != nil || len(events.Items) != 1 || events.Items[0].Count > 1 {
					t.Fatalf("%d events about %s, want one: %v", len(events.Items), name, err)
				}
				for _, part := range []string{"spec." + info.TemplateField + ".metadata.labels.tier is the number 5, and must be a string", "kubectl edit " + info.Name + " " + name} {
					if !strings.Contains(events.Items[0].Message, part) {
						t.Errorf("no %q in %q", part, events.Items[0].Message)
					}
				}
			}

			mend := []byte(`{"spec":{"` + info.TemplateField + `":{"metadata":{"labels":{"tier":"5"}}}}}`)
			mended, err := owners.Patch(t.Context(), "before", types.MergePatchType, mend, metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			w.eventually("a run of the one that was mended", func(ctx context.Context) error {
				w.pass(1) // an edit starts nothing for times before it
				list, err := children.List(ctx, metav1.ListOptions{})
				if err != nil {
					return err
				}
				for _, child := range list.Items {
					if metav1.IsControlledBy(&child, mended) && child.GetLabels()["tier"] == "5" {
						return nil
					}
				}
				return errors.New("none")
			})
		})
	}
}
