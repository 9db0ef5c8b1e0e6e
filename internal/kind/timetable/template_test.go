// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/testkit/vectors"
)

// failer is a test, or one of many tries of a property.
type failer interface {
	Helper()
	Fatal(...any)
}

// specOf reads the spec of a Timetable.
func specOf(t failer, text string) v1alpha1.TimetableSpec {
	t.Helper()
	var spec v1alpha1.TimetableSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

// A child is what the template says, with our name, labels, annotations and owner reference (TT-014, TT-015, TT-017).
func TestBuild(t *testing.T) {
	rome, err := time.LoadLocation("Europe/Rome")
	if err != nil {
		t.Fatal(err)
	}
	scheduled := timetable.Run{ScheduledTime: at("2026-05-04T12:10:00Z"), Attempt: 1, Trigger: v1alpha1.TriggerSchedule}
	for sentence, c := range map[string]struct {
		spec  string
		start timetable.Start
		want  string
	}{
		"a Job (TT-014)": {
			"template: {spec: {backoffLimit: 1}}",
			timetable.Start{Run: scheduled, Schedules: []string{"main"}},
			`{apiVersion: batch/v1, kind: Job, spec: {backoffLimit: 1}, metadata: {name: tick-20260504-121000, namespace: ops,
				labels: {carillon.dev/timetable-name: tick, carillon.dev/timetable-uid: u1, carillon.dev/trigger: schedule, carillon.dev/schedule: main},
				annotations: {carillon.dev/scheduled-time: "2026-05-04T12:10:00Z", carillon.dev/attempt: "1"},
				ownerReferences: [{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, name: tick, uid: u1, controller: true, blockOwnerDeletion: true}]}}`,
		},
		"in Rome, caught up, the second attempt (TT-015, TT-017)": {
			"template: {spec: {}}",
			timetable.Start{Run: timetable.Run{ScheduledTime: at("2026-05-04T12:10:00Z"), Attempt: 2, Trigger: v1alpha1.TriggerCatchUp}, Schedules: []string{"main"}, Zone: rome},
			`{apiVersion: batch/v1, kind: Job, spec: {}, metadata: {name: tick-20260504-121000-r2, namespace: ops,
				labels: {carillon.dev/timetable-name: tick, carillon.dev/timetable-uid: u1, carillon.dev/trigger: catch-up, carillon.dev/schedule: main},
				annotations: {carillon.dev/scheduled-time: "2026-05-04T14:10:00+02:00", carillon.dev/attempt: "2"},
				ownerReferences: [{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, name: tick, uid: u1, controller: true, blockOwnerDeletion: true}]}}`,
		},
		"of any kind, with variables and metadata; ours win": {
			`{parameters: [{name: region, default: west}],
			  template: {apiVersion: velero.io/v1, kind: Backup, metadata: {labels: {team: "$(carillon.parameters.region)", carillon.dev/trigger: x},
			    annotations: {note: "$(carillon.schedules), $$(carillon.run)", carillon.dev/attempt: "9"}},
			  spec: {ttl: 720h, n: 1, x: 1.5, since: "$(carillon.lastSuccessScheduledTime)", of: "$(carillon.run) $(carillon.attempt) $(carillon.trigger)",
			    from: "$(carillon.previousTime.utc)", to: "$(carillon.nextTime.date)", in: "$(carillon.namespace)/$(carillon.timetable)"}}}`,
			timetable.Start{Run: timetable.Run{ScheduledTime: at("2026-05-04T12:10:00Z"), Attempt: 2, Trigger: v1alpha1.TriggerCatchUp}, Schedules: []string{"daily", "weekly"}, Zone: rome,
				PreviousTime: at("2026-05-04T11:10:00Z"), NextTime: at("2026-05-04T23:10:00Z"), LastSuccessScheduledTime: at("2026-05-04T12:10:00Z")},
			`{apiVersion: velero.io/v1, kind: Backup, spec: {ttl: 720h, n: 1, x: 1.5, since: "2026-05-04T14:10:00+02:00", of: tick-20260504-121000 2 CatchUp,
			    from: "2026-05-04T11:10:00Z", to: "2026-05-05", in: ops/tick},
			  metadata: {name: tick-20260504-121000-r2, namespace: ops,
				labels: {team: west, carillon.dev/timetable-name: tick, carillon.dev/timetable-uid: u1, carillon.dev/trigger: catch-up, carillon.dev/schedule: daily},
				annotations: {note: "daily,weekly, $(carillon.run)", carillon.dev/scheduled-time: "2026-05-04T14:10:00+02:00", carillon.dev/attempt: "2"},
				ownerReferences: [{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, name: tick, uid: u1, controller: true, blockOwnerDeletion: true}]}}`,
		},
	} {
		tt := tick()
		tt.Spec = specOf(t, c.spec)
		before := tt.DeepCopy()
		if diff := cmp.Diff(vectors.Decode(t, c.want), built(t, tt, c.start).Object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
		if diff := cmp.Diff(before, tt); diff != "" {
			t.Errorf("%s: the Timetable was changed:\n%s", sentence, diff)
		}
	}
}

// The timeout of a Job is the smaller of spec.timeout and its own (TT-138, TT-139); other kinds have none.
func TestTimeout(t *testing.T) {
	for spec, want := range map[string]any{
		`{timeout: 5m, template: {spec: {}}}`:                                                   int64(300),
		`{timeout: 5m, template: {spec: {activeDeadlineSeconds: 60}}}`:                          int64(60),
		`{timeout: 5m, template: {spec: {activeDeadlineSeconds: 900}}}`:                         int64(300),
		`{timeout: 5m, template: {spec: {activeDeadlineSeconds: 300}}}`:                         int64(300),
		`{timeout: 5m, template: {spec: {activeDeadlineSeconds: null}}}`:                        int64(300),
		`{timeout: 5m, template: {spec: {activeDeadlineSeconds: soon}}}`:                        "soon", // the server says what is wrong
		`{template: {spec: {activeDeadlineSeconds: 900}}}`:                                      int64(900),
		`{template: {spec: {}}}`:                                                                nil,
		`{timeout: 5m, template: {apiVersion: tekton.dev/v1, kind: PipelineRun, spec: {}}}`:     nil,
		`{timeout: 5m, template: {apiVersion: batch.volcano.sh/v1alpha1, kind: Job, spec: {}}}`: nil,
	} {
		tt := tick()
		tt.Spec = specOf(t, spec)
		got := built(t, tt, noon).Object["spec"].(map[string]any)["activeDeadlineSeconds"]
		if got != want {
			t.Errorf("%s: %v, want %v", spec, got, want)
		}
	}
}

// A time to live below ten minutes draws a Warning.
func TestShortTTL(t *testing.T) {
	for spec, want := range map[string]int64{
		`template: {spec: {ttlSecondsAfterFinished: 0}}`:                           0,
		`template: {spec: {ttlSecondsAfterFinished: 599}}`:                         599,
		`template: {kind: JobSet, spec: {ttlSecondsAfterFinished: 60}}`:            60,
		`template: {spec: {ttlSecondsAfterFinished: 600}}`:                         -1,
		`template: {spec: {}}`:                                                     -1,
		`template: {spec: {ttlSecondsAfterFinished: soon}}`:                        -1,
		`template: {spec: {template: {spec: {ttlSecondsAfterFinished: 0}}}}`:       -1,
		`template: {metadata: {labels: {ttlSecondsAfterFinished: "0"}}, spec: {}}`: -1,
	} {
		read := specOf(t, spec)
		template, obstacle := timetable.ReadTemplate(&read)
		if obstacle != nil {
			t.Fatal(obstacle)
		}
		seconds, short := template.ShortTTL()
		if !short {
			seconds = -1
		}
		if seconds != want {
			t.Errorf("%s: %d, want %d", spec, seconds, want)
		}
	}
}

// What is wrong with a template is told when it is read, not at three in the morning.
func TestObstacles(t *testing.T) {
	large := func(bytes int) string { return strings.Repeat("x", bytes) }
	for sentence, c := range map[string]struct {
		spec   string
		reason timetable.Reason
		says   string
	}{
		"an unknown variable": {`template: {spec: {a: ["$(carillon.nope)"]}}`, timetable.InvalidTemplate, "spec.template.spec.a[0]: unknown variable nope; there are "},
		"an unknown form (VV-74)": {`{template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, args: ["$(carillon.scheduledTime.week)"]}]}}}}}`,
			timetable.InvalidTemplate, "spec.template.spec.template.spec.containers[0].args[0]: unknown variable scheduledTime.week; there is scheduledTime alone"},
		"in a label": {`template: {metadata: {labels: {example.com/team: "$(carillon.team)"}}, spec: {}}`,
			timetable.InvalidTemplate, `spec.template.metadata.labels["example.com/team"]: unknown variable team`},
		"in an annotation":              {`template: {metadata: {annotations: {a: "$(carillon.team)"}}, spec: {}}`, timetable.InvalidTemplate, "spec.template.metadata.annotations.a: unknown"},
		"a parameter that there is not": {`{parameters: [{name: a, default: x}], template: {spec: {x: "$(carillon.parameters.b)"}}}`, timetable.InvalidTemplate, "spec.parameters declares a"},
		"an unfit default":              {`{parameters: [{name: a, default: "x y"}], template: {spec: {}}}`, timetable.InvalidParameter, `parameter a: the default "x y"`},
		"no template":                   {`template: {}`, timetable.InvalidTemplate, "spec.template.spec must be an object"},
		"a template of null":            {`template: {spec: null}`, timetable.InvalidTemplate, "spec.template.spec must be an object"},
		"a template that is a list":     {`template: {spec: []}`, timetable.InvalidTemplate, "spec.template.spec must be an object"},
		"a large one": {`template: {spec: {a: ` + large(256<<10) + `}}`, timetable.InvalidTemplate,
			"spec.template has 262161 bytes of JSON, and may have 262144: put what is large into a ConfigMap or the image"},
		"a large annotation": {`template: {metadata: {annotations: {a: ` + large(256<<10) + `}}, spec: {}}`, timetable.InvalidTemplate, "and may have 262144"},
		"a timeout of days":  {`{timeout: 1d, template: {spec: {}}}`, timetable.InvalidTemplate, "timeout: "},
	} {
		spec := specOf(t, c.spec)
		template, obstacle := timetable.ReadTemplate(&spec)
		if template != nil || obstacle == nil || obstacle.Reason != c.reason || !strings.Contains(obstacle.Message, c.says) {
			t.Errorf("%s: %+v", sentence, obstacle)
		}
	}
	spec := specOf(t, `template: {spec: {a: `+large(256<<10-len(`{"spec":{"a":""}}`))+`}}`)
	if _, obstacle := timetable.ReadTemplate(&spec); obstacle != nil {
		t.Errorf("as large as may be: %v", obstacle)
	}
}

// A child of more than 1 MiB is not made.
func TestChildTooLarge(t *testing.T) {
	names := make([]string, 16)
	for i := range names {
		names[i] = strings.Repeat("s", 32)
	}
	for sentence, spec := range map[string]string{
		"by its spec":        `template: {spec: {a: "` + strings.Repeat("$(carillon.schedules)", 2000) + `"}}`,
		"by its annotations": `template: {metadata: {annotations: {a: "` + strings.Repeat("$(carillon.schedules)", 2000) + `"}}, spec: {}}`,
		"by both": `template: {metadata: {annotations: {a: "` + strings.Repeat("$(carillon.schedules)", 1000) + `"}}, spec: {a: "` +
			strings.Repeat("$(carillon.schedules)", 1000) + `"}}`,
	} {
		tt := tick()
		tt.Spec = specOf(t, spec)
		template, obstacle := timetable.ReadTemplate(&tt.Spec)
		if obstacle != nil {
			t.Fatal(obstacle)
		}
		start := noon
		start.Schedules = names
		child, obstacle := template.Build(tt, start)
		if child != nil || obstacle == nil || obstacle.Reason != timetable.InvalidTemplate || !strings.Contains(obstacle.Message, "and may make one of 1048576") {
			t.Errorf("%s: %+v", sentence, obstacle)
		}
		if data, err := json.Marshal(built(t, tt, noon)); err != nil || len(data) > 1<<20 {
			t.Errorf("%s: %d bytes, %v", sentence, len(data), err)
		}
	}
}

// A fingerprint tells one template from another, and does not ask in which order its keys stand.
func TestFingerprint(t *testing.T) {
	fingerprint := func(text string) string {
		spec := specOf(t, text)
		template, obstacle := timetable.ReadTemplate(&spec)
		if obstacle != nil {
			t.Fatal(obstacle)
		}
		return template.Fingerprint()
	}
	base := fingerprint(`template: {spec: {a: 1, b: "2"}}`)
	if len(base) != 16 || strings.Trim(base, "0123456789abcdef") != "" {
		t.Errorf("%s", base)
	}
	if base != "7c20596123e25bea" {
		t.Errorf("%s: a fingerprint is stored in the status, so the same template must have it in the next version, too", base)
	}
	for _, same := range []string{`template: {spec: {b: "2", a: 1}}`, `template: {apiVersion: batch/v1, kind: Job, spec: {a: 1, b: "2"}}`,
		`{template: {spec: {a: 1, b: "2"}}, suspend: true, jitter: 5m}`} {
		if got := fingerprint(same); got != base {
			t.Errorf("%s: %s", same, got)
		}
	}
	seen := map[string]string{base: "base"}
	for _, other := range []string{`template: {spec: {a: 1, b: 2}}`, `template: {spec: {a: 1}}`, `template: {kind: Jobs, spec: {a: 1, b: "2"}}`,
		`template: {apiVersion: batch/v2, spec: {a: 1, b: "2"}}`, `template: {metadata: {labels: {a: b}}, spec: {a: 1, b: "2"}}`,
		`template: {metadata: {annotations: {a: b}}, spec: {a: 1, b: "2"}}`, `{timeout: 1m, template: {spec: {a: 1, b: "2"}}}`,
		`{parameters: [{name: a, default: x}], template: {spec: {a: 1, b: "2"}}}`, `{parameters: [{name: a, default: y}], template: {spec: {a: 1, b: "2"}}}`} {
		if got := fingerprint(other); seen[got] != "" {
			t.Errorf("%s has the fingerprint of %s", other, seen[got])
		} else {
			seen[got] = other
		}
	}
}

// Whatever the template holds, the child's spec is the same with its variables replaced, and what is ours is ours.
func TestBuildKeepsTheTemplate(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "x", "$(HOME)", "é\n\"", "carillon.dev/x"})
	rapid.Check(t, func(t *rapid.T) {
		spec := map[string]any{}
		for key, value := range rapid.MapOfN(text, text, 0, 4).Draw(t, "spec") {
			spec[key] = []any{value, int64(1), 1.5, nil, true, map[string]any{"v": value}}
		}
		data, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		tt := tick()
		tt.Spec.Template.Spec = runtime.RawExtension{Raw: data}
		tt.Spec.Template.Metadata.Labels = map[string]v1alpha1.LabelValue{}
		for key, value := range rapid.MapOfN(text, text, 0, 4).Draw(t, "labels") {
			tt.Spec.Template.Metadata.Labels[key] = v1alpha1.LabelValue(value)
		}
		template, obstacle := timetable.ReadTemplate(&tt.Spec)
		if obstacle != nil {
			t.Fatal(obstacle)
		}
		child, obstacle := template.Build(tt, noon)
		if obstacle != nil {
			t.Fatal(obstacle)
		}
		var want map[string]any
		if err := utiljson.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, child.Object["spec"]); diff != "" {
			t.Fatal(diff)
		}
		labels := child.GetLabels()
		for key, value := range tt.Spec.Template.Metadata.Labels {
			if labels[key] != string(value) {
				t.Fatalf("label %q: %q", key, labels[key])
			}
		}
		if len(labels) != len(tt.Spec.Template.Metadata.Labels)+4 || len(child.GetAnnotations()) != 2 {
			t.Fatalf("%v, %v", labels, child.GetAnnotations())
		}
		if _, proves := timetable.Proves(tt, child); !proves {
			t.Fatal("it proves nothing")
		}
	})
}

