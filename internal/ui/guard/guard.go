// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guard decides who may see and change anything on the page. It stands before all pages: a request that it lets
// through is of a viewer who knew the token, was sent to an address that is served, and, if it changes anything, came
// from a form of the page itself.
//
//   - guard.go    Guard, and the order in which a request is looked at
//   - token.go    the token, and tickets that stand for it once
//   - session.go  the sessions of viewers
//   - login.go    signing in and out
//   - host.go     which addresses are served
//   - origin.go   where a request comes from
//   - header.go   what browsers are told
//   - bound.go    how much a viewer may ask for at once, and how slowly
//   - stranger.go how many connections there may be without a session
//   - peer.go     which user of the machine sends a request
package guard

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

// Options are what a Guard is made from.
type Options struct {
	// Token is what a viewer must know; see NewToken.
	Token string
	// Port is that of the listener.
	Port int
	// Hosts are the addresses that are served; see Hosts.
	Hosts Hosts
	// ReadOnly refuses what would change anything but the viewer's own settings.
	ReadOnly bool
	// Pages draws what a viewer without a session sees.
	Pages Pages
	// Clock gives the time; nil is time.Now.
	Clock func() time.Time
	// Log is told of faults of the program. It never gets an address with its query, which may hold the token.
	Log *slog.Logger

	// writeWithin is how long a piece of an answer may take to be read; 0 is the constant of that name.
	writeWithin time.Duration
}

// Pages are those that a Guard answers with by itself.
type Pages interface {
	// Login shows the form for the token.
	Login(w http.ResponseWriter, r *http.Request, code int, l Login)
	// Refuse says why a request is refused, and what helps; cure may be "".
	Refuse(w http.ResponseWriter, r *http.Request, code int, title, message, cure string)
}

// Guard stands before the pages. Its methods may be called at once.
type Guard struct {
	o        Options
	sessions *sessions
	tickets  tickets
	wrong    attempts

	connections connections
}

// New makes a Guard. Its sessions live as long as it does.
func New(o Options) *Guard {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.writeWithin == 0 {
		o.writeWithin = writeWithin
	}
	return &Guard{o: o, sessions: newSessions(o.Clock), wrong: make(attempts, mostWrong)}
}

// Wrap puts the guard before a handler.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paced := pace(w, r, g.o.writeWithin)
		defer paced.last()
		connection := connectionOf(r.Context())
		answered, ok := connection.ask()
		if !ok {
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(http.StatusServiceUnavailable) // without a text, which he might not take either
			return
		}
		defer answered()
		defer func() {
			if fault := recover(); fault != nil {
				g.recovered(paced, r, fault)
			}
		}()
		g.serve(paced, r, next)
		if r.ProtoMajor > 1 && connection.isStranger() {
			_ = paced.FlushError() // a stranger's answer is under way until he has it
		}
	})
}

// serve looks at a request from outside to inside: the address, the method, where it comes from, who sends it, and
// whether it is meant.
func (g *Guard) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	protect(w.Header())
	bound(w, r)
	// Nothing behind this, no page and no log, gets to see it.
	token, asked := takeQuery(r, tokenParameter)
	ticket, _ := takeQuery(r, ticketParameter)

	if !g.o.Hosts.Serve(r.Host) {
		g.misdirected(w, r)
		return
	}
	if fault := checkMethod(r); fault != nil {
		fault.write(w)
		return
	}
	if r.URL.Path == "/healthz" {
		plain(w, http.StatusOK, "ok")
		return
	}
	if fault := checkOrigin(r); fault != nil {
		fault.write(w)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/assets/") && !changes(r) {
		next.ServeHTTP(w, r)
		return
	}
	if !changes(r) && (asked || ticket != "") {
		g.follow(w, r, token, ticket)
		return
	}
	if r.URL.Path == "/login" {
		g.login(w, r)
		return
	}
	s, bearer, fault := g.authenticate(r)
	if fault != nil {
		g.refuse(w, r, fault)
		return
	}
	if s == nil {
		g.stranger(w, r)
		return
	}
	g.admit(w, r, next, s, bearer)
}

