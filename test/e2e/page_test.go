// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// servedPage is a running "carillon ui".
type servedPage struct {
	cmd    *exec.Cmd
	url    string
	stderr bytes.Buffer
}

// startPage starts "carillon ui" on a data directory, as somebody; nil is oneself.
func startPage(t *testing.T, user *syscall.Credential, dataDir string, env []string, args ...string) *servedPage {
	t.Helper()
	p := &servedPage{cmd: exec.Command(carillon, append([]string{"ui", "--data-dir", dataDir, "-o", "json"}, args...)...)}
	p.cmd.Env = append(environment(), env...)
	if user != nil {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
		p.cmd.Dir = "/"
	}
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it has ended, if the test went on to its end
		_ = p.cmd.Wait()
		if t.Failed() {
			t.Logf("carillon ui said:\n%s", &p.stderr)
		}
	})
	text, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		_ = p.cmd.Wait() // its message is what matters
		t.Fatalf("no address: %v\n%s", err, &p.stderr)
	}
	p.url = addressIn(t, text)
	return p
}

func addressIn(t *testing.T, text string) string {
	t.Helper()
	var told struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal([]byte(text), &told); err != nil || !strings.Contains(told.URL, "/?token=") {
		t.Fatalf("%v in %q", err, text)
	}
	return told.URL
}

// interrupt is Ctrl-C. The page ends at once, whoever listens.
func (p *servedPage) interrupt(t *testing.T) {
	t.Helper()
	began := time.Now()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait() // the code is looked at
	if code := p.cmd.ProcessState.ExitCode(); code != 0 || time.Since(began) > 3*time.Second && !overloaded() {
		t.Errorf("Ctrl-C: exit code %d after %s\n%s", code, time.Since(began), &p.stderr)
	}
}

// viewer is a browser.
func viewer() *http.Client {
	jar, _ := cookiejar.New(nil) // it gives no error without options
	return &http.Client{Jar: jar, Timeout: 20 * time.Second}
}

