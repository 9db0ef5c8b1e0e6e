// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/task"
	"github.com/carillon-dev/carillon/internal/ui/guard"
)

//go:embed *.html
var layouts embed.FS

// shared are the layout and what pages have in common.
var shared = template.Must(template.New("layout.html").Funcs(functions).ParseFS(layouts, "*.html"))

// Parse gives the template of a page: its files, one of which defines "content", with the layout around it. It panics
// if they cannot be parsed: they are part of the program.
func Parse(files fs.FS, patterns ...string) *template.Template {
	return template.Must(template.Must(shared.Clone()).ParseFS(files, patterns...))
}

// ParseWith is Parse with functions that only this page's templates have.
func ParseWith(own template.FuncMap, files fs.FS, patterns ...string) *template.Template {
	return template.Must(template.Must(shared.Clone()).Funcs(own).ParseFS(files, patterns...))
}

// Fault is an error for the viewer.
type Fault struct {
	// Code is the status code of HTTP.
	Code int
	// Title says in a few words what is wrong, Message in sentences, Cure what to do about it; "" if nothing helps.
	Title, Message, Cure string
	// Back leads to what it is about; "" if that is not known.
	Back string
	// Links lead to what the viewer may have meant; none if nothing is known.
	Links []Crumb
}

// Error implements error.
func (f *Fault) Error() string { return f.Title + ": " + f.Message }

// NotFound says that something is not there.
func NotFound(format string, args ...any) *Fault {
	return &Fault{Code: http.StatusNotFound, Title: "Not found", Message: fmt.Sprintf(format, args...)}
}

// BadInput says that what the viewer has sent is at fault.
func BadInput(format string, args ...any) *Fault {
	return &Fault{Code: http.StatusBadRequest, Title: "That does not work", Message: fmt.Sprintf(format, args...)}
}

// Handler answers a request, or gives an error, of which it has written nothing.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Handle registers a handler for a pattern of http.ServeMux, such as "GET /timeline".
func (s *Site) Handle(pattern string, h Handler) {
	s.patterns = append(s.patterns, pattern)
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		err := s.confine(r)
		if err == nil {
			err = h(w, r)
		}
		if err != nil {
			s.Fail(w, r, err)
		}
	})
}

// Render answers with a page. t is one that Parse gave.
func (s *Site) Render(w http.ResponseWriter, r *http.Request, t *template.Template, v View) error {
	return s.render(w, r, http.StatusOK, t, v)
}

// RenderStatus answers with a page and a status code of HTTP.
func (s *Site) RenderStatus(w http.ResponseWriter, r *http.Request, code int, t *template.Template, v View) error {
	return s.render(w, r, code, t, v)
}

// RenderInvalid answers with a form whose input is at fault.
func (s *Site) RenderInvalid(w http.ResponseWriter, r *http.Request, t *template.Template, v View) error {
	return s.render(w, r, http.StatusUnprocessableEntity, t, v)
}

func (s *Site) render(w http.ResponseWriter, r *http.Request, code int, t *template.Template, v View) error {
	s.fill(&v, r)
	v.Notice = takeNotice(w, r)
	// Nothing is sent before all of it is there: half a page would say that all is well.
	var out bytes.Buffer
	if err := t.ExecuteTemplate(&out, "layout.html", &v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write(visible(out.Bytes())) // a viewer who has gone sees nothing
	return nil
}

// fill fills in what all pages know.
func (s *Site) fill(v *View, r *http.Request) {
	v.Site, v.Now, v.Zone, v.Theme = s, s.Clock(), ZoneOf(r), themeOf(r)
	v.URL = r.URL.RequestURI()
	v.CSRF = guard.SessionOf(r.Context()).CSRF
}

var faultPage = Parse(layouts, "fault.html")

// Fail answers with an error as a page.
func (s *Site) Fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the viewer has gone
	}
	f := faultOf(err)
	if _, panicked := errors.AsType[*task.PanicError](err); f.Code >= http.StatusInternalServerError && !panicked && s.logged.isNew(err.Error(), s.Clock()) {
		s.Log.Error("the page cannot be shown", "path", r.URL.Path, "error", err)
	}
	if err := s.render(w, r, f.Code, faultPage, View{Title: f.Title, Data: f}); err != nil {
		s.Log.Error("a fault cannot be shown", "path", r.URL.Path, "error", err)
		http.Error(w, f.Error(), f.Code)
	}
}

// faultOf puts an error into words for the viewer.
func faultOf(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	switch {
	case apierrors.IsForbidden(err):
		return &Fault{http.StatusForbidden, "Not allowed", "The API server refuses it: " + err.Error() + ".",
			"Ask who administers the cluster for the right, or use credentials that have it (carillon ui --context).", "", nil}
	case apierrors.IsUnauthorized(err):
		return &Fault{http.StatusForbidden, "Not allowed", "The API server does not know the credentials that this page was started with: " + err.Error() + ".",
			"Start carillon ui again with credentials that are valid.", "", nil}
	case apierrors.IsNotFound(err):
		return &Fault{http.StatusNotFound, "Not found", err.Error() + ".", "", "", nil}
	case apierrors.IsConflict(err):
		return &Fault{http.StatusConflict, "Changed meanwhile", "Somebody else has changed it: " + err.Error() + ".", "Look at it again, and repeat.", "", nil}
	case apierrors.IsAlreadyExists(err):
		return &Fault{http.StatusConflict, "There already", err.Error() + ".", "", "", nil}
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return &Fault{http.StatusUnprocessableEntity, "Refused", err.Error() + ".", "", "", nil}
	case errors.Is(err, cluster.ErrNotRunning):
		return &Fault{http.StatusServiceUnavailable, "Carillon does not run", err.Error(), "", "", nil}
	case apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err):
		return &Fault{http.StatusServiceUnavailable, "The API server is busy", err.Error() + ".", "Load the page again in a while.", "", nil}
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return &Fault{http.StatusGatewayTimeout, "No answer in time", err.Error() + ".", "Load the page again.", "", nil}
	}
	return &Fault{http.StatusInternalServerError, "This could not be read", err.Error() + ".", "Load the page again. If it stays so, the log of Carillon says more.", "", nil}
}
