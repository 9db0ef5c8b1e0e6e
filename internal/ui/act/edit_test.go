// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clienttesting "k8s.io/client-go/testing"

	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

func formatted(v any) string { return fmt.Sprint(v) }

var area = regexp.MustCompile(`(?s)<textarea[^>]* name="yaml"[^>]*>\n(.*?)</textarea>`)

// editForm is what the page of an edit sends, with other values in some inputs.
func editForm(t *testing.T, body string, pairs ...string) url.Values {
	t.Helper()
	values := form(body, pairs...)
	found := area.FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("there is no YAML in\n%s", body)
	}
	if !values.Has("yaml") {
		values.Set("yaml", strings.ReplaceAll(html.UnescapeString(found[1]), "\n", "\r\n"))
	}
	return values
}

func TestPreview(t *testing.T) {
	tests := map[string]struct {
		manifest string
		change   []string
		want     []string
	}{
		"another hour": {cronJob(""), []string{"schedule", "30 2 * * *", "timeZone", "Europe/Berlin"}, []string{
			"As it is It runs at minute 0 of every hour", "As it will be It runs at 02:30 every day", "No time that has passed starts.",
			"Next times as it is (Etc/UTC)", "As it will be (Europe/Berlin)", "Tue 02:30", "- schedule: 0 * * * *", "+ schedule: 30 2 * * *", "Save"}},
		"a time that clocks skip":         {cronJob(""), []string{"schedule", "30 2 * * *", "timeZone", "Europe/Berlin"}, []string{"2027-03-28"}},
		"two days":                        {cronJob(""), []string{"schedule", "0 9 13 * FRI"}, []string{"on day 13 of the month OR on Fridays", "not only where both hold"}},
		"never":                           {cronJob(""), []string{"schedule", "0 0 30 2 *"}, []string{"names no date that exists"}},
		"nothing":                         {cronJob(""), []string{"schedule", "0 * * * *"}, []string{"Nothing: it is what there is already.", "!Save"}},
		"policy alone":                    {cronJob(""), []string{"concurrencyPolicy", "Forbid"}, []string{"Its next times stay what they are.", "+ concurrencyPolicy: Forbid", "What it mends"}},
		"the timing of what is suspended": {cronJob("  suspend: true"), []string{"schedule", "0 5 * * *"}, []string{"Next times as it is (Etc/UTC)", "13:00 (suspended)", "Tue 05:00 (suspended)", "!stay what they are"}},
		"until an instant":                {timetable("  suspendUntil: \"2026-11-05T00:00:00Z\""), []string{"schedules.0", "0 9 * * *"}, []string{"Thu 01:00", "Thu 10:00", "!(suspended)", "!Tue"}},
		"suspended":                       {cronJob(""), []string{"suspend", "true"}, []string{"It is suspended: nothing starts."}},
		"resumed":                         {cronJob("  suspend: true\nstatus: {lastScheduleTime: \"2026-11-02T10:00:00Z\"}"), []string{"suspend", ""}, []string{"The time of 12:00, which has passed, starts at once."}},
		"a limit taken out":               {cronJob("  failedJobsHistoryLimit: 5"), []string{"failedJobsHistoryLimit", ""}, []string{"- failedJobsHistoryLimit: 5"}},
		"a Timetable":                     {timetable(""), []string{"schedules.0", "0 9 * * MON", "retry.limit", "2", "catchUp.policy", "All"}, []string{"cron: 0 9 * * MON", "+ retry:", "+ limit: 2", "policy: All"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := site(t, uitest.World{Manifests: test.manifest})
			kind, object := "CronJob", "backup"
			if strings.Contains(test.manifest, "kind: Timetable") {
				kind, object = "Timetable", "load"
			}
			target := page.ActURL("edit", "", kind, "default", object)
			code, body := uitest.Post(t, s, target, editForm(t, answerOf(t, s, target), append(test.change, "do", "preview")...))
			if code != http.StatusOK {
				t.Fatal(code, text(body))
			}
			wants(t, body, test.want...)
			if o := live(t, s, kind, object); o.GetResourceVersion() != "7" || formatted(o.Object["spec"]) != formatted(live(t, site(t, uitest.World{Manifests: test.manifest}), kind, object).Object["spec"]) {
				t.Error("a look has changed the object")
			}
		})
	}
}

