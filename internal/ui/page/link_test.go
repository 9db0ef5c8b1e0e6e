// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// What names hold comes out of an address as it went in, whatever it is.
func TestLinksHoldOddNames(t *testing.T) {
	for _, name := range []string{"backup", "backup.daily-1", "a b", "a/b", "a?b=c", "a#b", "a%2Fb", `"><script>`, "ä\n", "100%", "a&b=c", "a+b", "a;b"} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			mux := http.NewServeMux()
			mux.HandleFunc("GET /schedule/{kind}/{namespace}/{name}", func(_ http.ResponseWriter, r *http.Request) {
				got["schedule"] = r.PathValue("kind") + " " + r.PathValue("namespace") + " " + r.PathValue("name") + " " + r.URL.Query().Get("group")
			})
			mux.HandleFunc("GET /why/{kind}/{namespace}/{name}", func(_ http.ResponseWriter, r *http.Request) {
				got["why"] = r.PathValue("namespace") + " " + r.PathValue("name") + " " + r.URL.Query().Get("at")
			})
			mux.HandleFunc("GET /run/{namespace}/{name}", func(_ http.ResponseWriter, r *http.Request) {
				got["run"] = r.PathValue("namespace") + " " + r.PathValue("name") + " " + r.URL.Query().Get("uid")
			})
			mux.HandleFunc("GET /act/{act}", func(_ http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				got["act"] = r.PathValue("act") + " " + q.Get("kind") + " " + q.Get("namespace") + " " + q.Get("name")
			})
			for what, c := range map[string]struct{ address, where, want string }{
				"a schedule":    {page.ScheduleURL("batch/v1", "CronJob", name, name), "schedule", "cronjob " + name + " " + name + " "},
				"of a group":    {page.ScheduleURL("example.com/v1", "CronJob", name, name), "schedule", "cronjob " + name + " " + name + " example.com"},
				"a Timetable":   {page.ScheduleURL("batch.carillon.dev/v1alpha1", "Timetable", name, name), "schedule", "timetable " + name + " " + name + " "},
				"a time":        {page.WhyURL("Timetable", name, name, name), "why", name + " " + name + " " + name},
				"no time":       {page.WhyURL("Timetable", name, name, ""), "why", name + " " + name + " "},
				"a run":         {page.RunURL(&run.Run{Namespace: name, Name: name, UID: "u&1"}), "run", name + " " + name + " u&1"},
				"an act":        {page.ActURL("run-now", "batch/v1", "CronJob", name, name), "act", "run-now cronjob " + name + " " + name},
				"an odd act":    {page.ActURL(name, "batch/v1", "CronJob", name, name), "act", name + " cronjob " + name + " " + name},
				"a reference":   {page.ReferenceURL(name, "cronjob/"+name), "schedule", "cronjob " + name + " " + name + " "},
				"that of a run": {page.ReferenceURL(name, "job/"+name), "run", name + " " + name + " "},
			} {
				u, err := url.ParseRequestURI(c.address)
				if err != nil || u.Host != "" || u.Fragment != "" {
					t.Errorf("%s: %q: %v", what, c.address, err)
					continue
				}
				clear(got)
				mux.ServeHTTP(httptest.NewRecorder(), &http.Request{Method: http.MethodGet, URL: u})
				if got[c.where] != c.want {
					t.Errorf("%s: %s leads to %q, want %q", what, c.address, got, c.want)
				}
			}
		})
	}
}

func TestLinksInTemplates(t *testing.T) {
	v := &page.View{}
	r := &run.Run{Namespace: "default", Name: "backup-1", UID: "j-1", Owner: run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup"}}
	for want, got := range map[string]string{
		"/schedule/cronjob/default/backup":            v.OwnerURL(r),
		"":                                            v.OwnerURL(&run.Run{Name: "alone"}),
		"/run/default/backup-1?uid=j-1":               v.RunURL(r),
		"/schedule/timetable/default/t":               v.ReferenceURL("default", "timetable/t"),
		"/schedule/cronjob/default/t":                 v.ScheduleURL("", "CronJob", "default", "t"),
		"/act/stop?kind=job&namespace=default&name=x": v.ActURL("stop", "batch/v1", "Job", "default", "x"),
		"/act/stop?kind=job&namespace=default&name=x&group=batch.volcano.sh": v.ActURL("stop", "batch.volcano.sh/v1alpha1", "Job", "default", "x"),
		"/act/stop?kind=pod&namespace=default&name=x":                        v.ActURL("stop", "v1", "Pod", "default", "x"),
		"/why/cronjob/default/x":                                             v.WhyURL("CronJob", "default", "x", time.Time{}),
		"/why/cronjob/default/x?at=" + "2026-11-02T10%3A00%3A00Z":            v.WhyURL("CronJob", "default", "x", time.Date(2026, 11, 2, 11, 0, 0, 0, time.FixedZone("", 3600))),
		"/schedule/cronjob/default/x?group=batch.carillon.dev":               page.ScheduleURL("batch.carillon.dev/v1", "CronJob", "default", "x"),
		"/schedule/timetable/default/never%20grouped%3Fgroup=x%2Fcron":       page.ScheduleURL("x/v1", "Timetable", "default", "never grouped?group=x/cron"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSubjectOf(t *testing.T) {
	subject := func(target string) (page.Subject, error) {
		var s page.Subject
		var err error
		mux := http.NewServeMux()
		mux.HandleFunc("GET /schedule/{kind}/{namespace}/{name}", func(_ http.ResponseWriter, r *http.Request) { s, err = page.SubjectOf(r) })
		mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, target, nil))
		return s, err
	}
	for target, want := range map[string][]string{ // its page, run now, why, why at a time, Simulate
		"/schedule/cronjob/default/backup": {"/schedule/cronjob/default/backup", "/act/run-now?kind=cronjob&namespace=default&name=backup",
			"/why/cronjob/default/backup", "/why/cronjob/default/backup?at=x", "/simulate?of=cronjob%2Fdefault%2Fbackup"},
		"/schedule/timetable/a/b": {"/schedule/timetable/a/b", "/act/run-now?kind=timetable&namespace=a&name=b",
			"/why/timetable/a/b", "/why/timetable/a/b?at=x", "/simulate?of=timetable%2Fa%2Fb"},
		"/schedule/cronjob/a/b?group=batch.tutorial.kubebuilder.io": {"/schedule/cronjob/a/b?group=batch.tutorial.kubebuilder.io", "/act/run-now?kind=cronjob&namespace=a&name=b&group=batch.tutorial.kubebuilder.io",
			"/why/cronjob/a/b?group=batch.tutorial.kubebuilder.io", "/why/cronjob/a/b?at=x&group=batch.tutorial.kubebuilder.io", "/simulate?of=cronjob.batch.tutorial.kubebuilder.io%2Fa%2Fb"},
	} {
		s, err := subject(target)
		if err != nil {
			t.Errorf("%s: %v", target, err)
			continue
		}
		for i, got := range []string{s.URL(), s.ActURL("run-now"), s.WhyURL(""), s.WhyURL("x"), s.SimulateURL()} {
			if got != want[i] {
				t.Errorf("%s: %q, want %q", target, got, want[i])
			}
		}
	}
	for _, target := range []string{"/schedule/pod/a/b", "/schedule/CronJob/a/b", "/schedule/cronjob/a/b?group=x", "/schedule/%3Cscript%3E/a/b"} {
		if s, err := subject(target); err == nil {
			t.Errorf("%s is read as %+v", target, s)
		}
	}
}