// admit lets the request of a viewer through, if it is meant and he does not ask for too much.
func (g *Guard) admit(w http.ResponseWriter, r *http.Request, next http.Handler, s *session, bearer bool) {
	connectionOf(r.Context()).introduce()
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), sessionKey{}, Session{CSRF: s.csrf}))
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)() // whoever signs out sees no more
	r = r.WithContext(ctx)
	if r.Method == http.MethodHead && isStream(r) {
		w.Header().Set("Allow", http.MethodGet)
		g.refuse(w, r, &refusal{http.StatusMethodNotAllowed, "Not served", "What goes on without end is asked for by GET.", ""})
		return
	}
	release, fault := s.enter(isStream(r), g.o.Clock)
	if fault != nil {
		w.Header().Set("Retry-After", "5")
		g.refuse(w, r, fault)
		return
	}
	defer release()
	if changes(r) {
		if fault := readForm(w, r); fault != nil {
			g.refuse(w, r, fault)
			return
		}
		if !bearer && !s.meant(r) {
			g.refuse(w, r, &refusal{http.StatusForbidden, "Not done", "This form is not of your session: it was opened before you signed in, or not by this page.",
				"Go back, load the page again and repeat it."})
			return
		}
		if g.o.ReadOnly && !ownPaths[r.URL.Path] {
			g.refuse(w, r, &refusal{http.StatusForbidden, "Read only", "This page was started with --read-only: it shows everything and changes nothing.",
				"Whoever started it can start another one without --read-only."})
			return
		}
	}
	if r.URL.Path == TicketPath && bearer && changes(r) {
		plain(w, http.StatusOK, g.Ticket())
		return
	}
	if r.URL.Path == "/logout" {
		g.logout(w, r, s)
		return
	}
	next.ServeHTTP(w, r)
}

// ownPaths are those where a viewer changes what is only his own.
var ownPaths = map[string]bool{"/settings": true, "/login": true, "/logout": true, TicketPath: true}

// refuse answers a viewer with a page, and a program with text.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, f *refusal) {
	if !readsPages(r) {
		f.write(w)
		return
	}
	g.o.Pages.Refuse(w, r, f.code, f.title, f.message, f.cure)
}

// misdirected answers a request for an address that is not served. It says nothing but what the sender knows: a page of
// another site that made its name mean this machine could read it.
func (g *Guard) misdirected(w http.ResponseWriter, r *http.Request) {
	(&refusal{http.StatusMisdirectedRequest, "Not served under this name", fmt.Sprintf("The page is not served as %q.", r.Host),
		"Use the address that carillon ui has printed. If this name is yours, start it with --host NAME[:PORT]."}).write(w)
}

// recovered answers where a page has panicked.
func (g *Guard) recovered(w *pacedWriter, r *http.Request, fault any) {
	if err, ok := fault.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(fault)
	}
	g.o.Log.Error("a page panicked", "path", r.URL.Path, "fault", fmt.Sprint(fault), "stack", string(debug.Stack()))
	if w.wrote {
		panic(http.ErrAbortHandler) // half a page must not look whole
	}
	plain(w, http.StatusInternalServerError, "This page has a fault. The log of Carillon says more.")
}

// refusal is a request that is not let through.
type refusal struct {
	code                 int
	title, message, cure string
}

func (f *refusal) write(w http.ResponseWriter) {
	text := f.title + ": " + f.message
	if f.cure != "" {
		text += " " + f.cure
	}
	plain(w, f.code, text)
}

func plain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprintln(w, text)
}

// isSecure tells whether the viewer's connection is encrypted: to us, or to a proxy on this machine that says so. What
// it says is only believed for the viewer's own cookie.
func isSecure(r *http.Request) bool {
	return isTLS(r.TLS) || r.Header.Get("X-Forwarded-Proto") == "https"
}

func isTLS(state *tls.ConnectionState) bool { return state != nil }