func TestSave(t *testing.T) {
	var sent []byte
	s := site(t, uitest.World{Manifests: cronJob("  failedJobsHistoryLimit: 5"), Refuses: func(a clienttesting.Action) error {
		if p, ok := a.(clienttesting.PatchActionImpl); ok && len(p.PatchOptions.DryRun) == 0 {
			sent = p.GetPatch()
			if p.PatchOptions.FieldManager != "carillon-ui" {
				t.Error(p.PatchOptions.FieldManager)
			}
		}
		return nil
	}})
	target := page.ActURL("edit", "batch/v1", "CronJob", "default", "backup")
	_, body := uitest.Post(t, s, target, editForm(t, answerOf(t, s, target), "schedule", "30 2 * * *", "failedJobsHistoryLimit", "", "do", "preview"))
	if code, to := uitest.Post(t, s, target, editForm(t, body, "do", "save")); code != http.StatusSeeOther {
		t.Fatal(code, text(to))
	}
	spec := live(t, s, "CronJob", "backup").Object["spec"].(map[string]any)
	if _, limited := spec["failedJobsHistoryLimit"]; limited || spec["schedule"] != "30 2 * * *" || spec["timeZone"] != "Etc/UTC" {
		t.Errorf("%v", spec)
	}
	if want := `{"metadata":{"resourceVersion":"7","uid":"c1"},"spec":{"failedJobsHistoryLimit":null,"schedule":"30 2 * * *"}}`; string(sent) != want {
		t.Errorf("got %s\nwant %s", sent, want)
	}
}

// What was typed stays, whatever is wrong with it, and the fault stands at its field.
func TestEditFaults(t *testing.T) {
	refuse := func(a clienttesting.Action) error {
		if a.GetVerb() != "patch" {
			return nil
		}
		return apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "CronJob"}, "backup", field.ErrorList{
			field.Invalid(field.NewPath("spec", "timeZone"), "Europe/Rome", "a policy wants UTC"), field.Invalid(field.NewPath("spec", "timeZone"), "Europe/Rome", "a policy wants UTC"), field.Required(field.NewPath("spec", "jobTemplate", "x"), "is needed")})
	}
	tests := map[string]struct {
		world  uitest.World
		change []string
		want   []string
		typed  string
	}{
		"no number":    {uitest.World{}, []string{"failedJobsHistoryLimit", "many"}, []string{`"many" is no whole number.`}, `value="many"`},
		"the server":   {uitest.World{Refuses: refuse}, []string{"timeZone", "Europe/Rome"}, []string{"a policy wants UTC", "!a policy wants UTC. Invalid", "spec.jobTemplate.x: Required value: is needed."}, `value="Europe/Rome"`},
		"broken YAML":  {uitest.World{}, []string{"mode", "yaml", "yaml", "spec: ["}, []string{"This YAML cannot be read"}, "spec: ["},
		"another name": {uitest.World{}, []string{"mode", "yaml", "yaml", "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: other}\nspec: {}"}, []string{"It must stay backup"}, "name: other"},
		"another kind": {uitest.World{}, []string{"mode", "yaml", "yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: backup}"}, []string{"It must stay a CronJob of batch/v1"}, "kind: Secret"},
		"nothing left": {uitest.World{}, []string{"mode", "yaml", "yaml", ""}, []string{"there is nothing left of it"}, ""},
		"no right":     {uitest.World{Forbidden: []string{"patch cronjobs"}}, []string{"schedule", "5 * * * *"}, []string{"You are not allowed to patch cronjobs.batch", "5 * * * *"}, `value="5 * * * *"`},
		"a server's fall": {uitest.World{Refuses: func(a clienttesting.Action) error {
			if a.GetVerb() == "patch" {
				return apierrors.NewBadRequest("no")
			}
			return nil
		}}, []string{"schedule", "5 * * * *"}, []string{"The API server refuses it: no."}, `value="5 * * * *"`},
	}
	for name, test := range tests {
		for _, do := range []string{"preview", "save"} {
			t.Run(name+", "+do, func(t *testing.T) {
				test.world.Manifests = cronJob("")
				s := site(t, test.world)
				target := page.ActURL("edit", "batch/v1", "CronJob", "default", "backup")
				code, body := uitest.Post(t, s, target, editForm(t, answerOf(t, s, target), append(test.change, "do", do)...))
				if code != http.StatusUnprocessableEntity {
					t.Error(code)
				}
				for i, want := range test.want {
					test.want[i] = strings.Replace(want, "there is", "There is", 1)
				}
				wants(t, body, test.want...)
				if !strings.Contains(html.UnescapeString(body), test.typed) {
					t.Errorf("%s is lost in\n%s", test.typed, body)
				}
			})
		}
	}
}