// FuzzReadTemplate: no spec makes it panic, and what it takes it can build.
func FuzzReadTemplate(f *testing.F) {
	f.Add(`{"a":"$(carillon.run)"}`, "x", "mode", "^a*$", "aa", "5m")
	f.Add(`[]`, "$(carillon.parameters.mode)", "mode", "(", "", "1d")
	f.Fuzz(func(t *testing.T, raw, label, name, pattern, value, timeout string) {
		tt := tick()
		tt.Spec.Template.Spec.Raw = []byte(raw)
		tt.Spec.Template.Metadata.Labels = map[string]v1alpha1.LabelValue{"x": v1alpha1.LabelValue(label)}
		tt.Spec.Parameters = []v1alpha1.Parameter{{Name: name, Default: value, Pattern: pattern}}
		tt.Spec.Timeout = new(v1alpha1.Duration(timeout))
		template, obstacle := timetable.ReadTemplate(&tt.Spec)
		if obstacle != nil {
			if obstacle.Reason == "" || obstacle.Message == "" {
				t.Errorf("%+v", obstacle)
			}
			return
		}
		if child, obstacle := template.Build(tt, noon); obstacle == nil {
			if _, proves := timetable.Proves(tt, child); !proves {
				t.Errorf("%v proves nothing", child)
			}
		}
	})
}

func BenchmarkReadTemplate(b *testing.B) {
	tt := tick()
	b.ReportAllocs()
	for b.Loop() {
		if _, obstacle := timetable.ReadTemplate(&tt.Spec); obstacle != nil {
			b.Fatal(obstacle)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for name, spec := range map[string]string{
		"plain":     `template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: [date]}]}}}}`,
		"variables": `template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, args: ["$(carillon.scheduledTime)", "$(carillon.previousTime)"]}]}}}}`,
	} {
		b.Run(name, func(b *testing.B) {
			tt := tick()
			tt.Spec = specOf(b, spec)
			template, obstacle := timetable.ReadTemplate(&tt.Spec)
			if obstacle != nil {
				b.Fatal(obstacle)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, obstacle := template.Build(tt, noon); obstacle != nil {
					b.Fatal(obstacle)
				}
			}
		})
	}
}
