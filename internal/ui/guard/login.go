// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// Login is the form for the token.
type Login struct {
	// Next is the address on this site that the viewer wanted.
	Next string
	// Fault says what was wrong with the token; "" if none was sent.
	Fault string
	// SignedOut: he has just done so.
	SignedOut bool
}

// authenticate gives the session of a request, nil if it has none. bearer: it has the token itself.
func (g *Guard) authenticate(r *http.Request) (s *session, bearer bool, fault *refusal) {
	token, sent := bearerOf(r)
	if !sent {
		return g.sessionOf(r), false, nil
	}
	if same(token, g.o.Token) {
		return g.sessions.program, true, nil
	}
	if fault := g.slowed(r); fault != nil {
		return nil, false, fault
	}
	return nil, false, &refusal{http.StatusUnauthorized, "Wrong token", "The token is not that of this page; it is new at each start.", ""}
}

// slowed keeps who has sent a wrong token waiting.
func (g *Guard) slowed(r *http.Request) *refusal {
	if g.wrong.slow(r.Context()) {
		return nil
	}
	return &refusal{http.StatusTooManyRequests, "Too many wrong tokens", "Others have just been tried.", "Wait a moment."}
}

// follow signs in who follows an address with a token or a ticket, and leads him to the same address without it.
func (g *Guard) follow(w http.ResponseWriter, r *http.Request, token, ticket string) {
	user := peerOf(r.Context())
	// A token is not spent on a ticket that was.
	if same(token, g.o.Token) || ticket != "" && user.mayUseTicket(os.Geteuid()) && g.tickets.take(ticket, g.o.Clock()) {
		if g.sessionOf(r) == nil {
			g.give(w, r, g.sessions.begin(user))
		}
		lead(w, r, localPath(r.URL.RequestURI()))
		return
	}
	if g.sessionOf(r) != nil { // an address that was kept from an earlier start
		lead(w, r, localPath(r.URL.RequestURI()))
		return
	}
	if fault := g.slowed(r); fault != nil {
		g.refuse(w, r, fault)
		return
	}
	if !readsPages(r) {
		g.unauthorized(w)
		return
	}
	wrong := wrongToken
	if ticket != "" {
		wrong = wrongTicket
	}
	g.o.Pages.Login(w, r, http.StatusUnauthorized, Login{Next: localPath(r.URL.RequestURI()), Fault: wrong})
}

const wrongTicket = "This address signs in once, within a minute, and only who has started the page, on its own machine. The address that carillon ui has printed holds for longer."

const wrongToken = "This is not the token of the page that runs now. It is new each time the page is started."

// login shows the form, and takes the token from it.
func (g *Guard) login(w http.ResponseWriter, r *http.Request) {
	if !changes(r) {
		query := r.URL.Query()
		next := localPath(query.Get("next"))
		if g.sessionOf(r) != nil {
			http.Redirect(w, r, next, http.StatusSeeOther)
			return
		}
		g.o.Pages.Login(w, r, http.StatusOK, Login{Next: next, SignedOut: query.Has("out")})
		return
	}
	if fault := readForm(w, r); fault != nil {
		g.refuse(w, r, fault)
		return
	}
	next := localPath(r.PostForm.Get("next"))
	if !same(pasted(r.PostForm.Get("token")), g.o.Token) {
		if fault := g.slowed(r); fault != nil {
			g.refuse(w, r, fault)
			return
		}
		g.o.Pages.Login(w, r, http.StatusUnauthorized, Login{Next: next, Fault: wrongToken})
		return
	}
	if old := g.sessionOf(r); old != nil {
		g.sessions.finish(old)
	}
	g.give(w, r, g.sessions.begin(peerOf(r.Context())))
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// pasted finds the token in what a viewer has pasted: it may be the whole address.
func pasted(text string) string {
	text = strings.TrimSpace(text)
	if u, err := url.Parse(text); err == nil && u.Query().Has(tokenParameter) {
		return u.Query().Get(tokenParameter)
	}
	return text
}

// logout signs a viewer out. It is a form, so that no link does it.
func (g *Guard) logout(w http.ResponseWriter, r *http.Request, s *session) {
	if !changes(r) {
		w.Header().Set("Allow", http.MethodPost)
		g.refuse(w, r, &refusal{http.StatusMethodNotAllowed, "Not done", "Signing out is a button on the settings page.", ""})
		return
	}
	if s != g.sessions.program {
		g.sessions.finish(s)
	}
	g.takeBack(w, r)
	http.Redirect(w, r, "/login?out", http.StatusSeeOther)
}

// stranger answers who has no session: a viewer is led to the form, a program is told what it needs.
func (g *Guard) stranger(w http.ResponseWriter, r *http.Request) {
	if !readsPages(r) {
		g.unauthorized(w)
		return
	}
	if changes(r) {
		g.o.Pages.Login(w, r, http.StatusUnauthorized, Login{Next: "/", Fault: "You are not signed in any more: what you have sent was not done. Sign in, and repeat it."})
		return
	}
	lead(w, r, "/login?next="+url.QueryEscape(localPath(r.URL.RequestURI())))
}

func (g *Guard) unauthorized(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="carillon"`)
	(&refusal{http.StatusUnauthorized, "Not signed in", "Send the token that carillon ui has printed, as Authorization: Bearer TOKEN.", ""}).write(w)
}

// lead leads a viewer to another address of this site. Where another site has sent him, a redirection would still be
// that site's, and browsers would leave out the cookie of his session; so a page of ours leads him on.
func lead(w http.ResponseWriter, r *http.Request, to string) {
	if from := r.Header.Get("Sec-Fetch-Site"); from != "cross-site" && from != "same-site" {
		http.Redirect(w, r, to, http.StatusSeeOther)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	address := html.EscapeString(strings.ReplaceAll(to, "'", "%27"))
	fmt.Fprintf(w, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Carillon</title>"+
		"<meta http-equiv=\"refresh\" content=\"0; url='%s'\"></head><body><p><a href=\"%s\">Go on to the page</a></p></body></html>\n", address, address)
}

// localPath is a path on this site with its query, or "/" for all that could lead elsewhere.
func localPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || u.Scheme != "" || u.User != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.HasPrefix(path, "/login") {
		return "/"
	}
	for _, c := range path {
		if c < 0x20 || c == 0x7f || c == '\\' {
			return "/"
		}
	}
	return path
}
