// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/kind"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: here
clusters:
- {name: here, cluster: {server: "http://127.0.0.1:1"}}
- {name: there, cluster: {server: "http://127.0.0.2:1"}}
contexts:
- {name: here, context: {cluster: here, user: me}}
- {name: there, context: {cluster: there, user: me}}
users:
- {name: me, user: {}}
`

// The command says what is wrong with its flags and its cluster, and what to do.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config")
	if err := os.WriteFile(path, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", filepath.Join(dir, "none"))
	t.Setenv("HOME", dir)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no cluster":           {want: "no cluster is configured; give one with --kubeconfig"},
		"no such kubeconfig":   {args: []string{"--kubeconfig", filepath.Join(dir, "none")}, want: "none: no such file"},
		"no such context":      {args: []string{"--kubeconfig", path, "--context", "elsewhere"}, want: `"elsewhere" does not exist`},
		"the current context":  {args: []string{"--kubeconfig", path}, want: "cannot reach the API server at http://127.0.0.1:1"},
		"another context":      {args: []string{"--kubeconfig", path, "--context", "there"}, want: "cannot reach the API server at http://127.0.0.2:1"},
		"unknown controller":   {args: []string{"--kubeconfig", path, "--controllers", "job,cron"}, want: `no controller is called "cron"; there are: cronjob, job, timetable, ttl-after-finished`},
		"unknown kind":         {args: []string{"--kinds", "batch,volcanoes"}, want: `--kinds: no kind of CronJob is called "volcanoes"; there are: ` + strings.Join(kind.Names(), ", ")},
		"no kind":              {args: []string{"--kinds="}, want: `--kinds: no kind of CronJob is named`},
		"no CronJob at a time": {args: []string{"--concurrent-cron-job-syncs=0"}, want: `"--concurrent-cron-job-syncs" flag: must be a whole number of at least 1`},
		"less than no Job":     {args: []string{"--concurrent-job-syncs=-1"}, want: `"--concurrent-job-syncs" flag: must be a whole number of at least 1`},
		"half a deletion":      {args: []string{"--concurrent-ttl-after-finished-syncs=0.5"}, want: `"--concurrent-ttl-after-finished-syncs" flag: must be a whole number of at least 1`},
		"unknown log format":   {args: []string{"--kubeconfig", path, "--log-format", "xml"}, want: `"xml" is not known; use text or json`},
		"clear text beyond the machine": {
			args: []string{"--kubeconfig", path, "--metrics-secure=false", "--metrics-bind-address", ":8080"},
			want: `served on loopback addresses only, and ":8080" is none; use --metrics-bind-address=127.0.0.1:PORT`,
		},
		"a certificate without its key": {args: []string{"--kubeconfig", path, "--tls-cert-file", path}, want: "give both --tls-cert-file and --tls-private-key-file"},
		"arguments are no files":        {args: []string{"cronjob.yaml"}, want: `unknown command "cronjob.yaml"`},
	} {
		t.Run(name, func(t *testing.T) {
			c := New("manager")
			c.SilenceUsage, c.SilenceErrors = true, true
			var out bytes.Buffer
			c.SetOut(&out)
			c.SetErr(&out)
			c.SetArgs(append([]string{}, test.args...))
			err := c.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// The help names every flag that the manual promises.
func TestHelp(t *testing.T) {
	c := New("carillon manager")
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetArgs([]string{"--help"})
	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--kubeconfig", "--context", "--controllers", "--kinds", "--concurrent-cron-job-syncs", "--concurrent-job-syncs",
		"--concurrent-ttl-after-finished-syncs", "--leader-elect", "--leader-elect-namespace",
		"--metrics-bind-address", "--metrics-secure", "--tls-cert-file", "--tls-private-key-file", "--health-probe-bind-address", "--log-format"} {
		if !strings.Contains(out.String(), flag+" ") {
			t.Errorf("no %s in:\n%s", flag, out.String())
		}
	}
}
