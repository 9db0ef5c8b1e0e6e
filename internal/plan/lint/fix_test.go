// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/lint"
)

const fixed = "jobs.yaml"

// mend fixes a text as often as anything is mended.
func mend(t testing.TB, name, text string, options lint.Options) string {
	t.Helper()
	for range 5 {
		report := check(t, name, text, options)
		if len(report.FixFiles()) == 0 {
			return text
		}
		after, mended := lint.Fix(report, name)
		if len(mended) == 0 {
			return text
		}
		text = after
	}
	t.Fatal("fixes do not come to an end")
	return ""
}

func TestFix(t *testing.T) {
	const pod = `
      template:
        spec:
          restartPolicy: Never
          containers:
          - {name: c, image: "busybox:1.36"}
`
	tests := map[string]struct{ before, after string }{
		"a time zone in a schedule, with comments": {
			before: "# the backup\napiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: a # short\nspec:\n  # at night\n  schedule: 'TZ=Europe/Rome 30 2 * * *'   # nobody works\n  suspend: false\n  jobTemplate:\n    spec:" + pod,
			after:  "# the backup\napiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: a # short\nspec:\n  # at night\n  schedule: '30 2 * * *'   # nobody works\n  timeZone: Europe/Rome\n  suspend: false\n  jobTemplate:\n    spec:" + pod,
		},
		"an old API, on lines that end as on Windows": {
			before: strings.ReplaceAll("apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: CRON_TZ=Asia/Tokyo 5 * * * *\n  jobTemplate:\n    spec:"+pod, "\n", "\r\n"),
			after:  strings.ReplaceAll("apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: 5 * * * *\n  timeZone: Asia/Tokyo\n  jobTemplate:\n    spec:"+pod, "\n", "\r\n"),
		},
		"a policy that is missing, before a list": {
			before: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      containers: [{name: c, image: b}]\n",
			after:  "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers: [{name: c, image: b}]\n",
		},
		"a policy that is missing, in braces": {
			before: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: c, image: b}]}}}",
			after:  "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: b}]}}}",
		},
		"JSON": {
			before: `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "é"}, "spec": {"template": {"spec": {"serviceAccount": "é", "containers": [{"name": "c", "image": "b"}]}}}}`,
			after:  `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "é"}, "spec": {"template": {"spec": {"serviceAccountName": "é", "restartPolicy": "Never", "containers": [{"name": "c", "image": "b"}]}}}}`,
		},
		"only what needs it of several documents": {
			before: "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {restartPolicy: Always, containers: [{name: c, image: b}]}}}\n---\n# the end\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}",
			after:  "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: b}]}}}\n---\n# the end\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}",
		},
		"an item of a List": {
			before: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: batch/v1\n  kind: Job\n  metadata: {name: a}\n  spec:\n    template:\n      spec:\n        serviceAccountName: x # who\n        containers: [{name: c, image: b}]\n",
			after:  "apiVersion: v1\nkind: List\nitems:\n- apiVersion: batch/v1\n  kind: Job\n  metadata: {name: a}\n  spec:\n    template:\n      spec:\n        serviceAccountName: x # who\n        restartPolicy: Never\n        containers: [{name: c, image: b}]\n",
		},
		"not what an anchor shares": {
			before: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  template:\n    spec: &pod\n      containers: [{name: c, image: b}]\n",
			after:  "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  template:\n    spec: &pod\n      containers: [{name: c, image: b}]\n",
		},
		"@every of a Timetable": {
			before: "apiVersion: batch.carillon.dev/v1alpha1\nkind: Timetable\nmetadata: {name: a}\nspec:\n  schedules:\n  - cron: \"@every 90m\"\n  template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: b}]}}}}\n",
			after:  "apiVersion: batch.carillon.dev/v1alpha1\nkind: Timetable\nmetadata: {name: a}\nspec:\n  schedules:\n  - every: \"90m\"\n  template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: b}]}}}}\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := mend(t, fixed, test.before, lint.Options{}); got != test.after {
				t.Errorf("got\n%s\nwant\n%s\n%s", got, test.after, lint.Diff(fixed, test.after, got))
			}
		})
	}
}

// Whatever is mended in the corpus, nothing mendable is left, and a second time changes nothing.
func TestFixCorpus(t *testing.T) {
	for name, text := range corpus(t) {
		options := lint.Options{Zone: "Europe/Berlin"}
		after := mend(t, name, text, options)
		for _, f := range check(t, name, after, options).Findings {
			if len(f.Changes) > 0 {
				t.Errorf("%s:%d: %s is left: %s", name, f.Line, f.Rule.ID, f.Message)
			}
		}
		if again := mend(t, name, after, options); again != after {
			t.Errorf("%s changes a second time", name)
		}
		if lines := strings.Count(after, "#"); lines != strings.Count(text, "#") {
			t.Errorf("%s has lost comments", name)
		}
	}
}

