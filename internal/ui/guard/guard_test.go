// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// drawn are pages of a test. They show all that they are given.
type drawn struct{}

func (drawn) Login(w http.ResponseWriter, _ *http.Request, code int, l Login) {
	w.WriteHeader(code)
	fmt.Fprintf(w, "login next=%s fault=%s out=%t", l.Next, l.Fault, l.SignedOut)
}

func (drawn) Refuse(w http.ResponseWriter, r *http.Request, code int, title, message, cure string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, "%s: %s %s [%s]", title, message, cure, r.URL.RequestURI())
}

// rig is a guarded site: GET / says which address the page saw, POST /do changes something, /events goes on.
type rig struct {
	t      *testing.T
	guard  *Guard
	server *httptest.Server
	token  string

	mu      sync.Mutex
	now     time.Time
	done    []string // what was changed
	log     bytes.Buffer
	streams int
}

func newRig(t *testing.T, change ...func(o *Options, s *httptest.Server)) *rig {
	t.Helper()
	g := &rig{t: t, token: NewToken(), now: time.Date(2026, 11, 2, 11, 0, 0, 0, time.UTC)}
	g.server = httptest.NewUnstartedServer(nil)
	o := Options{Token: g.token, Pages: drawn{}, Clock: g.clock, Log: slog.New(slog.NewTextHandler(g, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	o.Hosts.Listen = netip.MustParseAddrPort(g.server.Listener.Addr().String())
	o.Port = int(o.Hosts.Listen.Port())
	for _, c := range change {
		c(&o, g.server)
	}
	g.guard = New(o)
	g.server.Config.Handler = g.guard.Wrap(http.HandlerFunc(g.page))
	g.server.Config.ReadHeaderTimeout, g.server.Config.MaxHeaderBytes = 300*time.Millisecond, MaxHeaderBytes
	if g.server.Config.ConnContext == nil {
		g.server.Config.ConnContext = ConnContext
	}
	if g.server.TLS != nil {
		g.server.StartTLS()
	} else {
		g.server.Start()
	}
	t.Cleanup(g.server.Close)
	t.Cleanup(func() {
		if g.mu.Lock(); strings.Contains(g.log.String(), g.token) {
			t.Errorf("the log has the token:\n%s", g.log.String())
		}
		g.mu.Unlock()
	})
	return g
}

func (g *rig) clock() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now
}

func (g *rig) later(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now = g.now.Add(d)
}

// Write takes the log.
func (g *rig) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.log.Write(b)
}

func (g *rig) page(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/panic":
		panic("a fault of " + r.URL.RequestURI())
	case r.URL.Path == "/events":
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		g.mu.Lock()
		g.streams++
		g.mu.Unlock()
		<-r.Context().Done()
		g.mu.Lock()
		g.streams--
		g.mu.Unlock()
	case changes(r):
		g.mu.Lock()
		g.done = append(g.done, r.URL.Path)
		g.mu.Unlock()
		fmt.Fprint(w, "done")
	default:
		fmt.Fprintf(w, "page %s query=%s csrf=%s", r.URL.RequestURI(), r.URL.Query().Encode(), SessionOf(r.Context()).CSRF)
	}
}

func (g *rig) changed() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.done)
}

