// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

func TestZoneOf(t *testing.T) {
	for value, want := range map[string]string{
		"Europe%2FBerlin":                  "Europe/Berlin",
		"Europe/Berlin":                    "Europe/Berlin",
		"UTC":                              "UTC",
		"":                                 "Local",
		"Local":                            "Local",
		"Mars":                             "Local",
		"%zz":                              "Local",
		"..%2F..%2F..%2F..%2Fetc%2Fpasswd": "Local",
		"%2Fetc%2Flocaltime":               "Local",
		"Europe":                           "Local",
		"Europe%2FBerlin%00":               "Local",
		"%3Cscript%3E":                     "Local",
		strings.Repeat("a", 4000):          "Local",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(&http.Cookie{Name: "carillon-zone", Value: value})
		if got := page.ZoneOf(r).String(); got != want {
			t.Errorf("%.40q gives %s, want %s", value, got, want)
		}
	}
	if got := page.ZoneOf(httptest.NewRequest(http.MethodGet, "/", nil)); got != time.Local {
		t.Errorf("without a cookie: %s", got)
	}
}

// ask sends a form, or none, as a viewer without cookies.
func ask(t *testing.T, h http.Handler, target string, form url.Values) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, target, nil)
	if form != nil {
		r = httptest.NewRequest(http.MethodPost, target, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestPreferencesAreKept(t *testing.T) {
	s := uitest.Site(t, uitest.World{})
	kept := func(form url.Values) map[string]*http.Cookie {
		answer := ask(t, s, "/settings", form)
		if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "/fleet?x=1" {
			t.Errorf("%v: %d to %q", form, answer.StatusCode, answer.Header.Get("Location"))
		}
		all := map[string]*http.Cookie{}
		for _, c := range answer.Cookies() {
			if c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" {
				t.Errorf("%v: the cookie %v", form, c)
			}
			all[c.Name] = c
		}
		return all
	}
	all := kept(url.Values{"back": {"/fleet?x=1"}, "zone": {" Asia/Tokyo "}, "theme": {"dark"}})
	if z, c := all["carillon-zone"], all["carillon-theme"]; z == nil || c == nil || z.Value != "Asia%2FTokyo" || z.MaxAge < 3600 || c.Value != "dark" {
		t.Errorf("%v", all)
	}
	all = kept(url.Values{"back": {"/fleet?x=1"}, "theme": {"<script>"}})
	if z, c := all["carillon-zone"], all["carillon-theme"]; z == nil || c == nil || z.MaxAge >= 0 || c.MaxAge >= 0 || c.Value != "" {
		t.Errorf("what is not chosen is not forgotten: %v", all)
	}
}

func TestZoneThatIsNone(t *testing.T) {
	s := uitest.Site(t, uitest.World{})
	for _, zone := range []string{"Mars", "Local", "../../etc/passwd", "/etc/localtime", `"><script>alert(1)</script>`, "UTC\x00", "Europe", strings.Repeat("x", 9000)} {
		code, body := uitest.Post(t, s, "/settings", url.Values{"back": {"/"}, "zone": {zone}})
		shown := strings.ReplaceAll(zone, "\x00", "\uFFFD")
		if code != http.StatusUnprocessableEntity || !strings.Contains(body, "There is no time zone ") || !strings.Contains(html.UnescapeString(body), shown) {
			t.Errorf("%.40q: %d", zone, code)
		}
		if strings.Contains(body, "<script>alert") {
			t.Errorf("%.40q is markup", zone)
		}
	}
}

// No form and no link leads the viewer to another site.
func TestBackLeadsNowhereElse(t *testing.T) {
	s := uitest.Site(t, uitest.World{})
	s.Handle("GET /done", func(w http.ResponseWriter, r *http.Request) error {
		page.Done(w, r, r.URL.Query().Get("to"), "It is done.")
		return nil
	})
	for back, want := range map[string]string{
		"/":                          "/",
		"/timeline?zoom=day&q=a%2Fb": "/timeline?zoom=day&q=a%2Fb",
		"":                           "/",
		"timeline":                   "/",
		"//evil.example":             "/",
		"///evil.example":            "/",
		`/\evil.example`:             "/",
		`\\evil.example`:             "/",
		"https://evil.example/":      "/",
		"javascript:alert(1)":        "/",
		"/\t/evil.example":           "/",
		"/\r\nSet-Cookie: a=b":       "/",
		"/%zz":                       "/",
		"/a\x00b":                    "/",
		" //evil.example":            "/",
		"/?to=https://evil.example":  "/?to=https://evil.example",
		"@evil.example":              "/",
		"http:/evil.example":         "/",
		"http:evil.example":          "/",
	} {
		answer := ask(t, s, "/settings", url.Values{"back": {back}})
		if got := answer.Header.Get("Location"); got != want || answer.StatusCode != http.StatusSeeOther {
			t.Errorf("settings, %q: %d to %q, want %q", back, answer.StatusCode, got, want)
		}
		answer = ask(t, s, "/done?to="+url.QueryEscape(back), nil)
		if got := answer.Header.Get("Location"); got != want || answer.StatusCode != http.StatusSeeOther {
			t.Errorf("done, %q: %d to %q, want %q", back, answer.StatusCode, got, want)
		}
		if _, body := uitest.Get(t, s, "/settings?back="+url.QueryEscape(back)); !strings.Contains(html.UnescapeString(body), `<a class="button" href="`+want+`">Cancel</a>`) {
			t.Errorf("Cancel, %q", back)
		}
	}
}

// What an act has done is told once, on the page that it leads to, and not to what only renews a page.
func TestNotice(t *testing.T) {
	s := uitest.Site(t, uitest.World{})
	const notice = `Started "a;b", <b>ä</b> & more`
	s.Handle("GET /done", func(w http.ResponseWriter, r *http.Request) error {
		page.Done(w, r, "/settings", notice)
		return nil
	})
	answer := ask(t, s, "/done", nil)
	if len(answer.Cookies()) != 1 || !answer.Cookies()[0].HttpOnly {
		t.Fatalf("%v", answer.Cookies())
	}
	look := func(renewal bool) (body string, forgotten bool) {
		r := httptest.NewRequest(http.MethodGet, "/settings", nil)
		r.AddCookie(answer.Cookies()[0])
		if renewal {
			r.Header.Set("HX-Request", "true")
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		for _, c := range w.Result().Cookies() {
			forgotten = forgotten || c.Name == answer.Cookies()[0].Name && c.MaxAge < 0
		}
		return w.Body.String(), forgotten
	}
	body, forgotten := look(false)
	if !strings.Contains(html.UnescapeString(body), notice) || strings.Contains(body, "<b>") || !forgotten {
		t.Errorf("forgotten: %v; %s", forgotten, body)
	}
	if body, forgotten := look(true); strings.Contains(html.UnescapeString(body), notice) || forgotten {
		t.Errorf("a renewal takes it: forgotten: %v; %s", forgotten, body)
	}
}

func TestTheme(t *testing.T) {
	s := uitest.Site(t, uitest.World{})
	for value, want := range map[string]string{"dark": `<html lang="en" data-theme="dark">`, "light": `<html lang="en" data-theme="light">`, "auto": `<html lang="en">`, "x%22%3E": `<html lang="en">`} {
		r := httptest.NewRequest(http.MethodGet, "/settings", nil)
		r.AddCookie(&http.Cookie{Name: "carillon-theme", Value: value})
		if _, body := uitest.Do(t, s, r); !strings.Contains(body, want) {
			t.Errorf("%q: no %s", value, want)
		}
	}
}
