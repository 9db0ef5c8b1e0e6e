// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

const actedOn = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: backup}
spec:
  schedule: "0 3 1 1 *"
  timeZone: Etc/UTC
  jobTemplate:
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          terminationGracePeriodSeconds: 1
          containers:
          - name: main
            image: none
            command: ["/bin/sh", "-c", "echo level $LEVEL; sleep $NAP; test $LEVEL != broken"]
            env: [{name: LEVEL, value: full}, {name: NAP, value: "0"}]
---
apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: load}
spec:
  schedules: [{cron: "0 3 1 1 *"}]
  parameters: [{name: table, default: orders}]
  template: {spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: main, image: none, command: [echo, "table $(carillon.parameters.table)"]}]}}}}
`

// actor is a browser without JavaScript that has the address of the page.
type actor struct {
	t      *testing.T
	client *http.Client
	base   string
}

// openPage serves the page of a Carillon that runs, and opens it.
func openPage(t *testing.T, dataDir string) *actor {
	t.Helper()
	cmd := exec.Command(carillon, "ui", "--data-dir", dataDir, "--listen", "127.0.0.1:0")
	cmd.Env = environment()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // how it ends is the business of another test
	})
	var address *url.URL
	for scanner := bufio.NewScanner(out); address == nil && scanner.Scan(); {
		if found := regexp.MustCompile(`http://\S+`).FindString(scanner.Text()); found != "" {
			if address, err = url.Parse(found); err != nil {
				t.Fatal(err)
			}
		}
	}
	if address == nil {
		t.Fatal("carillon ui prints no address")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &actor{t, &http.Client{Jar: jar, Timeout: forever}, address.Scheme + "://" + address.Host}
	v.get(address.RequestURI())
	return v
}

func (v *actor) do(r *http.Request, err error) (code int, at, body string) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
	answer, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answer.StatusCode, answer.Request.URL.RequestURI(), string(text)
}

func (v *actor) get(path string) string {
	v.t.Helper()
	code, _, body := v.do(http.NewRequest(http.MethodGet, v.base+path, nil))
	if code != http.StatusOK {
		v.t.Fatalf("%s: %d\n%s", path, code, body)
	}
	return body
}

// act looks at the page of an act, wants it to say something, and sends its form with some other values. It gives where
// that leads, and what is there.
func (v *actor) act(path, says string, values ...string) (at, body string) {
	v.t.Helper()
	page := v.get(path)
	if !strings.Contains(html.UnescapeString(page), says) {
		v.t.Errorf("%s does not say %q:\n%s", path, says, page)
	}
	return v.send(path, page, values...)
}

var (
	hiddenInput = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)
	yamlInput   = regexp.MustCompile(`(?s)<textarea[^>]* name="yaml"[^>]*>\n(.*?)</textarea>`)
)

func (v *actor) send(path, page string, values ...string) (at, body string) {
	v.t.Helper()
	form := url.Values{}
	for _, input := range hiddenInput.FindAllStringSubmatch(page, -1) {
		form.Set(input[1], html.UnescapeString(input[2]))
	}
	if text := yamlInput.FindStringSubmatch(page); text != nil {
		form.Set("yaml", html.UnescapeString(text[1]))
	}
	for i := 0; i < len(values); i += 2 {
		form.Set(values[i], values[i+1])
	}
	r, err := http.NewRequest(http.MethodPost, v.base+path, strings.NewReader(form.Encode()))
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", v.base)
	}
	code, at, body := v.do(r, err)
	if code != http.StatusOK {
		v.t.Fatalf("POST %s: %d\n%s", path, code, body)
	}
	return at, body
}

// started is the name of the run that an act has led to.
func (v *actor) started(at string) string {
	v.t.Helper()
	name, ok := strings.CutPrefix(at, "/run/default/")
	if !ok {
		v.t.Fatalf("it leads to %s", at)
	}
	name, _, _ = strings.Cut(name, "?")
	return name
}

// Whatever the page says it will do it does, and kubectl sees it.
func TestActsOfThePage(t *testing.T) {
	t.Parallel()
	dataDir := newDataDir(t)
	u := startReady(t, dataDir, "--local-files", "-f", write(t, actedOn))
	v := openPage(t, dataDir)
	address := func(act, kind, name string) string {
		return "/act/" + act + "?" + url.Values{"kind": {kind}, "namespace": {"default"}, "name": {name}}.Encode()
	}
	field := func(object, path string) string { return u.kubectl("get", object, "-o", "jsonpath="+path) }
	is := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	soon := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(forever); !is(); time.Sleep(200 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("never: %s", what)
			}
		}
	}
	jobs := func() string { return u.kubectl("get", "jobs", "-o", "name") }

	// A run that fails, with a value of its own; its retry, with the right one; a run with a parameter.
	at, _ := v.act(address("run-now", "cronjob", "backup"), "No other run is active now", "env.0.0", "broken")
	broken := v.started(at)
	u.kubectl("wait", "--for=condition=Failed", "job/"+broken, "--timeout=2m")
	is("output", u.kubectl("logs", "job/"+broken), "level broken\n")
	at, _ = v.act(address("retry", "job", broken), "stays as it is: Failed", "env.0.0", "mended")
	mended := v.started(at)
	u.kubectl("wait", "--for=condition=Complete", "job/"+mended, "--timeout=2m")
	is("output", u.kubectl("logs", "job/"+mended), "level mended\n")
	is("owner", field("job/"+mended, "{.metadata.ownerReferences[0].name} {.metadata.annotations.cronjob\\.kubernetes\\.io/instantiate}"), "backup manual")
	at, _ = v.act(address("run-now", "timetable", "load"), "Parameters", "parameter.table", "refunds")
	load := v.started(at)
	u.kubectl("wait", "--for=condition=Complete", "job/"+load, "--timeout=2m")
	is("output", u.kubectl("logs", "job/"+load), "table refunds\n")

	// A form that is sent twice starts one run, which is suspended, resumed and stopped.
	page := v.get(address("run-now", "cronjob", "backup"))
	first, _ := v.send(address("run-now", "cronjob", "backup"), page, "env.0.1", "600")
	second, _ := v.send(address("run-now", "cronjob", "backup"), page, "env.0.1", "600")
	is("where it leads again", second, first)
	slow := v.started(first)
	soon("its Pod runs", func() bool { return field("job/"+slow, "{.status.ready}") == "1" })
	v.act(address("suspend", "job", slow), "SIGKILL after 1 second")
	soon("its Pod ends", func() bool { return u.kubectl("get", "pods", "-l", "job-name="+slow, "-o", "name") == "" })
	v.act(address("resume", "job", slow), "The Job starts its Pods")
	soon("another Pod runs", func() bool { return field("job/"+slow, "{.status.ready}") == "1" })
	v.act(address("stop", "job", slow), "counts as cancelled")
	soon("the Job is gone", func() bool { return !strings.Contains(jobs(), slow) })

	v.act(address("suspend", "cronjob", "backup"), "Nothing is deleted")
	is("suspend", field("cronjob/backup", "{.spec.suspend}"), "true")
	v.act(address("resume", "cronjob", "backup"), "The next time is")
	is("suspend", field("cronjob/backup", "{.spec.suspend}"), "false")
	v.act(address("suspend", "timetable", "load"), "onResume: Skip", "until", "2100-07-01T12:00")
	if got := field("timetable/load", "{.spec.suspendUntil}"); !strings.HasPrefix(got, "2100-07-0") {
		t.Errorf("suspendUntil is %q", got)
	}
	v.act(address("resume", "timetable", "load"), "The next time is")
	is("suspendUntil", field("timetable/load", "{.spec.suspendUntil}"), "")

	// An edit is looked at, and saved.
	edit := address("edit", "cronjob", "backup")
	_, seen := v.act(edit, "Nothing changes before you save", "schedule", "30 2 * * *", "timeZone", "Europe/Berlin", "do", "preview")
	for _, want := range []string{"It runs at 02:30 every day", "there is no 02:30 on", "carillon up -f", "No time that has passed starts."} {
		if !strings.Contains(html.UnescapeString(seen), want) {
			t.Errorf("the preview does not say %q:\n%s", want, seen)
		}
	}
	is("the schedule after a look", field("cronjob/backup", "{.spec.schedule}"), "0 3 1 1 *")
	v.send(edit, seen, "do", "save")
	is("what was saved", field("cronjob/backup", "{.spec.schedule} {.spec.timeZone} {.spec.jobTemplate.spec.backoffLimit}"), "30 2 * * * Europe/Berlin 0")

	v.act(address("delete", "job", broken), "has ended")
	soon("the run is gone", func() bool { return !strings.Contains(jobs(), broken) })
	v.act(address("delete", "timetable", "load"), "and their Pods")
	soon("what the Timetable has started is gone", func() bool { return !strings.Contains(jobs(), load) })
}
