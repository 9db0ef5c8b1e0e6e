// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// Each kind of error has a code and words of its own. 500 is for what nobody has thought of.
func TestFaults(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	cause := errors.New("<script>alert(1)</script>")
	for name, c := range map[string]struct {
		err  error
		code int
		want string
	}{
		"not there":            {page.NotFound("There is no %s.", "<b>x</b>"), http.StatusNotFound, "There is no &lt;b&gt;x&lt;/b&gt;."},
		"bad input":            {page.BadInput("The page %d.", -1), http.StatusBadRequest, "The page -1."},
		"of its own":           {&page.Fault{Code: http.StatusTeapot, Title: "Tea", Message: "There is tea.", Cure: "Drink."}, http.StatusTeapot, "Drink."},
		"wrapped":              {fmt.Errorf("read: %w", page.NotFound("Gone.")), http.StatusNotFound, "Gone."},
		"forbidden":            {apierrors.NewForbidden(jobs, "x", cause), http.StatusForbidden, "Ask who administers the cluster"},
		"forbidden, wrapped":   {fmt.Errorf("list: %w", apierrors.NewForbidden(jobs, "x", cause)), http.StatusForbidden, "Not allowed"},
		"no such credentials":  {apierrors.NewUnauthorized("who are you"), http.StatusForbidden, "does not know the credentials"},
		"no such object":       {apierrors.NewNotFound(jobs, "x"), http.StatusNotFound, "&#34;x&#34; not found"},
		"conflict":             {apierrors.NewConflict(jobs, "x", cause), http.StatusConflict, "Changed meanwhile"},
		"there already":        {apierrors.NewAlreadyExists(jobs, "x"), http.StatusConflict, "already exists"},
		"invalid":              {apierrors.NewInvalid(schema.GroupKind{Kind: "Job"}, "x", nil), http.StatusUnprocessableEntity, "Refused"},
		"a bad request":        {apierrors.NewBadRequest("no"), http.StatusUnprocessableEntity, "Refused"},
		"too large":            {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), http.StatusUnprocessableEntity, "Refused"},
		"not running":          {fmt.Errorf("connect: %w", cluster.ErrNotRunning), http.StatusServiceUnavailable, "Carillon does not run"},
		"too many requests":    {apierrors.NewTooManyRequests("later", 1), http.StatusServiceUnavailable, "Load the page again in a while"},
		"API server away":      {apierrors.NewServiceUnavailable("starting"), http.StatusServiceUnavailable, "Load the page again in a while"},
		"no answer":            {context.DeadlineExceeded, http.StatusGatewayTimeout, "No answer in time"},
		"no answer of etcd":    {apierrors.NewServerTimeout(jobs, "list", 1), http.StatusGatewayTimeout, "No answer in time"},
		"no answer of a hook":  {apierrors.NewTimeoutError("hook", 1), http.StatusGatewayTimeout, "No answer in time"},
		"what nobody foresees": {cause, http.StatusInternalServerError, "&lt;script&gt;"},
	} {
		t.Run(name, func(t *testing.T) {
			s := uitest.Site(t, uitest.World{})
			s.Handle("GET /x", func(http.ResponseWriter, *http.Request) error { return c.err })
			code, body := uitest.Get(t, s, "/x")
			if code != c.code || !strings.Contains(body, c.want) {
				t.Errorf("%d, want %d; %s", code, c.code, body)
			}
			if strings.Contains(body, "<script>alert") || strings.Contains(body, "<b>") {
				t.Errorf("markup: %s", body)
			}
			if !strings.Contains(body, "<h1>") || !strings.Contains(body, `<nav aria-label="Main">`) {
				t.Errorf("no whole page: %s", body)
			}
		})
	}
}

// Who has gone is answered nothing, and a page that breaks off in its midst is a fault, not half a page.
func TestNoHalfPage(t *testing.T) {
	s := uitest.Site(t, uitest.World{})
	s.Handle("GET /gone", func(_ http.ResponseWriter, r *http.Request) error { return r.Context().Err() })
	broken := page.Parse(fstest.MapFS{"x.html": {Data: []byte(`{{define "content"}}<p>begun{{.Data.Nothing}}{{end}}`)}}, "x.html")
	s.Handle("GET /broken", func(w http.ResponseWriter, r *http.Request) error {
		return s.Render(w, r, broken, page.View{Title: "Broken", Data: struct{}{}})
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, body := uitest.Do(t, s, httptest.NewRequestWithContext(ctx, http.MethodGet, "/gone", nil)); body != "" {
		t.Errorf("%s", body)
	}
	if code, body := uitest.Get(t, s, "/broken"); code != http.StatusInternalServerError || strings.Contains(body, "<p>begun") {
		t.Errorf("%d %s", code, body)
	}
}

// A page says what it shows and is kept by nobody; what a viewer writes into its address stays text.
func TestRender(t *testing.T) {
	s := uitest.Site(t, uitest.World{ReadOnly: true})
	shown := page.Parse(fstest.MapFS{"x.html": {Data: []byte(`{{define "content"}}<p>{{count 2310 "run"}}, {{bytes 2048}}</p>{{end}}`)}}, "x.html")
	s.Handle("GET /x", func(w http.ResponseWriter, r *http.Request) error {
		return s.RenderStatus(w, r, http.StatusAccepted, shown, page.View{Title: "<i>T</i>", Section: page.Fleet, Live: true, Crumbs: []page.Crumb{{Text: "<i>", URL: "/fleet"}}})
	})
	r := httptest.NewRequest(http.MethodGet, `/x?q="><script>alert(1)</script>`, nil)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	body := w.Body.String()
	if w.Code != http.StatusAccepted || w.Header().Get("Cache-Control") != "no-store" || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	for _, want := range []string{"<title>&lt;i&gt;T&lt;/i&gt; · Carillon</title>", `<a href="/fleet" aria-current="page">Fleet</a>`, "<p>2,310 runs, 2", `data-live="/events"`, ">read only<", `<a href="/fleet">&lt;i&gt;</a>`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	if strings.Contains(body, "<script>alert") || strings.Contains(body, "<i>") {
		t.Errorf("markup: %s", body)
	}
}
