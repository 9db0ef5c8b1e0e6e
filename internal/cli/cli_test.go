// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/datadir"
)

const jobText = `apiVersion: batch/v1
kind: Job
metadata: {name: NAME}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: host, command: ["true"]}]}}}
`

func objects(t *testing.T, names ...string) []manifest.Object {
	t.Helper()
	var text strings.Builder
	for _, name := range names {
		text.WriteString("---\n" + strings.Replace(jobText, "NAME", name, 1))
	}
	text.WriteString("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n")
	got, err := manifest.Parse("f.yaml", []byte(text.String()), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// run takes the one that is named, or the only one, and says what there is otherwise.
func TestChoose(t *testing.T) {
	tests := map[string]struct {
		there []string
		name  string
		want  string
		fault string
	}{
		"the only one":            {there: []string{"a"}, want: "a"},
		"the one that is named":   {there: []string{"a", "b"}, name: "b", want: "b"},
		"several and no name":     {there: []string{"a", "b"}, fault: `one of ["a" "b"]`},
		"a name that is not here": {there: []string{"a"}, name: "x", fault: `no Job, CronJob or Timetable "x" in the files; they hold ["a"]`},
		"nothing to run":          {fault: "no Job, CronJob or Timetable to run"},
		"one name twice":          {there: []string{"a", "a"}, name: "a", fault: `"a" is both f.yaml: document 1`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := runOptions{name: test.name}
			target, others, err := o.chooseTarget(objects(t, test.there...))
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Fatalf("got %v, want a message with %q", err, test.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if target.GetName() != test.want || len(others) != 1 || others[0].GetName() != "settings" {
				t.Errorf("chose %v beside %v", target, others)
			}
		})
	}
}

// The exit code tells a script whose fault it is.
func TestExitCodes(t *testing.T) {
	tests := map[string]struct {
		err  error
		want int
		says string
	}{
		"done":                       {nil, 0, ""},
		"a failed Job has said so":   {&exitcode.Error{Code: exitcode.Failed}, 1, ""},
		"a timeout":                  {&exitcode.Error{Code: exitcode.Timeout}, 124, ""},
		"a wrong flag":               {usage("unknown flag: %s", "--x"), 2, "carillon: unknown flag: --x\n"},
		"a manifest":                 {fmt.Errorf("apply: %w", &manifest.Fault{Where: "f.yaml: document 1 (line 1)", What: "kind is missing"}), 2, "carillon: apply: f.yaml: document 1 (line 1): kind is missing\n"},
		"anything else":              {errors.New("no"), 1, "carillon: no\n"},
		"each line names the sender": {errors.Join(errors.New("a"), errors.New("b")), 1, "carillon: a\ncarillon: b\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if got := exitCode(test.err, &b); got != test.want || b.String() != test.says {
				t.Errorf("exit code %d and %q, want %d and %q", got, b.String(), test.want, test.says)
			}
		})
	}
}

// Wrong flags and arguments exit with 2 and point to the help, for each command.
func TestUsage(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "data")
	for _, args := range [][]string{
		{"up", "--no-such-flag"}, {"up", "argument"}, {"run"}, {"run", "a", "b"}, {"run", "-f", "/no/such/file"},
		{"up", "--concurrent-job-syncs=0"}, {"manager", "--concurrent-cron-job-syncs=-1"}, {"manager", "--kinds=x"}, {"manager", "--controllers=x"},
		{"up", "--data-dir", missing, "--quota-backend-bytes=1Mi"}, {"up", "--data-dir", missing, "--event-ttl=1ms"},
		{"up", "--data-dir", missing, "--cluster-signing-duration=1s"}, {"up", "--data-dir", missing, "--listen=nowhere"},
		{"manager", "--metrics-secure=false", "--metrics-bind-address=:8080"}, {"manager", "--tls-cert-file=f"},
		{"up", "--data-dir", missing, "--image-cache-size=much"}, {"run", "-f", "-", "--registry-mirror=nowhere"}, {"run", "x", "--context", "c", "--local-files"},
		{"up", "--data-dir", missing, "--container-runtime-endpoint=unix:///x", "--image-dir=/x"},
		{"image", "nothing"}, {"image", "pull"}, {"image", "pull", "host"}, {"image", "pull", "A"}, {"image", "list", "x"}, {"image", "import"},
		{"image", "rm"}, {"image", "prune", "--all", "--unused-for=1h"}, {"image", "prune", "--unused-for=-1h"}, {"image", "list", "-o", "xml"},
		{"up", "-o", "xml"}, {"version", "-o", "xml"}, {"no-such-command"}, {"version", "argument"}, {"run", "-f", "-", "--timeout", "soon"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			var out, errs bytes.Buffer
			got := Run(args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			if got != exitcode.Usage || errs.Len() == 0 {
				t.Errorf("exit code %d and %q, want 2 and a message", got, errs.String())
			}
			if _, err := os.Stat(missing); err == nil {
				t.Error("it made a directory")
			}
		})
	}
}