// A fix of any of these texts mends what it says, takes nothing else away, and is done after once.
func TestFixProperties(t *testing.T) {
	tb := t
	rapid.Check(t, func(t *rapid.T) {
		quote := rapid.SampledFrom([]string{"", `"`, "'"}).Draw(t, "quote")
		comment := rapid.SampledFrom([]string{"", " # why: {not, this}", "\t# ö"}).Draw(t, "comment")
		indent := strings.Repeat(" ", rapid.IntRange(1, 5).Draw(t, "indent"))
		zone := rapid.SampledFrom([]string{"", "TZ=Europe/Paris ", "CRON_TZ=Asia/Kolkata  "}).Draw(t, "zone")
		newline := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")
		policy := rapid.SampledFrom([]string{"", "restartPolicy: Always", "restartPolicy: Never", "serviceAccount: x"}).Draw(t, "policy")
		failed := rapid.SampledFrom([]string{"", "failedJobsHistoryLimit: 0", "failedJobsHistoryLimit: 0x0", "failedJobsHistoryLimit: 2"}).Draw(t, "failed")
		lines := []string{
			"apiVersion: " + rapid.SampledFrom([]string{"batch/v1", "batch/v1beta1"}).Draw(t, "version"), "kind: CronJob", "metadata:", indent + "name: äb",
			"spec:", indent + "schedule: " + quote + zone + "7 3 * * *" + quote + comment,
		}
		if failed != "" {
			lines = append(lines, indent+failed)
		}
		lines = append(lines, indent+"jobTemplate:", indent+indent+"spec:", strings.Repeat(indent, 3)+"template:", strings.Repeat(indent, 4)+"spec:")
		if policy != "" {
			lines = append(lines, strings.Repeat(indent, 5)+policy+comment)
		}
		lines = append(lines, strings.Repeat(indent, 5)+"containers: [{name: c, image: b}]", "")
		text := strings.ReplaceAll(strings.Join(lines, newline), "äb", "ab")
		after := mend(tb, fixed, text, lint.Options{Zone: "Etc/UTC"})
		report := check(tb, fixed, after, lint.Options{Zone: "Etc/UTC"})
		if left := report.FixFiles(); len(left) > 0 {
			t.Fatalf("something is left to mend in\n%s", after)
		}
		before := map[string]bool{}
		for _, f := range check(tb, fixed, text, lint.Options{}).Findings {
			before[f.Rule.ID] = true
		}
		for _, f := range report.Findings {
			if !before[f.Rule.ID] && f.Rule.Level > lint.Info && f.Rule.ID != "clock-change" {
				t.Fatalf("the fix brought %s (%s) to\n%s\nwhich is now\n%s", f.Rule.ID, f.Message, text, after)
			}
		}
		if strings.Count(after, "#") != strings.Count(text, "#") || strings.Count(after, "\r") != strings.Count(after, "\n") && newline == "\r\n" {
			t.Fatalf("comments or line ends were lost:\n%q", after)
		}
	})
}

// A fix that is not there for everybody is the zone, which somebody must name.
func TestFixZone(t *testing.T) {
	const text = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: 30 2 * * *\n  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: b}]}}}}\n"
	if got := mend(t, fixed, text, lint.Options{}); got != text {
		t.Errorf("a zone was made up: %s", got)
	}
	if got := mend(t, fixed, text, lint.Options{Zone: "Etc/UTC"}); !strings.Contains(got, "  schedule: 30 2 * * *\n  timeZone: Etc/UTC\n") {
		t.Errorf("got %s", got)
	}
}

func TestDiff(t *testing.T) {
	tests := map[string]struct{ before, after, want string }{
		"nothing":        {"a\n", "a\n", ""},
		"a line":         {"a\nb\nc\n", "a\nB\nc\n", "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		"two far away":   {"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "0\n2\n3\n4\n5\n6\n7\n8\n9\n11\n", "--- f\n+++ f\n@@ -1,4 +1,4 @@\n-1\n+0\n 2\n 3\n 4\n@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-10\n+11\n"},
		"one is added":   {"a\n", "a\nb\n", "--- f\n+++ f\n@@ -1,1 +1,2 @@\n a\n+b\n"},
		"no end of line": {"a", "b", "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := lint.Diff("f", test.before, test.after); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// What a diff takes away and adds makes the other text of the one.
func TestDiffProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a", "b", "c", ""})
		before := strings.Join(rapid.SliceOfN(line, 0, 20).Draw(t, "before"), "\n")
		after := strings.Join(rapid.SliceOfN(line, 0, 20).Draw(t, "after"), "\n")
		kept := map[string]int{}
		for l := range strings.Lines(before) {
			kept[strings.TrimSuffix(l, "\n")]++
		}
		body := strings.SplitN(lint.Diff("f", before, after), "\n", 3)
		if before == after {
			return
		}
		for l := range strings.Lines(body[2]) {
			switch l[0] {
			case '-':
				kept[strings.TrimSuffix(l[1:], "\n")]--
			case '+':
				kept[strings.TrimSuffix(l[1:], "\n")]++
			}
		}
		want := map[string]int{}
		for l := range strings.Lines(after) {
			want[strings.TrimSuffix(l, "\n")]++
		}
		maps.DeleteFunc(kept, func(_ string, n int) bool { return n == 0 })
		if !maps.Equal(kept, want) {
			t.Fatalf("%q and %q: the diff makes %v", before, after, slices.Sorted(maps.Keys(kept)))
		}
	})
}
