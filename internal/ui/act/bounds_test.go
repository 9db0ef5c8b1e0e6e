// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// nested is a map in a map in …
func nested(levels int) string {
	return strings.Repeat("{a: ", levels) + "1" + strings.Repeat("}", levels)
}

// What is deep or large is not written back: the answer is about as large as what was typed, which stays.
func TestEditBounds(t *testing.T) {
	for name, test := range map[string]struct{ add, want string }{
		"deep":               {"  x: " + nested(9000) + "\n", "nested more than 100 levels deep"},
		"by aliases":         {"  x: &x " + strings.Repeat("a", 50_000) + "\n  y: [" + strings.Repeat("*x, ", 5000) + "]\n", "more than 512 KiB"},
		"long":               {strings.Repeat("  # remark\n", 60_000), "512 are the most"},
		"by its indentation": {"  x: " + strings.Repeat("{a: ", 90) + "[" + strings.Repeat("{b: 1},", 5000) + "]" + strings.Repeat("}", 90) + "\n", "more than 512 KiB"},
	} {
		for _, do := range []string{"preview", "save", "form"} {
			t.Run(name+", "+do, func(t *testing.T) {
				s := site(t, uitest.World{Manifests: cronJob("")})
				target := page.ActURL("edit", "batch/v1", "CronJob", "default", "backup")
				typed := editForm(t, answerOf(t, s, target), "mode", "yaml", "do", do)
				typed.Set("yaml", typed.Get("yaml")+strings.ReplaceAll(test.add, "\n", "\r\n"))
				_, body := uitest.Post(t, s, target, typed)
				if len(body) > len(typed.Get("yaml"))+64<<10 {
					t.Fatalf("%d bytes were typed, and %d come back", len(typed.Get("yaml")), len(body))
				}
				wants(t, body, test.want)
				if !strings.Contains(html.UnescapeString(body), test.add) || !strings.Contains(body, `name="mode" value="yaml"`) {
					t.Error("what was typed is lost")
				}
			})
		}
	}
}

// An object that cannot be written here can be deleted, and it is told how it can be seen and edited.
func TestDeepObject(t *testing.T) {
	s := site(t, uitest.World{Manifests: strings.Replace(timetable(""), "restartPolicy: Never,", "restartPolicy: Never, x: "+nested(4500)+",", 1)})
	code, body := uitest.Get(t, s, page.ActURL("delete", "batch.carillon.dev/v1alpha1", "Timetable", "default", "load"))
	if code != http.StatusOK || len(body) > 64<<10 {
		t.Errorf("%d: %d bytes", code, len(body))
	}
	wants(t, body, "Delete it", "It is not shown here: it is nested more than 100 levels deep. In a terminal: carillon kubectl -n default get timetable load -o yaml")
	code, body = uitest.Get(t, s, page.ActURL("edit", "batch.carillon.dev/v1alpha1", "Timetable", "default", "load"))
	if code != http.StatusUnprocessableEntity || len(body) > 64<<10 {
		t.Errorf("%d: %d bytes", code, len(body))
	}
	wants(t, body, "cannot be edited here: it is nested more than 100 levels deep.", "carillon kubectl -n default edit timetable load")
}