// Between the fields and the YAML nothing is lost.
func TestEditBothWays(t *testing.T) {
	s := site(t, uitest.World{Manifests: cronJob("")})
	target := page.ActURL("edit", "batch/v1", "CronJob", "default", "backup")
	_, body := uitest.Post(t, s, target, editForm(t, answerOf(t, s, target), "schedule", "7 * * * *", "do", "yaml"))
	if !strings.Contains(html.UnescapeString(body), "schedule: 7 * * * *") || !strings.Contains(body, `name="mode" value="yaml"`) {
		t.Fatal(body)
	}
	typed := editForm(t, body, "do", "form")
	typed.Set("yaml", strings.Replace(typed.Get("yaml"), "value: full", "value: short", 1))
	_, body = uitest.Post(t, s, target, typed)
	if !strings.Contains(body, `name="schedule" type="text" value="7 * * * *"`) {
		t.Fatal(body)
	}
	if code, to := uitest.Post(t, s, target, editForm(t, body, "timeZone", "Europe/Rome", "do", "save")); code != http.StatusSeeOther {
		t.Fatal(code, text(to))
	}
	if got := formatted(live(t, s, "CronJob", "backup").Object["spec"]); !strings.Contains(got, "7 * * * *") || !strings.Contains(got, "value:short") || !strings.Contains(got, "Europe/Rome") {
		t.Error(got)
	}
}

func TestEditConflict(t *testing.T) {
	s := site(t, uitest.World{Manifests: cronJob("")})
	target := page.ActURL("edit", "batch/v1", "CronJob", "default", "backup")
	typed := editForm(t, answerOf(t, s, target), "schedule", "7 * * * *", "do", "save")
	typed.Set("version", "other")
	code, body := uitest.Post(t, s, target, typed)
	if code != http.StatusUnprocessableEntity || !strings.Contains(body, `value="7 * * * *"`) {
		t.Error(code)
	}
	wants(t, body, "It has changed since you began. Nothing was saved.", "+ schedule: 7 * * * *")
	if code, to := uitest.Post(t, s, target, editForm(t, body, "do", "save")); code != http.StatusSeeOther {
		t.Error(code, text(to))
	}
	conflict := site(t, uitest.World{Manifests: cronJob(""), Refuses: func(a clienttesting.Action) error {
		if a.GetVerb() == "patch" {
			return apierrors.NewConflict(schema.GroupResource{Resource: "cronjobs"}, "backup", errors.New("the object has been modified"))
		}
		return nil
	}})
	code, body = uitest.Post(t, conflict, target, editForm(t, answerOf(t, conflict, target), "schedule", "7 * * * *", "do", "save"))
	if code != http.StatusUnprocessableEntity || !strings.Contains(body, `value="7 * * * *"`) {
		t.Error(code)
	}
	if _, changed, _ := unstructured.NestedString(live(t, conflict, "CronJob", "backup").Object, "spec", "timezone"); changed {
		t.Error("it was saved")
	}
}
