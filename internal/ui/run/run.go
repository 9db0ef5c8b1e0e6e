// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package run is the page of one run, and of what it wrote.
//
//   - run.go        which run is meant, and the page of it
//   - live.go       … if no journal knows it yet
//   - known.go      what is known of it, and where that is asked for
//   - neighbours.go the runs of its schedule before and after it
//   - facts.go      when it was due, began and ended, and what it used
//   - again.go     whether its scheduled time is tried again, by its Timetable or by hand
//   - stopping.go  that it is being stopped
//   - ending.go     how it ended, and why, in plain words
//   - attempts.go   its attempts, why each was tried again, and which one's output is shown
//   - objects.go    its live object, Pods and events
//   - page.go       all of it as the template takes it
//   - query.go      what the address of the output asks for
//   - log.go        the output, some lines or what was found in it
//   - gone.go       why there is none, or not all
//   - tabs.go       whose output it is
//   - download.go   the output as a file
//   - stream.go     new lines, as they are written
//   - events.go     how they are sent
//   - follow.go     where they come from
//   - output/       lines of logs
package run

import (
	"context"
	"embed"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html run.css run.js
var files embed.FS

var (
	_       = page.AddAssets(files, "run.css", "run.js")
	runPage = page.Parse(files, "run.html", "output.html", "objects.html")
)

// Register puts it on the site.
func Register(s *page.Site) {
	h := &handlers{site: s, follow: followerOf(s), streams: make(chan struct{}, mostStreams)}
	s.Handle("GET /run/{namespace}/{name}", h.show)
	s.Handle("GET /run/{namespace}/{name}/log", h.download)
	s.Handle("GET /run/{namespace}/{name}/log/events", h.stream)
}

// handlers answer for runs.
type handlers struct {
	site   *page.Site
	follow follower
	// streams bounds how many viewers follow outputs at once.
	streams chan struct{}
}

func (h *handlers) show(w http.ResponseWriter, r *http.Request) error {
	asked, err := readQuery(r.URL.Query())
	if err != nil {
		return err
	}
	found, err := h.find(r)
	if err != nil {
		return err
	}
	k, err := h.gather(r.Context(), found, r.URL.Query().Get("pods"))
	if err != nil {
		return err
	}
	// A page that is read again as something has changed keeps the output that it has, which grows by itself.
	again := r.Header.Get("HX-Request") != ""
	view, err := h.view(r.Context(), k, asked, page.ZoneOf(r), again)
	if err != nil {
		return err
	}
	return h.site.Render(w, r, runPage, view)
}

// mostSameName is how many runs of one name are told of.
const mostSameName = 20

// found is the run that is meant, and others of its name, newest first.
type found struct {
	run    run.Run
	others []run.Run
}

// find finds the run that an address names.
func (h *handlers) find(r *http.Request) (*found, error) {
	return h.findRun(r.Context(), r.PathValue("namespace"), r.PathValue("name"), types.UID(r.URL.Query().Get("uid")))
}

// findRun finds a run by its UID, or else the newest one of its name.
func (h *handlers) findRun(ctx context.Context, namespace, name string, uid types.UID) (*found, error) {
	all, err := h.site.Source.Runs(ctx, journal.Query{Namespace: namespace, Name: name, UID: uid, Limit: mostSameName})
	if err != nil {
		return nil, err
	}
	if len(all) > 0 {
		return &found{all[0], all[1:]}, nil
	}
	live, err := h.live(ctx, namespace, name, uid)
	if live != nil || err != nil {
		return live, err
	}
	f := page.NotFound("No run %s is known in the namespace %s.", name, namespace)
	f.Cure = "Runs are looked up in " + h.site.Source.Origin(ctx) + ". What is older is not known any more."
	if uid != "" {
		f.Message = "No run " + name + " with this UID is known in the namespace " + namespace + "."
	}
	return nil, f
}

// absent tells whether an error says that there is no such object.
func absent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }
