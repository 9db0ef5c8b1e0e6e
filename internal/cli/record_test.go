// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/datadir"
)

// forbidding serves a cluster that forbids everything, and gives a kubeconfig of it.
func forbidding(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"user ann cannot list jobs"}`)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
clusters: [{name: a, cluster: {server: %q}}], users: [{name: a, user: {}}]}`, server.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// What cannot be recorded, or not there, is refused with the cure, and no journal is made.
func TestRecordRefusals(t *testing.T) {
	kubeconfig, base := forbidding(t), t.TempDir()
	dataDir := filepath.Join(base, "data")
	if err := os.MkdirAll(datadir.ControlPlane(dataDir), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := holdJournal(filepath.Join(base, "held"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.release()
	dir := filepath.Join(base, "journal")
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no journal":            {nil, exitcode.Usage, "--journal must name the directory"},
		"a data directory":      {[]string{"--journal", dir, "--data-dir", dataDir}, exitcode.Usage, "keeps a journal of its own: carillon history --data-dir"},
		"its journal":           {[]string{"--journal", datadir.Journal(dataDir)}, exitcode.Usage, "keeps its own journal there: name another directory"},
		"beside its journal":    {[]string{"--journal", dataDir}, exitcode.Usage, "keeps its own journal there: name another directory"},
		"no directory":          {[]string{"--journal", file}, exitcode.Usage, "--journal: "},
		"two namespaces":        {[]string{"--journal", dir, "-A", "-n", "shop"}, exitcode.Usage, "exclude each other"},
		"no kubeconfig":         {[]string{"--journal", dir, "--kubeconfig", filepath.Join(base, "none")}, exitcode.Usage, "no such file"},
		"no context":            {[]string{"--journal", dir, "--context", "none"}, exitcode.Usage, `context "none" does not exist`},
		"too short":             {[]string{"--journal", dir, "--keep-runs", "1s"}, exitcode.Usage, "must be a minute at least"},
		"an argument":           {[]string{"--journal", dir, "cronjob/a"}, exitcode.Usage, "unknown command"},
		"another one writes it": {[]string{"--journal", held.path}, exitcode.Failed, fmt.Sprintf("is written by process %d: stop that process, or name another", os.Getpid())},
		"Jobs forbidden":        {[]string{"--journal", dir}, exitcode.Failed, "bind the ClusterRole carillon-recorder of deploy/recorder/rbac.yaml"},
		"Jobs of a namespace":   {[]string{"--journal", dir, "-n", "shop"}, exitcode.Failed, "the Jobs of the namespace shop may not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"record"}, c.args...)
			if !strings.Contains(strings.Join(args, " "), "kubeconfig") {
				args = append(args, "--kubeconfig", kubeconfig)
			}
			var out, errOut bytes.Buffer
			code := Run(args, Streams{In: strings.NewReader(""), Out: &out, Err: &errOut})
			if code != c.code || !strings.Contains(errOut.String(), c.want) || out.Len() > 0 {
				t.Errorf("exit code %d, want %d with %q: %s%s", code, c.code, c.want, &out, &errOut)
			}
			if _, err := os.Lstat(filepath.Join(dir, "runs.db")); err == nil {
				t.Error("it made a journal")
			}
		})
	}
}

// A journal is continued with the runs of its cluster alone.
func TestJournalIsOfOneCluster(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	for n, c := range []struct{ uid, want string }{{"a", ""}, {"a", ""}, {"b", "is of another cluster than that at host"}, {"a", ""}} {
		held, err := holdJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := held.of(c.uid, "host"); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d: %v, want %q", n, err, c.want)
		}
		held.release()
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}
