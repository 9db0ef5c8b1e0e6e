// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// until waits for something that another goroutine brings about.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for: %s", what)
		}
	}
}

// A session ends by signing out, by not being used, by others that are newer, and with the process: whoever listens at
// the port afterwards, and gets the cookie, has nothing.
func TestSessionsEnd(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(g *rig, c *http.Client, csrf string)
		code int
	}{
		"used within the day": {func(g *rig, c *http.Client, _ string) {
			for range 3 {
				g.later(idleFor - time.Minute)
				g.ask(c, http.MethodGet, "/", nil, nil)
			}
		}, 200},
		"not used": {func(g *rig, _ *http.Client, _ string) { g.later(idleFor + time.Second) }, 401},
		"signed out": {func(g *rig, c *http.Client, csrf string) {
			if a := g.ask(c, http.MethodPost, "/logout", url.Values{"csrf": {csrf}}, browser); a.code != 303 || a.header.Get("Location") != "/login?out" {
				g.t.Errorf("%+v", a)
			}
		}, 401},
		"many newer ones": {func(g *rig, _ *http.Client, _ string) {
			for range mostSessions {
				g.later(time.Second)
				g.guard.sessions.begin(peer{})
			}
		}, 401},
		"the process ends": {func(g *rig, _ *http.Client, _ string) {
			next := New(g.guard.o) // even with the same token
			g.server.Config.Handler = next.Wrap(http.HandlerFunc(g.page))
		}, 401},
		"asked for by a link": {func(g *rig, c *http.Client, _ string) {
			if a := g.ask(c, http.MethodGet, "/logout", nil, browser); a.code != 405 {
				g.t.Errorf("%+v", a)
			}
		}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			c, csrf := g.viewer()
			home, err := url.Parse(g.server.URL)
			if err != nil {
				t.Fatal(err)
			}
			cookies := c.Jar.Cookies(home)
			test.end(g, c, csrf)
			thief := g.client()
			thief.Jar.SetCookies(home, cookies)
			if a := g.ask(thief, http.MethodGet, "/", nil, nil); a.code != test.code {
				t.Errorf("%d %s", a.code, a.body)
			}
			if n := len(g.guard.sessions.all); n > mostSessions {
				t.Errorf("%d sessions", n)
			}
		})
	}
}

// Who signs in again is somebody new: what others knew of the session before is worth nothing.
func TestSigningInAgain(t *testing.T) {
	g := newRig(t)
	c, csrf := g.viewer()
	home, _ := url.Parse(g.server.URL) // the server's own
	before := c.Jar.Cookies(home)[0].Value
	if a := g.ask(c, http.MethodPost, "/login", url.Values{"token": {g.token}}, browser); a.code != 303 {
		t.Fatalf("%+v", a)
	}
	if after := c.Jar.Cookies(home)[0].Value; after == before {
		t.Error("the session is the same")
	}
	if a := g.ask(c, http.MethodPost, "/do", url.Values{"csrf": {csrf}}, browser); a.code != 403 {
		t.Errorf("a form of the session before: %+v", a)
	}
	// A cookie that somebody else has set beside ours changes nothing.
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, g.server.URL, nil) // the server's own
	r.Header.Add("Cookie", fmt.Sprintf("carillon-%d=planted", g.guard.o.Port))
	if a := g.send(c, r); a.code != 200 {
		t.Errorf("%+v", a)
	}
}

// What was open ends when the viewer signs out.
func TestSigningOutEndsStreams(t *testing.T) {
	g := newRig(t)
	c, csrf := g.viewer()
	stream, err := c.Get(g.server.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if a := g.ask(c, http.MethodPost, "/logout", url.Values{"csrf": {csrf}}, browser); a.code != 303 {
		t.Fatalf("%+v", a)
	}
	if n, err := stream.Body.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("the stream goes on: %d, %v", n, err)
	}
}

