// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// connect sends bytes as they are, and gives what comes back until the end.
func (g *rig) connect(text string) (net.Conn, *bufio.Reader) {
	g.t.Helper()
	c, err := net.Dial("tcp", g.server.Listener.Addr().String())
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		g.t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		g.t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// Requests that are too large, or come in piece by piece, end soon, and cost nobody else anything.
func TestHostileRequests(t *testing.T) {
	g := newRig(t)
	host := "Host: " + g.server.Listener.Addr().String() + "\r\n"
	bearer := "Authorization: Bearer " + g.token + "\r\n"
	for name, test := range map[string]struct{ text, code string }{
		"headers that never end":           {"GET / HTTP/1.1\r\n" + host + "X: ", ""},
		"a first line that never ends":     {"GET /", ""},
		"very large headers":               {"GET / HTTP/1.1\r\n" + host + "X: " + strings.Repeat("a", 2*MaxHeaderBytes) + "\r\n\r\n", "431"},
		"a very long address":              {"GET /" + strings.Repeat("a", 2*MaxHeaderBytes) + " HTTP/1.1\r\n" + host + "\r\n", "431"},
		"a body where none belongs":        {"GET / HTTP/1.1\r\n" + host + bearer + "Content-Length: 5\r\n\r\nhello", "400"},
		"a body of no length, nowhere":     {"GET / HTTP/1.1\r\n" + host + bearer + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
		"two lengths":                      {"POST /do HTTP/1.1\r\n" + host + bearer + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "400"},
		"a length and pieces":              {"POST /do HTTP/1.1\r\n" + host + bearer + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "415"},
		"a giant body that is announced":   {"POST /do HTTP/1.1\r\n" + host + bearer + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000000000000\r\n\r\n" + strings.Repeat("a", 6<<20), "413"},
		"a giant body of a stranger":       {"POST /do HTTP/1.1\r\n" + host + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000000000000\r\n\r\n", "401"},
		"two hosts":                        {"GET / HTTP/1.1\r\n" + host + "Host: evil.example\r\n\r\n", "400"},
		"no host":                          {"GET / HTTP/1.1\r\n\r\n", "400"},
		"an old protocol without host":     {"GET / HTTP/1.0\r\n\r\n", "421"},
		"an address of another":            {"GET http://evil.example/ HTTP/1.1\r\n" + host + "\r\n", "421"},
		"a tunnel":                         {"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", "421"},
		"a mirror":                         {"TRACE / HTTP/1.1\r\n" + host + bearer + "\r\n", "405"},
		"a method of no kind":              {"DO / HTTP/1.1\r\n" + host + "\r\n", "405"},
		"a line break in a header's value": {"GET / HTTP/1.1\r\n" + host + "X: a\x00b\r\n\r\n", "400"},
		"another protocol":                 {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g.t = t
			_, answers := g.connect(test.text)
			line, err := answers.ReadString('\n')
			if test.code == "" {
				if err == nil && !strings.Contains(line, " 400 ") {
					t.Errorf("%q", line)
				}
				if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
					t.Error("the connection is held")
				}
				return
			}
			if err != nil || !strings.Contains(line, " "+test.code+" ") {
				t.Errorf("%q, %v", line, err)
			}
		})
	}
	g.t = t
	if g.changed() > 0 {
		t.Error("changed")
	}
	if a := g.ask(g.client(), http.MethodGet, "/healthz", nil, nil); a.code != 200 || a.body != "ok\n" {
		t.Errorf("afterwards: %+v", a)
	}
}

// A session may have many windows open, and not more.
func TestStreamsAreBounded(t *testing.T) {
	g := newRig(t)
	c, _ := g.viewer()
	other, _ := g.viewer()
	var open []*http.Response
	for n := range mostStreams {
		r, err := c.Get(g.server.URL + "/events")
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("stream %d: %v", n, err)
		}
		open = append(open, r)
	}
	a := g.ask(c, http.MethodGet, "/events", nil, nil)
	if a.code != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("one more: %+v", a)
	}
	if a := g.ask(c, http.MethodGet, "/x", nil, map[string]string{"Accept": "text/event-stream"}); a.code != http.StatusTooManyRequests {
		t.Errorf("another that goes on: %+v", a)
	}
	if a := g.ask(c, http.MethodGet, "/", nil, browser); a.code != 200 {
		t.Errorf("a page: %+v", a)
	}
	if a := g.ask(other, http.MethodGet, "/x", nil, map[string]string{"Accept": "text/event-stream"}); a.code != 200 {
		t.Errorf("somebody else: %+v", a)
	}
	for _, r := range open {
		_ = r.Body.Close()
	}
	until(t, "they end", func() bool { g.mu.Lock(); defer g.mu.Unlock(); return g.streams == 0 })
	until(t, "there is room again", func() bool {
		return g.ask(c, http.MethodGet, "/x", nil, map[string]string{"Accept": "text/event-stream"}).code == 200
	})
}

// A page that panics is a fault of the program, which its log tells, without the query; half a page does not look
// whole.
func TestPanic(t *testing.T) {
	g := newRig(t)
	c, _ := g.viewer()
	a := g.ask(c, http.MethodGet, "/panic?secret=x", nil, browser)
	if a.code != 500 || strings.Contains(a.body, "secret") || strings.Contains(a.body, "goroutine") {
		t.Errorf("%+v", a)
	}
	g.mu.Lock()
	logged := g.log.String()
	g.mu.Unlock()
	if !strings.Contains(logged, "a page panicked") || !strings.Contains(logged, "path=/panic") {
		t.Error(logged)
	}
	half := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic("half")
	})
	g.server.Config.Handler = g.guard.Wrap(half)
	r, err := c.Get(g.server.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if text, err := io.ReadAll(r.Body); err == nil {
		t.Errorf("it looks whole: %s", text)
	}
}

// A page that takes its time is not cut off by what bounds the reading of its form.
func TestSlowPages(t *testing.T) {
	g := newRig(t)
	c, csrf := g.viewer()
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
			http.Error(w, "cut off", http.StatusGatewayTimeout)
		case <-time.After(time.Second):
			fmt.Fprint(w, "done")
		}
	})
	g.server.Config.Handler = g.guard.Wrap(slow)
	if a := g.ask(c, http.MethodPost, "/do", url.Values{"csrf": {csrf}}, nil); a.body != "done" {
		t.Errorf("%+v", a)
	}
}
