// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Session is what is known of a viewer who may see the page.
type Session struct {
	// CSRF must come back with each form that he sends, as the field "csrf".
	CSRF string
}

type sessionKey struct{}

// SessionOf gives the session of a request; the zero value if nobody has a session.
func SessionOf(ctx context.Context) Session {
	s, _ := ctx.Value(sessionKey{}).(Session)
	return s
}

const (
	// idleFor is how long a session lives that nobody uses.
	idleFor = 24 * time.Hour
	// mostSessions is how many there are at once; with one more the longest unused ends.
	mostSessions = 256
)

// session is a viewer who has signed in. It ends with the process.
type session struct {
	id, csrf string
	// user is who of the machine may use it, as peer.go tells: a cookie knows no ports, so that what another user serves
	// on another port of this machine may get to see it.
	user peer
	// ctx ends with the session.
	ctx context.Context
	end context.CancelFunc

	mu      sync.Mutex
	used    time.Time
	streams int
	asked   int
}

// meant tells whether a form was made for this session.
func (s *session) meant(r *http.Request) bool {
	sent := r.PostForm.Get("csrf")
	if sent == "" {
		sent = r.Header.Get("X-CSRF-Token")
	}
	return same(sent, s.csrf)
}

type sessions struct {
	clock func() time.Time

	mu  sync.Mutex
	all map[string]*session
	// program is shared by those who send the token with each request.
	program *session
}

func newSessions(clock func() time.Time) *sessions {
	all := &sessions{clock: clock, all: map[string]*session{}}
	all.program = all.make(peer{})
	return all
}

func (all *sessions) make(user peer) *session {
	s := &session{id: random(32), csrf: random(32), user: user, used: all.clock()}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// begin signs a viewer in.
func (all *sessions) begin(user peer) *session {
	s, now := all.make(user), all.clock()
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.all) >= mostSessions {
		var oldest *session
		for _, other := range all.all {
			if oldest == nil || other.lastUsed(now).Before(oldest.lastUsed(now)) {
				oldest = other
			}
		}
		all.drop(oldest)
	}
	all.all[s.id] = s
	return s
}

// find gives the session with an id; nil if there is none.
func (all *sessions) find(id string) *session {
	now := all.clock()
	all.mu.Lock()
	defer all.mu.Unlock()
	// Found by the hash of a map, whose time tells nothing that helps to guess 256 bits.
	s := all.all[id]
	if s == nil {
		return nil
	}
	if now.Sub(s.lastUsed(now)) > idleFor {
		all.drop(s)
		return nil
	}
	s.use(now)
	return s
}

// finish signs a viewer out.
func (all *sessions) finish(s *session) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.drop(s)
}

func (all *sessions) drop(s *session) {
	delete(all.all, s.id)
	s.end()
}

func (s *session) use(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = at
}

// lastUsed is when the session was last used. One that listens to changes, or follows an output, is in use.
func (s *session) lastUsed(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams > 0 {
		s.used = now
	}
	return s.used
}

// cookieName names the cookie of the session. It has the port in it because cookies know no ports: two pages on one
// machine would take each other's away. Under TLS the prefix lets no other site set it.
func cookieName(port int, secure bool) string {
	name := "carillon-" + strconv.Itoa(port)
	if secure {
		return "__Host-" + name
	}
	return name
}

// sessionOf gives the session whose cookie a request has; nil if there is none.
func (g *Guard) sessionOf(r *http.Request) *session {
	for _, secure := range []bool{true, false} {
		for _, c := range r.CookiesNamed(cookieName(g.o.Port, secure)) {
			if s := g.sessions.find(c.Value); s != nil && s.user.same(peerOf(r.Context())) {
				return s
			}
		}
	}
	return nil
}

// give makes a viewer's browser keep his session until it is closed.
func (g *Guard) give(w http.ResponseWriter, r *http.Request, s *session) {
	http.SetCookie(w, g.cookie(r, s.id, 0))
}

// takeBack makes a browser forget a session.
func (g *Guard) takeBack(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, g.cookie(r, "", -1))
}

func (g *Guard) cookie(r *http.Request, value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: cookieName(g.o.Port, isSecure(r)), Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: isSecure(r), SameSite: http.SameSiteStrictMode}
}