// A cookie that another user of this machine got to see, on another port, is worth nothing to him; nor is a ticket.
func TestOtherUsersOfTheMachine(t *testing.T) {
	var user atomic.Uint32
	user.Store(1000)
	g := newRig(t, func(_ *Options, s *httptest.Server) {
		s.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, peer{true, user.Load()})
		}
	})
	c, csrf := g.viewer()
	reconnect := func(uid uint32) {
		user.Store(uid)
		c.CloseIdleConnections()
		g.server.Client().CloseIdleConnections()
	}
	reconnect(1001)
	if a := g.ask(c, http.MethodGet, "/", nil, nil); a.code != 401 {
		t.Errorf("another user sees %+v", a)
	}
	if a := g.ask(c, http.MethodPost, "/do", url.Values{"csrf": {csrf}}, nil); a.code != 401 || g.changed() > 0 {
		t.Errorf("another user changes %+v", a)
	}
	ticket := g.guard.Ticket()
	if a := g.ask(g.client(), http.MethodGet, "/?"+ticket, nil, nil); a.code != 401 {
		t.Errorf("another user's ticket: %+v", a)
	}
	reconnect(1000)
	if a := g.ask(c, http.MethodGet, "/", nil, nil); a.code != 200 {
		t.Errorf("he himself sees %+v", a)
	}
}

// A ticket lets one in, once, for a minute.
func TestTicket(t *testing.T) {
	for name, test := range map[string]struct {
		change func(g *rig, ticket string)
		code   int
	}{
		"at once":          {func(*rig, string) {}, 303},
		"within a minute":  {func(g *rig, _ string) { g.later(ticketFor) }, 303},
		"after it":         {func(g *rig, _ string) { g.later(ticketFor + time.Second) }, 401},
		"a second time":    {func(g *rig, ticket string) { g.ask(g.client(), http.MethodGet, "/?"+ticket, nil, browser) }, 401},
		"beside other one": {func(g *rig, _ string) { g.guard.Ticket() }, 303},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			ticket := g.guard.Ticket()
			test.change(g, ticket)
			if a := g.ask(g.client(), http.MethodGet, "/?"+ticket, nil, browser); a.code != test.code || a.code == 303 && a.header.Get("Location") != "/" {
				t.Errorf("%+v", a)
			}
		})
	}
	g := newRig(t)
	for range 3 {
		g.guard.Ticket()
		g.later(ticketFor + time.Second)
	}
	if n := len(g.guard.tickets.issued); n != 1 {
		t.Errorf("%d tickets are kept that nobody has taken", n)
	}
	c, csrf := g.viewer()
	bearer := map[string]string{"Authorization": "Bearer " + g.token}
	if a := g.ask(g.client(), http.MethodPost, TicketPath, nil, bearer); a.code != 200 || !strings.HasPrefix(a.body, "ticket=") {
		t.Errorf("a program with the token: %+v", a)
	}
	if a := g.ask(c, http.MethodPost, TicketPath, url.Values{"csrf": {csrf}}, nil); strings.Contains(a.body, "ticket=") {
		t.Errorf("a viewer: %+v", a)
	}
}

// Wrong tokens wait, and not many at once; who has the right one never does.
func TestWrongTokensWait(t *testing.T) {
	g := newRig(t)
	began := time.Now()
	var wg sync.WaitGroup
	var codes [3 * mostWrong]int
	for n := range codes {
		wg.Go(func() {
			switch n % 3 {
			case 0:
				codes[n] = g.ask(g.client(), http.MethodGet, fmt.Sprintf("/?token=%d", n), nil, nil).code
			case 1:
				codes[n] = g.ask(g.client(), http.MethodPost, "/login", url.Values{"token": {fmt.Sprint(n)}}, nil).code
			case 2:
				codes[n] = g.ask(g.client(), http.MethodGet, "/", nil, map[string]string{"Authorization": fmt.Sprint("Bearer ", n)}).code
			}
		})
	}
	until(t, "all places are taken", func() bool { return len(g.guard.wrong) == mostWrong })
	// Also a ticket is asked for meanwhile, so that nothing but the token decides.
	right := time.Now()
	if a := g.ask(g.client(), http.MethodGet, "/?token="+g.token, nil, browser); a.code != 303 {
		t.Errorf("the right one: %+v", a)
	}
	if took := time.Since(right); took > wrongDelay {
		t.Errorf("the right one waited for %s", took)
	}
	wg.Wait()
	if took := time.Since(began); took < wrongDelay {
		t.Errorf("they waited for %s", took)
	}
	count := map[int]int{}
	for _, code := range codes {
		count[code]++
	}
	if count[401] < mostWrong || count[429] == 0 || count[401]+count[429] != len(codes) {
		t.Errorf("%v", count)
	}
}

