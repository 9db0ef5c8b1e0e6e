// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"errors"
	"mime"
	"net/http"
	"strings"
	"time"
)

// Bounds of what a viewer may ask for.
const (
	// MaxHeaderBytes bounds the headers of a request.
	MaxHeaderBytes = 32 << 10
	// maxForm bounds a form: the largest is the YAML of an object, of which the API server takes 1.5 MiB, and whose
	// signs a browser writes as three.
	maxForm = 5 << 20
	// maxToken bounds the form for the token.
	maxToken = 64 << 10
	// readWithin is how long a form may take to come in.
	readWithin = 30 * time.Second
	// writeWithin is how long a piece of an answer may take to be read.
	writeWithin = 30 * time.Second
	// mostStreams is how many answers that go on without end a session may have open, mostAsked how many in all.
	mostStreams = 32
	mostAsked   = 128
)

// bound makes a request end that comes in too slowly or is too large.
func bound(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readWithin)) // a writer of a test has none
	w.Header().Set("Connection", "close")                                         // what is refused is not read first
}

// readForm reads the form of a request.
func readForm(w http.ResponseWriter, r *http.Request) *refusal {
	most := int64(maxForm)
	if ownPaths[r.URL.Path] {
		most = maxToken
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); r.ContentLength != 0 && (err != nil || kind != "application/x-www-form-urlencoded") {
		return &refusal{http.StatusUnsupportedMediaType, "Not understood", "A form is sent as application/x-www-form-urlencoded.", ""}
	}
	if err := r.ParseForm(); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return &refusal{http.StatusRequestEntityTooLarge, "Too large", "What was sent is larger than a form of this page can be.", ""}
		}
		return &refusal{http.StatusBadRequest, "Not understood", "The form cannot be read.", ""}
	}
	// From here on it may take its time; and the server listens whether the viewer is still there.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	w.Header().Del("Connection")
	return nil
}

// isStream tells whether the answer goes on without end.
func isStream(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/events") || strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// enter counts a request of a session in, unless there are too many. release counts it out; until then a stream uses
// the session.
func (s *session) enter(stream bool, clock func() time.Time) (release func(), fault *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked >= mostAsked || stream && s.streams >= mostStreams {
		return nil, &refusal{http.StatusTooManyRequests, "Too much at once", "Too many answers of this session are still under way.", "Close windows of the page that are not needed."}
	}
	n := 0
	if stream {
		n = 1
	}
	s.asked++
	s.streams += n
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked--
		s.streams -= n
		if stream {
			s.used = clock()
		}
	}, nil
}

// pacedWriter gives each piece of an answer its time, so that streams and downloads may be long, and nobody holds one
// up who does not read.
type pacedWriter struct {
	http.ResponseWriter
	controller *http.ResponseController
	limit      time.Duration
	// clears: with HTTP/2 a deadline ends the stream when it passes, also when nothing is to be written.
	clears bool
	wrote  bool
}

func pace(w http.ResponseWriter, r *http.Request, limit time.Duration) *pacedWriter {
	return &pacedWriter{ResponseWriter: w, controller: http.NewResponseController(w), limit: limit, clears: r.ProtoMajor > 1}
}

// last is the deadline for what is still to be sent when a page is done: with HTTP/2 the viewer says how much he takes.
func (w *pacedWriter) last() { _ = w.controller.SetWriteDeadline(time.Now().Add(w.limit)) } // a writer of a test has none

// Unwrap is for http.ResponseController.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *pacedWriter) within(write func() error) error {
	_ = w.controller.SetWriteDeadline(time.Now().Add(w.limit)) // a writer of a test has none
	err := write()
	if w.clears {
		_ = w.controller.SetWriteDeadline(time.Time{})
	}
	return err
}

// WriteHeader implements http.ResponseWriter.
func (w *pacedWriter) WriteHeader(code int) {
	w.wrote = true
	_ = w.within(func() error { w.ResponseWriter.WriteHeader(code); return nil })
}

// Write implements http.ResponseWriter.
func (w *pacedWriter) Write(b []byte) (n int, err error) {
	w.wrote = true
	err = w.within(func() error { n, err = w.ResponseWriter.Write(b); return err })
	return n, err
}

// FlushError is for http.ResponseController.
func (w *pacedWriter) FlushError() error { return w.within(w.controller.Flush) }

// Flush implements http.Flusher.
func (w *pacedWriter) Flush() { _ = w.FlushError() } // as http.Flusher has it
