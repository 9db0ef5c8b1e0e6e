// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package act is what a user can do: each act has a page that says what will happen, to what, and what will not, before
// it does it with the rights of the user.
//
//   - act.go        the acts, and how each is asked about and done
//   - subject.go    the object that an act is about, as the API server has it now
//   - waiting.go    what of a schedule waits: retries, and times that have come
//   - version.go    changing an object, unless it has changed since the viewer saw it
//   - rights.go     whether the user may
//   - applier.go    who else writes the object and would set a change back
//   - confirm.go    what a confirmation says
//   - suspend.go, resume.go, remove.go, stop.go  the acts that only ask
//   - runnow.go, retry.go, values.go  starting a run, with values of its own
//   - edit.go, field.go, field_cronjob.go, field_timetable.go, preview.go  changing a schedule
package act

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html *.css
var files embed.FS

var (
	confirmPage = page.Parse(files, "confirm.html", "input.html")
	editPage    = page.Parse(files, "edit.html", "input.html")
	_           = page.AddAssets(files, "act.css")
)

// manager is who the API server is told has changed an object.
const manager = "carillon-ui"

// act is something that can be done to an object.
type act struct {
	// ask says what would happen. do does it, and says what was done and where to look at it.
	ask func(ctx context.Context, r *request) (*confirmation, error)
	do  func(ctx context.Context, r *request) (done, error)
}

// done is what an act has done, in a sentence, and where to look at it.
type done struct{ notice, to string }

// request is one viewer's wish to act on one object.
type request struct {
	site *page.Site
	*subject
	// form is what was sent; empty when the viewer only asks.
	form url.Values
	now  time.Time
	// zone is that of the viewer.
	zone *time.Location
}

// short writes a time as all pages do.
func (r *request) short(t time.Time) string { return shortTime(t, r.now, r.zone) }

func shortTime(t, now time.Time, zone *time.Location) string {
	return (&page.View{Now: now, Zone: zone}).Short(t, zone)
}

var acts = map[string]act{
	"run-now": {askRunNow, doRunNow},
	"retry":   {askRetry, doRetry},
	"suspend": {askSuspend, doSuspend},
	"resume":  {askResume, doResume},
	"stop":    {askStop, doStop},
	"delete":  {askDelete, doDelete},
}

// Register puts it on the site. Where nothing can be changed each act says so.
func Register(s *page.Site) {
	if s.ReadOnly || s.Server == nil {
		s.Handle("GET /act/{act}", func(_ http.ResponseWriter, r *http.Request) error { return closed(s, r) })
		return
	}
	s.Handle("GET /act/{act}", func(w http.ResponseWriter, r *http.Request) error { return serve(s, w, r, false) })
	s.Handle("POST /act/{act}", func(w http.ResponseWriter, r *http.Request) error { return serve(s, w, r, true) })
}

// closed says why nothing can be changed.
func closed(s *page.Site, r *http.Request) error {
	f := &page.Fault{Code: http.StatusForbidden, Title: "Nothing can be changed here", Message: "This page is read-only: nothing can be changed here.",
		Cure: "Whoever started it can start it without --read-only."}
	if !s.ReadOnly {
		f.Code, f.Message, f.Cure = http.StatusServiceUnavailable, "There is no API server here: what is shown is what the journal has, and nothing can be changed.", "Start Carillon, and load the page again."
	}
	q := r.URL.Query()
	word, namespace, name := q.Get("kind"), q.Get("namespace"), q.Get("name")
	found, schedules := kinds(word, q.Get("group"))
	switch {
	case namespace == "" || name == "":
	case schedules && len(found) > 0:
		f.Back = page.ScheduleURL(found[0].GroupVersion().String(), found[0].Kind, namespace, name)
	case len(found) > 0:
		f.Back = page.RunURL(&run.Run{Namespace: namespace, Name: name})
	}
	return f
}

// maxForm is how large a form may be: that of an object with a ConfigMap's worth of script in it fits.
const maxForm = 4 << 20

func serve(s *page.Site, w http.ResponseWriter, r *http.Request, sent bool) error {
	name := r.PathValue("act")
	a, known := acts[name]
	if !known && name != "edit" {
		return page.NotFound("There is no act %q. There are run-now, retry, suspend, resume, stop, delete and edit.", name)
	}
	if sent {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			return page.BadInput("The form cannot be read: %v.", err)
		}
	}
	subject, err := find(r.Context(), s, r.URL.Query())
	if gone, ok := errors.AsType[*page.Fault](err); ok && sent && (name == "delete" || name == "stop") && gone.Code == http.StatusNotFound {
		page.Done(w, r, "/", "It is not there any more: somebody has deleted it, or this form was sent twice.")
		return nil
	}
	if err != nil {
		return err
	}
	q := &request{site: s, subject: subject, form: r.PostForm, now: s.Clock(), zone: page.ZoneOf(r)}
	if name == "edit" {
		return serveEdit(w, r, q)
	}
	view := func(c *confirmation) page.View {
		c.Version, c.Subject = subject.version(), q.subject.named()
		return page.View{Title: c.Title, Section: page.Schedules, Crumbs: subject.crumbs(), Styles: []string{"act.css"}, Data: c}
	}
	if !sent {
		c, err := a.ask(r.Context(), q)
		if err != nil {
			return err
		}
		return s.Render(w, r, confirmPage, view(c))
	}
	result, err := a.do(r.Context(), q)
	if err == nil {
		page.Done(w, r, result.to, result.notice)
		return nil
	}
	fault, shown := refusal(err)
	if !shown {
		return err
	}
	c, failed := a.ask(r.Context(), q) // of what there is now
	if failed != nil {
		return errors.Join(err, failed)
	}
	c.Fault = fault
	return s.RenderInvalid(w, r, confirmPage, view(c))
}

// errInput is that of a form whose fields say what is wrong.
var errInput = errors.New("a field is at fault")

// refusal puts an error into a sentence above the form, where the viewer can mend it or decide anew; false for one that
// has a page of its own.
func refusal(err error) (string, bool) {
	switch {
	case errors.Is(err, errInput):
		return "This cannot be done yet: a field below is at fault.", true
	case errors.Is(err, errChanged), apierrors.IsConflict(err):
		return "It has changed since you looked. Nothing was done. What will happen now is below: look at it again, and decide anew.", true
	case apierrors.IsForbidden(err):
		return "The API server refuses it: " + err.Error() + ". Nothing was done.", true
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsAlreadyExists(err), apierrors.IsMethodNotSupported(err):
		return "The API server refuses it: " + reasonOf(err) + ". Nothing was done.", true
	}
	return "", false
}