// kubectl talks to the Carillon of this machine, unless the user names another cluster.
func TestPointAt(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "kubeconfig")
	open := filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.Chmod(dir, 0o700), os.WriteFile(own, nil, 0o600), os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args    []string
		env     string
		named   bool
		dir     string
		want    string
		wantErr bool
	}{
		"by default":                          {args: []string{"get", "pods"}, dir: dir, want: own},
		"another context":                     {args: []string{"get", "pods", "--context=x"}, dir: dir, want: ""},
		"another kubeconfig":                  {args: []string{"--kubeconfig", "x", "get", "pods"}, dir: dir, want: ""},
		"KUBECONFIG":                          {args: []string{"get", "pods"}, env: "mine", dir: dir, want: "mine"},
		"a directory that is named wins":      {args: []string{"get", "pods"}, env: "mine", named: true, dir: dir, want: own},
		"a named one must be there":           {args: []string{"get", "pods"}, named: true, dir: t.TempDir(), wantErr: true},
		"the default one need not":            {args: []string{"get", "pods"}, dir: t.TempDir(), want: ""},
		"one that others can write in":        {args: []string{"get", "pods"}, dir: open, wantErr: runtime.GOOS != "windows"},
		"what follows -- is the container's":  {args: []string{"exec", "p", "--", "ls", "--context=x"}, dir: dir, want: own},
		"help needs no server, named or not":  {args: []string{"--help"}, named: true, dir: t.TempDir(), want: ""},
		"no arguments need no server, either": {named: true, dir: t.TempDir(), want: ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", test.env)
			err := pointKubectlAt(test.args, test.dir, test.named)
			if (err != nil) != test.wantErr {
				t.Fatalf("error %v, want one: %t", err, test.wantErr)
			}
			if got := os.Getenv("KUBECONFIG"); err == nil && got != test.want {
				t.Errorf("KUBECONFIG is %q, want %q", got, test.want)
			}
		})
	}
}

// Our flag is taken out of kubectl's arguments, but not out of a container's.
func TestCutDataDir(t *testing.T) {
	t.Setenv(datadir.Env, "/default")
	for name, test := range map[string]struct{ args, rest []string }{
		"with =":   {[]string{"get", "--data-dir=/x", "pods"}, []string{"get", "pods"}},
		"separate": {[]string{"--data-dir", "/x", "get", "pods"}, []string{"get", "pods"}},
	} {
		if rest, dir, named := cutDataDir(test.args); !slices.Equal(rest, test.rest) || dir != "/x" || !named {
			t.Errorf("%s: got %q, %q, %t", name, rest, dir, named)
		}
	}
	args := []string{"exec", "p", "--", "ls", "--data-dir=/x"}
	if rest, dir, _ := cutDataDir(args); !slices.Equal(rest, args) || dir != "/default" {
		t.Errorf("after --: got %q, %q", rest, dir)
	}
}

