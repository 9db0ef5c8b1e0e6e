// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package uitest is a site of known objects and runs, for tests of pages.
//
//   - uitest.go     Site, of a World; asking it for pages
//   - says.go       what a page says, and does not say
//   - panicking.go  a source with a fault
//   - memory.go     what is known of its objects and runs: a lookup.Source and a page.Cache
//   - server.go     what its API server answers: rights, preconditions, dry runs
//   - journal.go    its runs as a journal alone has them
package uitest

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// Now is when tests look, unless their World says otherwise: Monday, 2 November 2026, 11:00 UTC.
var Now = time.Date(2026, 11, 2, 11, 0, 0, 0, time.UTC)

// World is all that there is.
type World struct {
	// Manifests are the objects of the API server, as YAML.
	Manifests string
	Runs      []run.Run
	Omissions []run.Omission
	// Attempts are all; Logs are what they wrote, in the format of CRI, by ContainerID.
	Attempts []run.Attempt
	Logs     map[string]string
	Usual    map[types.UID]journal.Usual
	// Now is when the test looks; zero is Now of this package.
	Now      time.Time
	ReadOnly bool
	// Fails, if not nil, is what every answer about runs is.
	Fails error
	// AttemptsFail and LogFails, if not nil, are what answers about attempts and their outputs are.
	AttemptsFail, LogFails error
	// StatusFails, if not nil, is all that can be said of what goes on.
	StatusFails error
	// Notes are what is said to be not known.
	Notes []string
	// Unread is what cannot be seen.
	Unread status.Unread
	// Forbidden is what the viewer may not do at the API server: "delete cronjobs".
	Forbidden []string
	// Stopped, if not "", is the data directory of the Carillon that is looked at, which does not run: its journal has
	// Runs and Omissions, and no API server answers.
	Stopped string
	// Refuses, if not nil, is asked about each request to the API server, and gives the error that it answers with.
	Refuses func(clienttesting.Action) error
}

// Site gives a site of it, on which register puts pages.
func Site(t testing.TB, w World, register ...func(*page.Site)) *page.Site {
	t.Helper()
	if w.Now.IsZero() {
		w.Now = Now
	}
	var objects []workload.Object
	var stored []runtime.Object
	mapper := meta.NewDefaultRESTMapper(nil)
	lists := map[schema.GroupVersionResource]string{}
	serve := func(group, version, kind, resource string) {
		gvr := schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
		mapper.AddSpecific(gvr.GroupVersion().WithKind(kind), gvr, gvr.GroupVersion().WithResource(strings.ToLower(kind)), meta.RESTScopeNamespace)
		lists[gvr] = kind + "List"
	}
	serve("batch", "v1", "CronJob", "cronjobs")
	serve("batch", "v1", "Job", "jobs")
	serve("batch.carillon.dev", "v1alpha1", "Timetable", "timetables")
	serve("batch.carillon.dev", "v1alpha1", "Calendar", "calendars")
	serve("batch.volcano.sh", "v1alpha1", "CronJob", "cronjobs")
	serve("batch.volcano.sh", "v1alpha1", "Job", "jobs")
	serve("", "v1", "Pod", "pods")
	serve("", "v1", "Event", "events")
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(w.Manifests), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if len(o.Object) == 0 {
			continue
		}
		if o.GetNamespace() == "" {
			o.SetNamespace("default")
		}
		objects = append(objects, workload.Object{Content: o})
		stored = append(stored, o.DeepCopy())
	}
	all, err := workload.Read(objects, workload.Options{KeepUnreadable: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, scheduled := range all.Scheduled {
		scheduled.Slim()
	}
	slices.SortFunc(all.Scheduled, func(a, b *workload.Scheduled) int {
		return cmp.Or(strings.Compare(a.Owner.Namespace, b.Owner.Namespace), strings.Compare(a.Owner.Name, b.Owner.Name),
			strings.Compare(a.Kind.Info().Owner.Kind, b.Kind.Info().Owner.Kind))
	})
	slices.SortFunc(w.Runs, lookup.NewestFirst)
	known := &memory{world: w, schedules: all.Scheduled}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, stored...)
	answerAs(client, &w)
	s := page.New(&page.Site{
		Name: "this machine", Kubectl: "carillon kubectl", Source: known, Cache: known, ReadOnly: w.ReadOnly,
		Server: &cluster.Server{Namespace: "default", Mapper: mapper, Client: client},
		Clock:  func() time.Time { return w.Now }, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Life: t.Context(),
	})
	if w.Stopped != "" {
		known.schedules = nil
		s.Server, s.Source = nil, lookup.NewJournal(remembered{known}, "the journal of the Carillon on "+w.Stopped, w.Stopped)
	}
	t.Cleanup(s.Beside.Wait) // t's context has ended then
	for _, r := range register {
		r(s)
	}
	return s
}

// Get asks for a page as a viewer in Berlin does, and gives its code and its text.
func Get(t testing.TB, h http.Handler, target string) (code int, body string) {
	t.Helper()
	return Do(t, h, httptest.NewRequest(http.MethodGet, target, nil))
}

// Post sends a form.
func Post(t testing.TB, h http.Handler, target string, form url.Values) (code int, body string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return Do(t, h, r)
}

// Do sends a request. The body of a redirection is where it leads.
func Do(t testing.TB, h http.Handler, r *http.Request) (code int, body string) {
	t.Helper()
	r.AddCookie(&http.Cookie{Name: "carillon-zone", Value: "Europe%2FBerlin"})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if to := w.Header().Get("Location"); to != "" {
		return w.Code, to
	}
	return w.Code, w.Body.String()
}
