// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/guard"
	"github.com/carillon-dev/carillon/internal/ui/login"
	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// world has names and texts that would be markup, were they not escaped.
const world = `apiVersion: batch/v1
kind: CronJob
metadata: {name: backup, namespace: default, uid: c-1, annotations: {note: "<script>alert(1)</script><img src=x onerror=alert(1)>"}}
spec:
  schedule: "0 3 * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: host, command: ["echo", "<script>alert(2)</script>"]}]}}}}
`

// rig is the whole site behind the guard.
type rig struct {
	*httptest.Server
	site    *page.Site
	token   string
	objects *dynamicfake.FakeDynamicClient
}

func newRig(t *testing.T, readOnly bool) *rig {
	t.Helper()
	began := uitest.Now.Add(-time.Hour)
	failed := run.Run{UID: "j-1", APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: "backup-1", Outcome: run.Failed, Created: began, Started: began, Ended: began.Add(time.Minute),
		Message: "<script>alert(3)</script>", Owner: run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "c-1"}}
	return newRigOf(t, uitest.World{Manifests: world, Runs: []run.Run{failed}, ReadOnly: readOnly})
}

// newRigOf is the whole site of a world behind the guard.
func newRigOf(t *testing.T, w uitest.World) *rig {
	t.Helper()
	s := uitest.Site(t, w)
	r := &rig{site: s, token: guard.NewToken(), Server: httptest.NewUnstartedServer(nil)}
	r.objects, _ = s.Server.Client.(*dynamicfake.FakeDynamicClient)
	pages := Handler(t.Context(), s)
	listen := netip.MustParseAddrPort(r.Listener.Addr().String())
	g := guard.New(guard.Options{Token: r.token, Port: int(listen.Port()), Hosts: guard.Hosts{Listen: listen}, ReadOnly: w.ReadOnly, Pages: login.Pages{Site: s}, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	r.Config.Handler, r.Config.ConnContext = g.Wrap(pages), guard.ConnContext
	r.Start()
	t.Cleanup(r.Close)
	return r
}

// ask sends a request, as nobody, or as a program that has the token.
func (r *rig) ask(t *testing.T, method, target string, known bool, form url.Values) (code int, header http.Header, body string) {
	t.Helper()
	var sent io.Reader
	if form != nil {
		sent = strings.NewReader(form.Encode())
	}
	request, err := http.NewRequestWithContext(t.Context(), method, r.URL+target, sent)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if known {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	client := http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return response.StatusCode, response.Header, ""
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

// routes are all that are registered, as method and a path that matches, of something that is there.
func (r *rig) routes(t *testing.T) (all [][2]string) {
	t.Helper()
	values := strings.NewReplacer("{$}", "", "{sum}", "0", "{name...}", "style.css", "{kind}", "cronjob", "{namespace}", "default", "{act}", "run")
	for _, pattern := range r.site.Patterns() {
		method, path, ok := strings.Cut(pattern, " ")
		if !ok {
			method, path = http.MethodGet, pattern
		}
		name := "backup"
		if strings.HasPrefix(path, "/run/") {
			name = "backup-1"
		}
		path = strings.ReplaceAll(values.Replace(path), "{name}", name)
		path = wildcard.ReplaceAllString(path, "1")
		all = append(all, [2]string{method, path})
	}
	if len(all) < 12 {
		t.Fatalf("%d routes only: %v", len(all), all)
	}
	return all
}

// Every address of the site demands a session, but the form for the token and the assets.
func TestEveryRouteDemandsASession(t *testing.T) {
	r := newRig(t, false)
	free := map[string]bool{"/assets/0/style.css": true}
	for _, route := range r.routes(t) {
		code, header, body := r.ask(t, route[0], route[1], false, nil)
		if free[route[1]] {
			continue
		}
		to := header.Get("Location")
		switch {
		case route[0] == http.MethodGet && code == http.StatusSeeOther && strings.HasPrefix(to, "/login?next="):
		case route[0] != http.MethodGet && code == http.StatusUnauthorized && strings.Contains(body, "Sign in"):
		default:
			t.Errorf("%s %s answers a stranger with %d to %q:\n%.300s", route[0], route[1], code, to, body)
		}
		for _, secret := range []string{"backup", "CronJob", r.site.Name} {
			if strings.Contains(strings.ReplaceAll(body, url.QueryEscape(route[1]), ""), secret) {
				t.Errorf("%s tells a stranger %q:\n%.300s", route[1], secret, body)
			}
		}
	}
}

var (
	// wildcard is what a pattern has in the place of something that need not be there.
	wildcard = regexp.MustCompile(`\{[^}]*\}`)

	script  = regexp.MustCompile(`(?i)<script\b([^>]*)>([^<]*)`)
	handler = regexp.MustCompile(`(?i)<[a-z][^>]*\s(on[a-z]+|style|srcdoc)\s*=`)
	remote  = regexp.MustCompile(`(?i)\b(src|href|action|formaction|data|poster)\s*=\s*"(https?:|//|javascript:|data:)[^"]*"`)
)

// Every page, also one that tells an error, is written so that the policy for its content holds: it has no script,
// style or event handler in its text, nothing of other sites, and not the token.
func TestPolicyOnEveryPage(t *testing.T) {
	r := newRig(t, false)
	pages := r.routes(t)
	for _, path := range []string{"/login", "/login?out", "/?token=wrong", "/none", "/schedule/cronjob/default/none", "/run/default/none", "/schedule/x/y/%3Cscript%3Ealert(1)%3C/script%3E",
		"/schedules?q=%3Cscript%3Ealert(1)%3C/script%3E", `/settings?back=%22%3E%3Cscript%3Ealert(1)%3C/script%3E`} {
		pages = append(pages, [2]string{http.MethodGet, path})
	}
	for _, route := range pages {
		if route[0] != http.MethodGet {
			continue
		}
		_, header, body := r.ask(t, http.MethodGet, route[1], !strings.HasPrefix(route[1], "/login") && !strings.HasPrefix(route[1], "/?"), nil)
		if p := header.Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'none'") || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: the policy is %q", route[1], p)
		}
		if strings.Contains(body, r.token) {
			t.Errorf("%s has the token", route[1])
		}
		if !strings.HasPrefix(header.Get("Content-Type"), "text/html") {
			continue
		}
		for _, s := range script.FindAllStringSubmatch(body, -1) {
			if !strings.Contains(s[1], `src="/assets/`) || strings.TrimSpace(s[2]) != "" {
				t.Errorf("%s has the script %q", route[1], s[0])
			}
		}
		for _, found := range [][]string{handler.FindAllString(body, -1), remote.FindAllString(body, -1), regexp.MustCompile(`(?i)<(style|iframe|object|embed|base)\b`).FindAllString(body, -1)} {
			if len(found) > 0 {
				t.Errorf("%s has %q", route[1], found)
			}
		}
	}
}

// Reading changes nothing: whatever is asked for by GET, the API server is only read.
func TestReadingChangesNothing(t *testing.T) {
	r := newRig(t, false)
	r.objects.ClearActions()
	for _, act := range []string{"run", "suspend", "resume", "stop", "retry", "delete", "edit"} {
		for _, of := range []string{"schedule=cronjob/backup", "run=backup-1", "kind=cronjob&namespace=default&name=backup", "schedule=cronjob/default/backup&confirm=yes"} {
			r.ask(t, http.MethodGet, "/act/"+act+"?"+of, true, nil)
			r.ask(t, http.MethodHead, "/act/"+act+"?"+of, true, nil)
		}
	}
	for _, route := range r.routes(t) {
		r.ask(t, http.MethodGet, route[1], true, nil)
		r.ask(t, http.MethodHead, route[1], true, nil)
	}
	for _, a := range r.objects.Actions() {
		asks := a.GetResource().Resource == "selfsubjectaccessreviews" // what the user may do; nothing is kept
		if verb := a.GetVerb(); verb != "get" && verb != "list" && verb != "watch" && !asks {
			t.Errorf("reading did %s %s", verb, a.GetResource().Resource)
		}
	}
}

// With --read-only every form is refused but those of what is the viewer's own, whatever pages there are.
func TestReadOnlyRefusesEveryForm(t *testing.T) {
	all, readOnly := newRig(t, false), newRig(t, true)
	readOnly.objects.ClearActions()
	for _, route := range all.routes(t) { // also those that a page which only shows does not have
		if route[1] == "/settings" {
			continue
		}
		if code, _, body := readOnly.ask(t, http.MethodPost, route[1]+"?schedule=cronjob/backup", true, url.Values{"x": {"1"}}); code != http.StatusForbidden || !strings.Contains(body, "changes nothing") {
			t.Errorf("POST %s: %d\n%.200s", route[1], code, body)
		}
	}
	if n := len(readOnly.objects.Actions()); n > 0 {
		t.Errorf("the API server was asked %d times", n)
	}
	if code, header, _ := readOnly.ask(t, http.MethodPost, "/settings", true, url.Values{"theme": {"dark"}, "back": {"/"}}); code != http.StatusSeeOther || !strings.Contains(fmt.Sprint(header["Set-Cookie"]), "dark") {
		t.Errorf("settings: %d", code)
	}
}

// Assets are those of the program, and no path leads out of them.
func TestAssets(t *testing.T) {
	r := newRig(t, false)
	_, _, body := r.ask(t, http.MethodGet, "/login", false, nil)
	style := regexp.MustCompile(`/assets/[0-9a-f]+/style\.css`).FindString(body)
	sum := strings.Split(style, "/")[2]
	for path, want := range map[string]int{
		style:                                                     200,
		"/assets/0/style.css":                                     404,
		"/assets/" + sum + "/icon.svg":                            404,
		"/assets/" + sum + "/":                                    404,
		"/assets/" + sum + "/../../etc":                           0,
		"/assets/" + sum + "/..%2f..%2f":                          404,
		"/assets/" + sum + "/%2e%2e/page.go":                      0,
		"/assets/" + sum + "/..%5c..%5cgo.mod":                    404,
		"/assets/" + sum + "//etc/passwd":                         0,
		"/assets/" + sum + "/%2fetc%2fpasswd":                     404,
		"/assets/" + sum + "/style.css%00.html":                   404,
		"/assets/":                                                404,
		"/assets/../schedules":                                    0,
		"/assets/%2e%2e/schedules":                                0,
		"/assets/..%2fschedules":                                  0,
		"/assets/x/../../schedules":                               0,
		"/assets/" + sum + "/" + strings.Repeat("a/", 2000) + "x": 404,
	} {
		code, header, body := r.ask(t, http.MethodGet, path, false, nil)
		if want == 0 { // it means another path, to which it is led, and where a session is needed
			if to := header.Get("Location"); code != 404 && (code < 300 || code > 399 || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//")) {
				t.Errorf("%s: %d to %s", path, code, to)
			}
		} else if code != want {
			t.Errorf("%s: %d\n%.100s", path, code, body)
		}
		if want != 200 && (strings.Contains(body, "package ") || strings.Contains(body, "root:") || strings.Contains(body, "CronJob")) {
			t.Errorf("%s tells\n%.300s", path, body)
		}
	}
}

// What a page leads back to after a form is on this site, and one line.
func TestBack(t *testing.T) {
	r := newRig(t, false)
	for back, want := range map[string]string{
		"/timeline?zoom=1d":         "/timeline?zoom=1d",
		"":                          "/",
		"https://evil.example/":     "/",
		"//evil.example/":           "/",
		`/\evil.example/`:           "/",
		`\\evil.example`:            "/",
		"/x\r\nSet-Cookie: a=b":     "/",
		"javascript:alert(1)":       "/",
		"http:evil.example":         "/",
		" //evil.example":           "/",
		"/\t/evil.example":          "/",
		"data:text/html,<script>":   "/",
		"/%0d%0aSet-Cookie:%20a=b":  "/%0d%0aSet-Cookie:%20a=b",
		"/ok?next=//evil.example/":  "/ok?next=//evil.example/",
		"/\x00":                     "/",
		"http://127.0.0.1/settings": "/",
	} {
		code, header, _ := r.ask(t, http.MethodPost, "/settings", true, url.Values{"back": {back}})
		if code != http.StatusSeeOther || header.Get("Location") != want {
			t.Errorf("%q leads to %d %q", back, code, header.Get("Location"))
		}
		for _, c := range header.Values("Set-Cookie") {
			if strings.HasPrefix(c, "a=") {
				t.Errorf("%q sets %s", back, c)
			}
		}
	}
}