// Each command explains itself, with an example where there is something to show.
func TestEveryCommandTeaches(t *testing.T) {
	root := NewRoot(Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if sub.Hidden || sub.Name() == "help" || sub.Name() == "completion" {
				continue
			}
			if sub.Short == "" || strings.HasSuffix(sub.Short, ".") {
				t.Errorf("%s: Short is %q; it is a phrase without a full stop", sub.CommandPath(), sub.Short)
			}
			if sub.Name() != "version" && sub.Example == "" {
				t.Errorf("%s has no example", sub.CommandPath())
			}
			if text := string(reference(sub)); !strings.Contains(text, sub.CommandPath()) {
				t.Errorf("the reference of %s does not name it", sub.CommandPath())
			}
			check(sub)
		}
	}
	check(root)
}

// What kubectl says last gets the cure, where we know it.
func TestHinted(t *testing.T) {
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	kubeconfig := func(address string) {
		text := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u}]\nclusters: [{name: c, cluster: {server: https://" + address + "}}]\n"
		if err := os.WriteFile(datadir.Kubeconfig(dir), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig(listener.Addr().String())
	t.Setenv("KUBECONFIG", datadir.Kubeconfig(dir))
	if got := withHint("error: no", dir); got != "error: no\n" {
		t.Errorf("one that answers: %q", got)
	}
	old := "error: no matches for kind \"CronJob\" in version \"batch/v1beta1\"\n"
	if got := withHint(old, dir); !strings.Contains(got, "write apiVersion: batch/v1") {
		t.Errorf("an old CronJob: %q", got)
	}
	kubeconfig("127.0.0.1:1")
	if got := withHint("refused", dir); !strings.Contains(got, "does not run, it was stopped or killed") {
		t.Errorf("one that was killed: %q", got)
	}
	t.Setenv("KUBECONFIG", "/somebody/elses")
	if got := withHint("refused", dir); got != "refused\n" {
		t.Errorf("another cluster: %q", got)
	}
}

// kubectl is given other files in place of those with an old CronJob, wherever they are named, and all else as it
// stands.
func TestConvertManifests(t *testing.T) {
	dir := t.TempDir()
	old, current := filepath.Join(dir, "old.yaml"), filepath.Join(dir, "new.yaml")
	cronJob := strings.NewReplacer("batch/v1", "batch/v1beta1", "kind: Job", "kind: CronJob").Replace(jobText)
	for path, text := range map[string]string{old: cronJob, current: jobText} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		args []string
		want []string // CONVERTED stands for a file that only this process has
	}{
		"a value of its own":  {[]string{"-n", "x", "apply", "-f", old, "--wait"}, []string{"-n", "x", "apply", "--filename=CONVERTED", "--wait"}},
		"joined":              {[]string{"apply", "-f" + old, "--filename=" + old}, []string{"apply", "--filename=CONVERTED", "--filename=CONVERTED"}},
		"a list":              {[]string{"apply", "-f", old + "," + current}, []string{"apply", "--filename=CONVERTED", "--filename=" + current}},
		"a directory":         {[]string{"apply", "-f", dir}, []string{"apply", "--filename=" + current, "--filename=CONVERTED"}},
		"nothing old":         {[]string{"apply", "-f", current}, []string{"apply", "--filename=" + current}},
		"nothing there":       {[]string{"apply", "-f", "https://example.com/x.yaml"}, []string{"apply", "--filename=https://example.com/x.yaml"}},
		"no value":            {[]string{"apply", "-f"}, []string{"apply", "-f"}},
		"after the arguments": {[]string{"apply", "--", "-f", old}, []string{"apply", "--", "-f", old}},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			got, err := convertManifests(t.Context(), tt.args, Streams{Err: &said})
			if err != nil {
				t.Fatal(err)
			}
			for i, arg := range got {
				if file, ok := strings.CutPrefix(arg, "--filename=/dev/fd/"); ok {
					text, err := os.ReadFile("/dev/fd/" + file)
					if err != nil || !strings.Contains(string(text), "apiVersion: batch/v1\n") {
						t.Errorf("%q, %v", text, err)
					}
					got[i] = "--filename=CONVERTED"
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if n := strings.Count(said.String(), "batch/v1beta1 is read as batch/v1"); n != strings.Count(strings.Join(tt.want, " "), "CONVERTED") {
				t.Errorf("said %q", &said)
			}
		})
	}
}