// client is a browser that follows nothing by itself.
func (g *rig) client() *http.Client {
	jar, _ := cookiejar.New(nil) // it gives no error without options
	c := g.server.Client()
	return &http.Client{Jar: jar, Transport: c.Transport, Timeout: 20 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// viewer is one who has signed in, and the csrf of his forms.
func (g *rig) viewer() (*http.Client, string) {
	g.t.Helper()
	c := g.client()
	if a := g.ask(c, http.MethodGet, "/?token="+g.token, nil, nil); a.code != http.StatusSeeOther {
		g.t.Fatalf("signing in: %+v", a)
	}
	a := g.ask(c, http.MethodGet, "/", nil, nil)
	_, csrf, _ := strings.Cut(a.body, "csrf=")
	if a.code != http.StatusOK || len(csrf) != 64 {
		g.t.Fatalf("signed in: %+v", a)
	}
	return c, csrf
}

type answer struct {
	code   int
	header http.Header
	body   string
}

// browser are the headers of somebody who opens an address.
var browser = map[string]string{"Accept": "text/html,*/*", "Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}

// and gives headers with others, of which "" removes one.
func and(headers map[string]string, pairs ...string) map[string]string {
	all := map[string]string{}
	for k, v := range headers {
		all[k] = v
	}
	for n := 0; n < len(pairs); n += 2 {
		if all[pairs[n]] = pairs[n+1]; pairs[n+1] == "" {
			delete(all, pairs[n])
		}
	}
	return all
}

// ask sends a request. The header Host is that of HTTP.
func (g *rig) ask(c *http.Client, method, target string, form url.Values, headers map[string]string) answer {
	g.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(g.t.Context(), method, g.server.URL+target, body)
	if err != nil {
		g.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for k, v := range headers {
		if k == "Host" {
			r.Host = v
			continue
		}
		r.Header.Set(k, v)
	}
	return g.send(c, r)
}

func (g *rig) send(c *http.Client, r *http.Request) answer {
	g.t.Helper()
	response, err := c.Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

// A site that makes its own name mean this machine (DNS rebinding) gets no answer that tells anything, also from a
// browser that has a session.
func TestHostIsChecked(t *testing.T) {
	g := newRig(t, func(o *Options, _ *httptest.Server) {
		o.Hosts.Names = []string{"jobs.example.org", "tunnel.example.org:8443"}
	})
	port := fmt.Sprint(g.guard.o.Port)
	for host, served := range map[string]bool{
		"127.0.0.1:" + port:              true,
		"localhost:" + port:              true,
		"LocalHost:" + port:              true,
		"a1b2.localhost:" + port:         true,
		"[::ffff:127.0.0.1]:" + port:     true,
		"jobs.example.org":               true,
		"Jobs.Example.org:443":           true,
		"tunnel.example.org:8443":        true,
		"evil.example:" + port:           false,
		"evil.example":                   false,
		"127.0.0.1.evil.example:" + port: false,
		"localhost.evil.example:" + port: false,
		"evillocalhost:" + port:          false,
		"127.0.0.1:1":                    false,
		"127.0.0.1":                      false,
		"localhost:1":                    false,
		"127.0.0.2:" + port:              false,
		"[::1]:" + port:                  false,
		"0.0.0.0:" + port:                false,
		"tunnel.example.org:1":           false,
		"x.jobs.example.org":             false,
		"evil.example/127.0.0.1:" + port: false,
		"evil.example#localhost:" + port: false,
		"jobs.example.org@evil.example":  false,
		"localhost.:" + port:             false,
	} {
		t.Run(host, func(t *testing.T) {
			g.t = t
			for _, path := range []string{"/", "/login", "/assets/x", "/healthz", "/?token=" + g.token} {
				a := g.ask(g.client(), http.MethodGet, path, nil, map[string]string{"Authorization": "Bearer " + g.token, "Host": host})
				if served == (a.code == http.StatusMisdirectedRequest || a.code == http.StatusBadRequest) {
					t.Errorf("%s: %d %s", path, a.code, a.body)
				}
				if !served && (a.header.Get("Set-Cookie") != "" || strings.Contains(a.body, g.token)) {
					t.Errorf("%s: %+v", path, a)
				}
			}
		})
	}
}

// Pages of other sites can have a browser send nothing, though it has a session: forms, scripts, pictures, frames. For
// a browser other ports of this machine are the same site.
func TestOtherSites(t *testing.T) {
	g := newRig(t)
	c, csrf := g.viewer()
	own := g.server.URL
	for name, test := range map[string]struct {
		method, path string
		headers      map[string]string
		code         int
	}{
		"our own form":                          {"POST", "/do", and(browser, "Sec-Fetch-Site", "same-origin", "Origin", own), 200},
		"a browser that says nothing":           {"POST", "/do", map[string]string{"Accept": "text/html"}, 200},
		"another site's form":                   {"POST", "/do", and(browser, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"), 403},
		"a form of another port":                {"POST", "/do", and(browser, "Sec-Fetch-Site", "same-site", "Origin", "http://127.0.0.1:1"), 403},
		"an old browser, another site":          {"POST", "/do", map[string]string{"Origin": "https://evil.example"}, 403},
		"an old browser, another port":          {"POST", "/do", map[string]string{"Origin": "http://127.0.0.1:1"}, 403},
		"a frame without origin":                {"POST", "/do", map[string]string{"Origin": "null"}, 403},
		"an origin that only looks alike":       {"POST", "/do", map[string]string{"Origin": own + ".evil.example"}, 403},
		"an origin with a user":                 {"POST", "/do", map[string]string{"Origin": strings.Replace(own, "//", "//x@", 1) + "@evil"}, 403},
		"another scheme":                        {"POST", "/do", map[string]string{"Origin": strings.Replace(own, "http", "ftp", 1)}, 403},
		"headers that disagree":                 {"POST", "/do", map[string]string{"Origin": own, "Sec-Fetch-Site": "cross-site"}, 403},
		"a word of a later browser":             {"POST", "/do", map[string]string{"Origin": own, "Sec-Fetch-Site": "sideways"}, 403},
		"another site signs in":                 {"POST", "/login", map[string]string{"Origin": "https://evil.example"}, 403},
		"another site signs out":                {"POST", "/logout", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"a link on another site":                {"GET", "/", and(browser, "Sec-Fetch-Site", "cross-site"), 200},
		"a script of another site":              {"GET", "/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}, 403},
		"a script of another port":              {"GET", "/", map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}, 403},
		"fetch of another port":                 {"GET", "/events", map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, 403},
		"a frame of another port":               {"GET", "/", map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403},
		"an object of another site":             {"GET", "/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "object"}, 403},
		"a picture of ours on another site":     {"GET", "/assets/x/icon.svg", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, 403},
		"our own script":                        {"GET", "/", map[string]string{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, 200},
		"a question before a request elsewhere": {"OPTIONS", "/do", map[string]string{"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}, 405},
	} {
		t.Run(name, func(t *testing.T) {
			g.t = t
			before := g.changed()
			var form url.Values
			if test.method == http.MethodPost {
				form = url.Values{"csrf": {csrf}}
			}
			a := g.ask(c, test.method, test.path, form, test.headers)
			if a.code != test.code {
				t.Errorf("%d %s", a.code, a.body)
			}
			if did := g.changed() > before; did != (test.method == http.MethodPost && test.code == 200) {
				t.Errorf("changed: %t", did)
			}
			if a.header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("another origin is let in")
			}
		})
	}
}

// A form is done only with what its own session has put into it.
func TestCSRF(t *testing.T) {
	g := newRig(t)
	c, csrf := g.viewer()
	_, foreign := g.viewer()
	long := strings.Repeat("a", maxForm)
	for name, test := range map[string]struct {
		target, kind, body string
		header             map[string]string
		code               int
	}{
		"its own":               {"/do", "application/x-www-form-urlencoded", "csrf=" + csrf, nil, 200},
		"with a charset":        {"/do", "application/x-www-form-urlencoded; charset=UTF-8", "csrf=" + csrf, nil, 200},
		"its own, by a script":  {"/do", "application/x-www-form-urlencoded", "", map[string]string{"X-CSRF-Token": csrf}, 200},
		"none":                  {"/do", "application/x-www-form-urlencoded", "x=1", nil, 403},
		"nothing at all":        {"/do", "", "", nil, 403},
		"empty":                 {"/do", "application/x-www-form-urlencoded", "csrf=", nil, 403},
		"another's":             {"/do", "application/x-www-form-urlencoded", "csrf=" + foreign, nil, 403},
		"a part of it":          {"/do", "application/x-www-form-urlencoded", "csrf=" + csrf[:63], nil, 403},
		"more than it":          {"/do", "application/x-www-form-urlencoded", "csrf=" + csrf + "0", nil, 403},
		"in the address":        {"/do?csrf=" + csrf, "application/x-www-form-urlencoded", "x=1", nil, 403},
		"the token instead":     {"/do", "application/x-www-form-urlencoded", "csrf=" + g.token, nil, 403},
		"as plain text":         {"/do", "text/plain", "csrf=" + csrf, nil, 415},
		"as JSON":               {"/do", "application/json", `{"csrf":"` + csrf + `"}`, nil, 415},
		"with parts":            {"/do", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=csrf\r\n\r\n" + csrf + "\r\n--x--\r\n", nil, 415},
		"without a type":        {"/do", "", "csrf=" + csrf, nil, 415},
		"too large":             {"/do", "application/x-www-form-urlencoded", "csrf=" + csrf + "&x=" + long, nil, 413},
		"too large for signing": {"/logout", "application/x-www-form-urlencoded", "csrf=" + csrf + "&x=" + long[:maxToken], nil, 413},
		"not a form":            {"/do", "application/x-www-form-urlencoded", "csrf=" + csrf + "&%zz", nil, 400},
		"logout without":        {"/logout", "application/x-www-form-urlencoded", "x=1", nil, 403},
	} {
		t.Run(name, func(t *testing.T) {
			g.t = t
			before := g.changed()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.server.URL+test.target, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if test.kind != "" {
				r.Header.Set("Content-Type", test.kind)
			}
			for k, v := range test.header {
				r.Header.Set(k, v)
			}
			a := g.send(c, r)
			if a.code != test.code || (g.changed() > before) != (test.code == 200) {
				t.Errorf("%d %s, changed %d", a.code, a.body, g.changed()-before)
			}
		})
	}
}

// The token leads in and is gone from the address at once; what is wrong leads nowhere.
func TestTokenInAnAddress(t *testing.T) {
	g := newRig(t)
	cross := and(browser, "Sec-Fetch-Site", "cross-site")
	for name, test := range map[string]struct {
		method, target string
		headers        map[string]string
		code           int
		to             string // where it leads
		signed         bool
	}{
		"typed":                       {"GET", "/?token=" + g.token, browser, 303, "/", true},
		"a program":                   {"GET", "/?token=" + g.token, nil, 303, "/", true},
		"of any page, with its state": {"GET", "/timeline?q=a%20b&token=" + g.token + "&zoom=1h", browser, 303, "/timeline?q=a%20b&zoom=1h", true},
		"twice":                       {"GET", "/?token=" + g.token + "&token=x", browser, 303, "/", true},
		"its name escaped":            {"GET", "/?%74oken=" + g.token, browser, 303, "/", true},
		"of the form":                 {"GET", "/login?token=" + g.token, browser, 303, "/", true},
		"only asked about":            {"HEAD", "/?token=" + g.token, browser, 303, "/", true},
		"from a link in a mail":       {"GET", "/fleet?token=" + g.token, cross, 200, "/fleet", true},
		"wrong":                       {"GET", "/fleet?token=wrong", browser, 401, "", false},
		"empty":                       {"GET", "/?token=", browser, 401, "", false},
		"a part of it":                {"GET", "/?token=" + g.token[:63], browser, 401, "", false},
		"in capitals":                 {"GET", "/?token=" + strings.ToUpper(g.token) + "A", browser, 401, "", false},
		"wrong, a program":            {"GET", "/?token=wrong", nil, 401, "", false},
		"a ticket that never was":     {"GET", "/?ticket=wrong", browser, 401, "", false},
		"the token as a ticket":       {"GET", "/?ticket=" + g.token, browser, 401, "", false},
		"a form's address":            {"POST", "/do?token=" + g.token, browser, 401, "", false},
		"another name":                {"GET", "/?tokens=1", browser, 303, "/login?next=%2F%3Ftokens%3D1", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := g.ask(g.client(), test.method, test.target, nil, test.headers)
			if a.code != test.code || a.code == 303 && a.header.Get("Location") != test.to {
				t.Errorf("%d to %q: %s", a.code, a.header.Get("Location"), a.body)
			}
			if a.code == 200 && !strings.Contains(a.body, "url='"+test.to+"'") {
				t.Error(a.body)
			}
			if signed := a.header.Get("Set-Cookie") != ""; signed != test.signed {
				t.Errorf("a cookie: %t", signed)
			}
			if strings.Contains(a.body, g.token) || strings.Contains(fmt.Sprint(a.header), g.token) {
				t.Errorf("the answer has the token: %+v", a)
			}
			if test.method == http.MethodPost && g.changed() > 0 {
				t.Error("changed")
			}
		})
	}
}

// Where another site's link has led to a page, browsers send no cookie of ours with it: a page of ours leads on, and
// whoever has a session sees what he wanted.
func TestLinksOfOtherSites(t *testing.T) {
	g := newRig(t)
	c, _ := g.viewer()
	cross := and(browser, "Sec-Fetch-Site", "cross-site")
	a := g.ask(g.client(), http.MethodGet, `/run/a/b?uid=1&x=%22'>`, nil, cross)
	const next = "/login?next=%2Frun%2Fa%2Fb%3Fuid%3D1%26x%3D%2522%27%3E"
	if a.code != 200 || !strings.Contains(a.body, "/login?next=") || strings.Contains(a.body, "'>\"") {
		t.Fatalf("%+v", a)
	}
	a = g.ask(c, http.MethodGet, next, nil, and(browser, "Sec-Fetch-Site", "same-origin"))
	if to := a.header.Get("Location"); a.code != 303 || to != `/run/a/b?uid=1&x=%22'>` {
		t.Errorf("%d to %s", a.code, to)
	}
	if a = g.ask(g.client(), http.MethodGet, next, nil, browser); a.code != 200 || !strings.HasPrefix(a.body, "login next=/run/a/b") {
		t.Errorf("without a session: %+v", a)
	}
}

// The cookie of a session is for this site and port alone, for no script, and ends with the browser.
func TestCookie(t *testing.T) {
	for name, test := range map[string]struct {
		tls    bool
		header map[string]string
		secure bool
	}{
		"in clear text":          {},
		"over TLS":               {tls: true, secure: true},
		"behind a proxy of ours": {header: map[string]string{"X-Forwarded-Proto": "https"}, secure: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(_ *Options, s *httptest.Server) {
				if test.tls {
					s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
				}
			})
			a := g.ask(g.client(), http.MethodGet, "/?token="+g.token, nil, test.header)
			response := http.Response{Header: a.header}
			if len(response.Cookies()) != 1 {
				t.Fatalf("%+v", a)
			}
			c := response.Cookies()[0]
			want := fmt.Sprintf("carillon-%d", g.guard.o.Port)
			if test.secure {
				want = "__Host-" + want
			}
			if c.Name != want || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure != test.secure || c.Path != "/" || c.Domain != "" || c.MaxAge != 0 || !c.Expires.IsZero() {
				t.Errorf("%s", c.Raw)
			}
			if len(c.Value) != 64 || c.Value == g.token {
				t.Errorf("its value is %s", c.Value)
			}
		})
	}
}

// What browsers are told is told with every answer, whatever it is.
func TestHeaders(t *testing.T) {
	g := newRig(t)
	c, csrf := g.viewer()
	for name, test := range map[string]struct {
		c              *http.Client
		method, target string
		form           url.Values
		headers        map[string]string
		code           int
	}{
		"a page":             {c, "GET", "/", nil, browser, 200},
		"a form done":        {c, "POST", "/do", url.Values{"csrf": {csrf}}, browser, 200},
		"a form refused":     {c, "POST", "/do", url.Values{}, browser, 403},
		"the form to log in": {g.client(), "GET", "/login", nil, browser, 200},
		"signing in":         {g.client(), "GET", "/?token=" + g.token, nil, browser, 303},
		"a wrong token":      {g.client(), "GET", "/?token=x", nil, browser, 401},
		"a stranger":         {g.client(), "GET", "/x", nil, browser, 303},
		"a link elsewhere":   {g.client(), "GET", "/x", nil, and(browser, "Sec-Fetch-Site", "cross-site"), 200},
		"a program":          {g.client(), "GET", "/x", nil, nil, 401},
		"another host":       {g.client(), "GET", "/", nil, map[string]string{"Host": "evil.example"}, 421},
		"another site":       {c, "GET", "/", nil, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"another method":     {c, "PUT", "/", nil, nil, 405},
		"a fault of ours":    {c, "GET", "/panic", nil, browser, 500},
		"health":             {g.client(), "GET", "/healthz", nil, nil, 200},
	} {
		t.Run(name, func(t *testing.T) {
			g.t = t
			a := g.ask(test.c, test.method, test.target, test.form, test.headers)
			if a.code != test.code {
				t.Errorf("%d %s", a.code, a.body)
			}
			for header, want := range map[string]string{
				"Content-Security-Policy":      policy,
				"X-Content-Type-Options":       "nosniff",
				"X-Frame-Options":              "DENY",
				"Referrer-Policy":              "same-origin",
				"Cross-Origin-Opener-Policy":   "same-origin",
				"Cross-Origin-Resource-Policy": "same-origin",
				"Permissions-Policy":           permissions,
				"Cache-Control":                "no-store",
			} {
				if got := a.header.Get(header); got != want {
					t.Errorf("%s: %q", header, got)
				}
			}
			if a.header.Get("Server") != "" || a.header.Get("X-Powered-By") != "" {
				t.Error("it says what it is made with")
			}
		})
	}
	for _, weak := range []string{"unsafe", "*", "http:", "https:", "blob:", "script-src 'self' "} {
		if strings.Contains(policy, weak) {
			t.Errorf("the policy allows %s", weak)
		}
	}
	for _, needed := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
		if !strings.Contains(policy, needed) {
			t.Errorf("the policy lacks %s", needed)
		}
	}
}

// Where only looking is allowed nothing is changed, whatever a page would offer, and also for who has the token.
func TestReadOnly(t *testing.T) {
	g := newRig(t, func(o *Options, _ *httptest.Server) { o.ReadOnly = true })
	c, csrf := g.viewer()
	bearer := map[string]string{"Authorization": "Bearer " + g.token}
	for path, code := range map[string]int{
		"/do": 403, "/act/run": 403, "/": 403, "/settings/": 403, "/settings/../do": 403, "/SETTINGS": 403, "//settings": 403,
		"/settings": 200, "/logout": 303,
	} {
		for name, headers := range map[string]map[string]string{"a program": bearer, "a viewer": browser} {
			if name == "a program" && path == "/logout" {
				continue
			}
			before := g.changed()
			if a := g.ask(c, http.MethodPost, path, url.Values{"csrf": {csrf}}, headers); a.code != code {
				if path != "/logout" || a.code != 401 {
					t.Errorf("%s %s: %d %s", name, path, a.code, a.body)
				}
			}
			if (g.changed() > before) != (code == 200) {
				t.Errorf("%s %s: changed %d", name, path, g.changed()-before)
			}
			if path == "/logout" {
				c, csrf = g.viewer()
			}
		}
	}
}

// A program sends the token itself, and needs nothing else.
func TestBearer(t *testing.T) {
	g := newRig(t)
	for name, test := range map[string]struct {
		method, header string
		code           int
	}{
		"reads":               {"GET", "Bearer " + g.token, 200},
		"in other letters":    {"GET", "bearer " + g.token, 200},
		"changes":             {"POST", "Bearer " + g.token, 200},
		"wrong":               {"GET", "Bearer " + strings.Repeat("0", 64), 401},
		"nothing":             {"GET", "Bearer ", 401},
		"without the word":    {"GET", g.token, 401},
		"as a password":       {"GET", "Basic " + g.token, 401},
		"with something else": {"GET", "Bearer " + g.token + " x", 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := g.ask(g.client(), test.method, "/do", nil, map[string]string{"Authorization": test.header})
			if a.code != test.code || a.header.Get("Set-Cookie") != "" {
				t.Errorf("%+v", a)
			}
			if a.code == 401 && strings.Contains(a.body, g.token) {
				t.Error(a.body)
			}
		})
	}
}