// What a viewer pastes may be the whole address.
func TestLogin(t *testing.T) {
	g := newRig(t)
	for name, test := range map[string]struct {
		form url.Values
		code int
		to   string
	}{
		"the token":            {url.Values{"token": {g.token}}, 303, "/"},
		"with spaces":          {url.Values{"token": {"  " + g.token + "\r\n"}}, 303, "/"},
		"the whole address":    {url.Values{"token": {g.server.URL + "/?token=" + g.token}}, 303, "/"},
		"to where he wanted":   {url.Values{"token": {g.token}, "next": {"/timeline?zoom=1d"}}, 303, "/timeline?zoom=1d"},
		"wrong":                {url.Values{"token": {"x"}}, 401, ""},
		"none":                 {url.Values{}, 401, ""},
		"another address":      {url.Values{"token": {"http://127.0.0.1/?token=x"}}, 401, ""},
		"elsewhere":            {url.Values{"token": {g.token}, "next": {"https://evil.example/"}}, 303, "/"},
		"elsewhere, briefly":   {url.Values{"token": {g.token}, "next": {"//evil.example/"}}, 303, "/"},
		"elsewhere, slanted":   {url.Values{"token": {g.token}, "next": {`/\evil.example/`}}, 303, "/"},
		"a script":             {url.Values{"token": {g.token}, "next": {"javascript:alert(1)"}}, 303, "/"},
		"another header":       {url.Values{"token": {g.token}, "next": {"/x\r\nSet-Cookie: a=b"}}, 303, "/"},
		"in a circle":          {url.Values{"token": {g.token}, "next": {"/login?next=/login"}}, 303, "/"},
		"with a user and host": {url.Values{"token": {g.token}, "next": {"http://x@evil.example/"}}, 303, "/"},
		"a tab before slashes": {url.Values{"token": {g.token}, "next": {"/\t/evil.example"}}, 303, "/"},
		"relative":             {url.Values{"token": {g.token}, "next": {"evil.example"}}, 303, "/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := g.ask(g.client(), http.MethodPost, "/login", test.form, browser)
			if a.code != test.code || a.header.Get("Location") != test.to || (a.header.Get("Set-Cookie") != "") != (test.code == 303) {
				t.Errorf("%+v", a)
			}
			if strings.Contains(a.body, g.token) || len(a.header.Values("Set-Cookie")) > 1 {
				t.Errorf("%+v", a)
			}
		})
	}
}

// Who has sent a form after his session ended is told that it was not done.
func TestFormOfAnEndedSession(t *testing.T) {
	g := newRig(t)
	c, csrf := g.viewer()
	g.later(idleFor + time.Second)
	a := g.ask(c, http.MethodPost, "/do", url.Values{"csrf": {csrf}}, browser)
	if a.code != 401 || !strings.Contains(a.body, "not done") || g.changed() > 0 {
		t.Errorf("%+v", a)
	}
}

// A page that lies open and is told of changes is in use: neither the time nor others sign its viewer out.
func TestStreamsUseTheirSession(t *testing.T) {
	g := newRig(t)
	c, _ := g.viewer()
	stream, err := c.Get(g.server.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	g.later(2 * idleFor)
	for range mostSessions {
		g.guard.sessions.begin(peer{})
		g.later(time.Second)
	}
	if a := g.ask(c, http.MethodGet, "/", nil, nil); a.code != http.StatusOK {
		t.Errorf("while it listens: %+v", a)
	}
	g.later(2 * idleFor)
	stream.Body.Close()
	until(t, "the end of the stream", func() bool {
		for _, s := range g.guard.sessions.all {
			s.mu.Lock()
			streams := s.streams
			s.mu.Unlock()
			if streams > 0 {
				return false
			}
		}
		return true
	})
	g.later(time.Minute)
	if a := g.ask(c, http.MethodGet, "/", nil, nil); a.code != http.StatusOK {
		t.Errorf("a minute after: %+v", a)
	}
}