// seen is what a viewer sees at an address; 0 is nobody.
func seen(t *testing.T, c *http.Client, address string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	response, err := c.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

func withoutToken(address string) string {
	before, _, _ := strings.Cut(address, "?")
	return before
}

// The page of "carillon up --ui" is there when the address is, is found again by "carillon ui", and ends with it, in
// time, also while somebody listens; after a kill nothing of it is believed. A page of its own goes on meanwhile.
func TestPage(t *testing.T) {
	dataDir := newDataDir(t)
	manifest := write(t, strings.NewReplacer("NAME", "nightly").Replace(`apiVersion: batch/v1
kind: CronJob
metadata: {name: NAME}
spec:
  schedule: "0 3 * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: host, command: ["true"]}]}}}}
`))
	u := startReady(t, dataDir, "--ui-listen", "127.0.0.1:0", "-f", manifest)
	address := u.wait("the address", func(l line) bool { return l.Type == "page" }).Message
	c := viewer()
	if code, body := seen(t, c, address); code != 200 || !strings.Contains(body, "<main") {
		t.Fatalf("%d %.300s", code, body)
	}
	if code, body := seen(t, c, withoutToken(address)+"schedules"); code != 200 || !strings.Contains(body, "nightly") {
		t.Errorf("%d %.300s", code, body)
	}
	if code, body := seen(t, viewer(), withoutToken(address)+"schedules"); code != 200 || strings.Contains(body, "nightly") || !strings.Contains(body, "Sign in") {
		t.Errorf("a stranger: %d %.300s", code, body)
	}
	if got := command(t, "", "ui", "--data-dir", dataDir, "-o", "json"); got.code != 0 || addressIn(t, got.stdout) != address {
		t.Errorf("carillon ui beside it: %+v", got)
	}
	if log := logOf(dataDir); strings.Contains(log, strings.TrimPrefix(address, withoutToken(address)+"?token=")) {
		t.Error("the log has the token")
	}

	port := strings.TrimSuffix(strings.TrimPrefix(withoutToken(address), "http://"), "/")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a port that is taken":        {[]string{"ui", "--data-dir", dataDir, "--listen", port}, "another program listens there"},
		"all addresses":               {[]string{"ui", "--data-dir", dataDir, "--listen", "0.0.0.0:0"}, "--tls-cert-file"},
		"half of a certificate":       {[]string{"ui", "--data-dir", dataDir, "--tls-cert-file", "x"}, "name both"},
		"no Carillon":                 {[]string{"ui", "--data-dir", dataDir + "-none"}, "carillon up --data-dir"},
		"no journal":                  {[]string{"ui", "--journal", filepath.Dir(newDataDir(t))}, "there is no journal"},
		"up, on a port that is taken": {[]string{"up", "--data-dir", dataDir + "-none", "--ui-listen", port}, "another program listens there"},
		"up, at all addresses":        {[]string{"up", "--data-dir", dataDir + "-none", "--ui-listen", "0.0.0.0:0"}, "--ui-listen 0.0.0.0:0 would let other machines in"},
	} {
		if got := command(t, "", test.args...); got.code != 2 || got.stdout != "" || !strings.Contains(got.stderr, test.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}

	own := startPage(t, nil, dataDir, nil, "--listen", "127.0.0.1:0")
	ownViewer := viewer()
	if own.url == address {
		t.Fatal("one address for two")
	}
	if code, body := seen(t, ownViewer, own.url); code != 200 || !strings.Contains(body, "<main") {
		t.Errorf("two at once: %d %.300s", code, body)
	}
	u.kill()
	if code, _ := seen(t, c, withoutToken(address)); code != 0 {
		t.Errorf("after a kill: %d", code)
	}
	if code, body := seen(t, ownViewer, withoutToken(own.url)); code != 200 || strings.Contains(body, "Sign in") {
		t.Errorf("its own page, after the kill: %d %.300s", code, body)
	}
	another := startPage(t, nil, dataDir, nil) // what is left of the address is not believed
	if another.url == address {
		t.Error("the address from before the kill")
	}
	another.interrupt(t)

	u = startReady(t, dataDir, "--ui")
	again := u.wait("the address", func(l line) bool { return l.Type == "page" }).Message
	if token := strings.Split(address, "=")[1]; strings.Contains(again, token) {
		t.Error("the token is the old one")
	} else if code, body := seen(t, viewer(), withoutToken(again)+"?token="+token); code != 401 || !strings.Contains(body, "Sign in") {
		t.Errorf("the old token: %d %.300s", code, body)
	}
	deadline := time.Now().Add(forever)
	for {
		code, body := seen(t, ownViewer, withoutToken(own.url)+"schedules")
		if code == 200 && strings.Contains(body, "nightly") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("its own page does not go on: %d %.300s", code, body)
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, open := range []struct {
		c       *http.Client
		address string
	}{{ownViewer, own.url}, {viewer(), again}} {
		seen(t, open.c, open.address) // signs in
		stream, err := open.c.Get(withoutToken(open.address) + "events")
		if err != nil || stream.StatusCode != http.StatusOK {
			t.Fatalf("%v, %+v", err, stream)
		}
		defer stream.Body.Close()
	}
	own.interrupt(t)
	u.wantCleanStop(u.stop())
	if _, err := os.Stat(filepath.Join(dataDir, "page-address")); !os.IsNotExist(err) {
		t.Errorf("the address is left: %v", err)
	}
}

// The browser is started with something that is worth nothing to whoever reads the arguments of programs.
func TestPageOpensTheBrowser(t *testing.T) {
	dataDir := newDataDir(t)
	u := startReady(t, dataDir)
	u.stop()
	bin, args := t.TempDir(), filepath.Join(t.TempDir(), "args")
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\necho \"$@\" > "+args+".part && mv "+args+".part "+args+"\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	p := startPage(t, nil, dataDir, []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "DISPLAY=:0"}, "--open", "--listen", "127.0.0.1:0")
	var opened string
	for deadline := time.Now().Add(forever); opened == ""; time.Sleep(10 * time.Millisecond) {
		content, _ := os.ReadFile(args) // it comes
		if opened = strings.TrimSpace(string(content)); time.Now().After(deadline) {
			t.Fatal("no browser was started")
		}
	}
	u2, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	if token := u2.Query().Get("token"); strings.Contains(opened, token) || !strings.HasPrefix(opened, withoutToken(p.url)) {
		t.Errorf("it was started with %s", opened)
	}
	if code, body := seen(t, viewer(), opened); code != 200 || strings.Contains(body, "Sign in") {
		t.Errorf("the browser sees %d %.300s", code, body)
	}
	if code, body := seen(t, viewer(), opened); code != 401 || !strings.Contains(body, "Sign in") {
		t.Errorf("a second one sees %d %.300s", code, body)
	}
	p.interrupt(t)
}

// A data directory that cannot be written to, as of a backup or a mounted disk, is shown, and nothing is written there.
func TestPageOfAReadOnlyDirectory(t *testing.T) {
	dir := ordinaryDir(t)
	dataDir := filepath.Join(dir, "data")
	user := &syscall.Credential{Uid: ordinary, Gid: ordinary}
	u := startUpAs(t, user, dataDir, "-f", writeFor(t, dir, shellJob{name: "once", script: "echo said"}.String()))
	u.finished("once")
	u.wait("ready", func(l line) bool { return l.Message == "ready" })
	u.stop()
	journal := filepath.Join(dataDir, "journal")
	for _, path := range []string{journal, dataDir} {
		if err := os.Chmod(path, 0o500); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.Chmod(path, 0o700) }() // so that it can be removed
	}
	p := startPage(t, user, dataDir, nil, "--listen", "127.0.0.1:0")
	if code, body := seen(t, viewer(), strings.Replace(p.url, "/?", "/run/default/once?", 1)); code != 200 || !strings.Contains(body, "said") {
		t.Errorf("%d %s", code, body)
	}
	p.interrupt(t)
}
