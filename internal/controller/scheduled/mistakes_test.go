// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What a user got wrong, or an older API server let pass, is said at once and then every half hour, with the field and
// the cure, and shown by a metric until it is mended; it costs next to no calls for hours; every other CronJob runs as
// if it were not there; and the cure takes effect at once.
func TestMistakes(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "x", field.ErrorList{
		field.Required(field.NewPath("spec", "template", "spec", "restartPolicy"), "valid values: \"OnFailure\", \"Never\"")})
	for name, c := range map[string]struct {
		kinds    string
		mistake  func(spec map[string]any)
		annotate map[string]any
		refused  error
		reason   map[rune]string
		says     []string
		warnings int // in six hours
		calls    int // at most, in six hours, beside the runs that are due
		runs     bool
		shown    string // by the metric
		cure     func(spec map[string]any)
	}{
		"CJ-028 CJ-029 a schedule that cannot be read": {
			kinds: "KVT", mistake: set("schedule", "61 * * * *"),
			reason: map[rune]string{'K': "UnparseableSchedule", 'V': "UnParseableCronJobSchedule", 'T': "UnparseableSchedule"},
			says:   []string{".spec.schedule", `"61 * * * *"`, "Correct it"}, warnings: 13, shown: "invalid_schedule", cure: set("schedule", "*/10 * * * *"),
		},
		"CJ-030 a zone and no schedule": {
			kinds: "KVT", mistake: set("schedule", "TZ=UTC"),
			reason: map[rune]string{'K': "UnparseableSchedule", 'V': "UnParseableCronJobSchedule", 'T': "UnparseableSchedule"},
			says:   []string{".spec.schedule", `"TZ=UTC"`}, warnings: 13, shown: "invalid_schedule", cure: set("schedule", "*/10 * * * *"),
		},
		"CJ-026 CJ-027 CJ-132 a date that does not exist": {
			kinds: "KVT", mistake: set("schedule", "0 0 30 2 *"),
			reason: map[rune]string{'K': "InvalidSchedule", 'V': "InvalidSchedule", 'T': "InvalidSchedule"},
			says:   []string{".spec.schedule", `"0 0 30 2 *"`, "Correct"}, warnings: 13, shown: "invalid_schedule", cure: set("schedule", "*/10 * * * *"),
		},
		"CJ-031 CJ-032 a zone that does not exist": {
			kinds: "KV", mistake: set("timeZone", "Mars/Olympus"),
			reason: map[rune]string{'K': "UnknownTimeZone", 'V': "InvalidTimeZone"},
			says:   []string{".spec.timeZone", `"Mars/Olympus"`, "Europe/Rome"}, warnings: 13, shown: "invalid_time_zone", cure: set("timeZone", "UTC"),
		},
		"an annotation full of garbage": {
			kinds: "KVT", annotate: map[string]any{"carillon.dev/timetable": strings.Repeat("{\"schedules\":[", 1000), "carillon.dev/conditions": "\x00maybe"},
			reason: map[rune]string{'K': "InvalidAnnotation", 'V': "InvalidAnnotation", 'T': "InvalidAnnotation"},
			says:   []string{"carillon.dev/timetable", "Remove it"}, warnings: 1, runs: true, cure: set("suspend", false),
		},
		"a template that the API refuses": {
			kinds: "KVT", refused: invalid,
			reason: map[rune]string{'K': "FailedCreate", 'V': "FailedCreate", 'T': "FailedCreate"},
			says:   []string{"spec.template.spec.restartPolicy", "Correct .spec.jobTemplate"}, warnings: 36, calls: 120, shown: "invalid_template",
			cure: func(map[string]any) {},
		},
		"a template that is no Job": {
			kinds:   "T",
			mistake: set("jobTemplate", map[string]any{"spec": map[string]any{"template": map[string]any{}, "parallelism": "many"}}),
			reason:  map[rune]string{'T': "FailedCreate"},
			says:    []string{"spec.jobTemplate.spec", "parallelism", "Correct .spec.jobTemplate"}, warnings: 36, shown: "invalid_template",
			calls: 36, // a retry that comes late looks at the live CronJob first
			cure:  set("jobTemplate", map[string]any{"spec": map[string]any{"template": map[string]any{}, "parallelism": int64(2)}}),
		},
	} {
		for _, letter := range c.kinds {
			t.Run(string(letter)+" "+name, func(t *testing.T) {
				a, refused := serve(t, string(letter)), c.refused
				a.refuse = func(child map[string]any) error {
					if strings.HasPrefix(child["metadata"].(map[string]any)["name"].(string), "tick-") {
						return refused
					}
					return nil
				}
				broken := a.cronJob("tick", c.mistake)
				for k, v := range c.annotate {
					broken["metadata"].(map[string]any)["annotations"].(map[string]any)[k] = v
				}
				a.put(broken)
				a.put(a.cronJob("other", nil))
				a.until("18:09:59")

				if n := a.calls["create other"]; n != 36 {
					t.Errorf("the other CronJob has started %d runs in six hours, want 36", n)
				}
				reasons, messages := a.events("tick")
				warnings := 0
				for i, reason := range reasons {
					if reason != c.reason[letter] {
						continue
					}
					warnings++
					for _, part := range c.says {
						if !strings.Contains(messages[i], part) {
							t.Errorf("%q does not mention %s", messages[i], part)
						}
					}
				}
				if warnings != c.warnings {
					t.Errorf("%d of %v are %s, want %d", warnings, reasons, c.reason[letter], c.warnings)
				}
				if shown := read(t, "carillon_cronjob_misconfigured"); len(shown) != 0 && c.shown == "" || c.shown != "" && shown[a.info.Name+"/tick/batch/"+c.shown].GetGauge().GetValue() != 1 || len(shown) > 1 {
					t.Errorf("the metric shows %v, want %q alone", slices.Collect(maps.Keys(shown)), c.shown)
				}
				if others, _ := a.events("other"); slices.Contains(others, c.reason[letter]) {
					t.Errorf("events of the other CronJob: %v", others)
				}
				calls := 0
				for call, n := range a.calls {
					if strings.HasSuffix(call, " tick") {
						calls += n
					}
				}
				if c.runs {
					if n := a.calls["create tick"]; n != 36 {
						t.Errorf("%d runs in six hours, want 36: %v", n, a.calls)
					}
				} else if calls > c.calls {
					t.Errorf("%d calls in six hours, want at most %d: %v", calls, c.calls, a.calls)
				}

				before := len(a.jobsOf("tick"))
				refused = nil
				a.edit("tick", func(_, spec map[string]any) { c.cure(spec) })
				a.until("18:10:01")
				if n := len(a.jobsOf("tick")); n <= before {
					t.Errorf("after the cure %d runs, before it %d", n, before)
				}
				if shown := read(t, "carillon_cronjob_misconfigured"); len(shown) != 0 {
					t.Errorf("after the cure the metric shows %v", slices.Collect(maps.Keys(shown)))
				}
			})
		}
	}
}

// set changes one field of a spec.
func set(key string, value any) func(spec map[string]any) {
	return func(spec map[string]any) { spec[key] = value }
}

// jobsOf are the names of a CronJob's children.
func (a *api) jobsOf(name string) []string {
	var names []string
	for child := range a.jobs {
		if strings.HasPrefix(child, name+"-") {
			names = append(names, child)
		}
	}
	slices.Sort(names)
	return names
}
