// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cronJobOf is a CronJob of any kind whose Job runs one container; container is the rest of it.
func cronJobOf(apiVersion, name, schedule, container string) string {
	return "apiVersion: " + apiVersion + "\nkind: CronJob\nmetadata:\n  name: " + name + "\nspec:\n  schedule: \"" + schedule + "\"\n" +
		"  jobTemplate:\n    spec:\n      template:\n        spec:\n          restartPolicy: Never\n          containers:\n          - name: main\n            image: none\n" + indent(container, 12) + "\n"
}

const echoing = `command: ["/bin/sh", "-c", "echo ran"]`

// What a cluster would refuse, and what can never start, is the user's to mend: exit code 2 with the reason, at once.
func TestRunChecksTheWhole(t *testing.T) {
	long := shellJob{name: "j", script: "true", job: "backoffLimit: 6"}.String()
	tests := map[string]struct{ manifest, want string }{
		"a schedule that is none":    {cronJobOf("batch/v1", "bad", "61 * * * *", echoing), "spec.schedule"},
		"a time zone that is none":   {strings.Replace(cronJobOf("batch/v1", "bad", "@daily", echoing), "spec:\n", "spec:\n  timeZone: Mars/Base\n", 1), "timeZone"},
		"a policy that is none":      {strings.Replace(cronJobOf("batch/v1", "bad", "@daily", echoing), "spec:\n", "spec:\n  concurrencyPolicy: Sometimes\n", 1), "concurrencyPolicy"},
		"in a namespace of its own":  {"apiVersion: v1\nkind: Namespace\nmetadata: {name: own}\n---\n" + strings.Replace(cronJobOf("batch/v1", "bad", "61 * * * *", echoing), "name: bad", "name: bad\n  namespace: own", 1), "spec.schedule"},
		"the book's, with a word":    {cronJobOf("batch.tutorial.kubebuilder.io/v1", "bad", "at noon", echoing), "spec.schedule"},
		"the book's, a policy":       {strings.Replace(cronJobOf("batch.tutorial.kubebuilder.io/v1", "bad", "@daily", echoing), "spec:\n", "spec:\n  concurrencyPolicy: Sometimes\n", 1), "concurrencyPolicy"},
		"Volcano's, without Volcano": {cronJobOf("batch.volcano.sh/v1alpha1", "bad", "@daily", echoing), "run by Volcano, which is not here"},
		"no command":                 {strings.Replace(long, "command:", "env: []\n        #", 1), "has no command"},
		"no such program":            {strings.Replace(long, `command: ["/bin/sh", "-c"]`, `command: ["/no/such/program"]`, 1), "no such file on this machine"},
		"no such user":               {strings.Replace(long, "image: none", "image: none\n        securityContext: {runAsUser: 4294967295}", 1), "4294967295"},
		"no such ConfigMap":          {strings.Replace(long, "image: none", "image: none\n        envFrom: [{configMapRef: {name: nope}}]", 1), `can never start: Failed: configmap "nope" not found`},
		"no such Secret as a volume": {shellJob{name: "j", script: "true", pod: "volumes:\n- name: v\n  secret: {secretName: nope}", mounts: "- name: v\n  mountPath: /v"}.String(), `secret "nope" not found`},
		"an image's name":            {strings.Replace(long, "image: none", `image: "A B"`, 1), "couldn't parse image name"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Dir(newDataDir(t))
			t.Setenv("TMPDIR", dir)
			got := command(t, tt.manifest, "run", "-f", "-", "--timeout", "100s")
			if got.code != 2 || !strings.Contains(got.stderr, tt.want) || got.stdout != "" {
				t.Errorf("got %+v, want exit code 2 and %q", got, tt.want)
			}
			wantEmpty(t, dir, "")
		})
	}
}

// What could be read without a plane is refused before one is started.
func TestUnreadableManifests(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"a device without end":  {"", []string{"run", "-f", "/dev/zero"}, "/dev/zero: it holds more than 16 MiB"},
		"up, too":               {"", []string{"up", "-f", "/dev/zero", "--data-dir", "/tmp/never-made"}, "/dev/zero: it holds more than 16 MiB"},
		"a name like a boolean": {"# first line\n" + strings.Replace(shellJob{name: "j", script: "true"}.String(), "name: j", "name: n", 1), []string{"run", "-f", "-"}, `line 5: metadata.name: YAML reads n as a boolean, and text is wanted here: write it in quotes, "n"`},
		"a name like a number":  {strings.Replace(shellJob{name: "j", script: "true"}.String(), "name: j", "name: 1e3", 1), []string{"run", "-f", "-"}, `YAML reads 1e3 as a number`},
		"a name with escapes":   {"kind: \"\\e[2J\"\napiVersion: v1\n", []string{"run", "-f", "-"}, "^[[2J"},
	} {
		t.Run(name, func(t *testing.T) {
			got := command(t, tt.stdin, tt.args...)
			if got.code != 2 || !strings.Contains(got.stderr, tt.want) || strings.Contains(got.stderr, "\x1b") {
				t.Errorf("got %+v, want %q", got, tt.want)
			}
		})
	}
	t.Run("a FIFO that nobody writes to", func(t *testing.T) {
		cmd, stdout, stderr := unread(t, t.TempDir(), "", "run", "-f", fifo)
		_ = stdout
		time.AfterFunc(4*time.Second, func() { _ = cmd.Process.Signal(os.Interrupt) })
		if code := endsBy(t, cmd, forever/2); code != 130 || !strings.Contains(stderr.String(), "waiting for manifests from "+fifo) {
			t.Errorf("exit code %d, stderr:\n%s", code, stderr)
		}
	})
}

// CronJobs of the kubebuilder book and of batch/v1beta1 are run like those of batch/v1.
func TestRunOtherKinds(t *testing.T) {
	for name, tt := range map[string]struct{ manifest, says string }{
		"the book's":    {cronJobOf("batch.tutorial.kubebuilder.io/v1", "book", "TZ=Europe/Rome @daily", echoing), "complete"},
		"batch/v1beta1": {cronJobOf("batch/v1beta1", "old", "@daily", echoing), "CronJob old: batch/v1beta1 is read as batch/v1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Dir(newDataDir(t))
			t.Setenv("TMPDIR", dir)
			got := command(t, tt.manifest, "run", "-f", "-")
			if got.code != 0 || got.stdout != "ran\n" || strings.Count(got.stderr, tt.says) != 1 {
				t.Errorf("got %+v, want %q", got, tt.says)
			}
			wantEmpty(t, dir, "")
		})
	}
}

// up tells the next run of every kind whose API is there, and the start and end of what it starts; run starts a CronJob
// of such a kind by its name.
func TestUpTellsOfOtherKinds(t *testing.T) {
	u := startReady(t, newDataDir(t), "-f", "../../deploy/crds", "-f", "../../examples/tutorial")
	u.wait("the book's next run", func(l line) bool {
		return l.Type == "due" && l.Object == "cronjob.batch.tutorial.kubebuilder.io/default/hello-tutorial"
	})
	if got := command(t, "", "run", "hello-tutorial", "--data-dir", u.dataDir); got.code != 0 || !strings.Contains(got.stdout, "hello from the book") {
		t.Errorf("run: %+v", got)
	}
	u.wait("its end", func(l line) bool {
		return l.Type == "finished" && strings.HasPrefix(l.Object, "job/default/hello-tutorial-") && l.Outcome == "complete"
	})

	// Volcano's definitions come later, and nobody is here who would run its Jobs; the test says how they end.
	u.kubectl("apply", "-f", "../../internal/kind/volcano/testdata/batch.volcano.sh.yaml")
	until(t, "the definitions to be served", func() bool {
		return u.tryKubectl("", "apply", "-f", "../../examples/volcano").code == 0
	})
	u.wait("Volcano's next run", func(l line) bool {
		return l.Type == "due" && l.Object == "cronjob.batch.volcano.sh/default/nightly-training"
	})
	ended := make(chan result, 1)
	go func() { ended <- command(t, "", "run", "nightly-training", "--data-dir", u.dataDir) }()
	job := ""
	until(t, "Volcano's Job", func() bool {
		job = strings.TrimSpace(u.kubectl("get", "jobs.batch.volcano.sh", "-o", "jsonpath={.items[*].metadata.name}"))
		return job != ""
	})
	for _, phase := range []string{"Running", "Failed"} {
		u.kubectl("patch", "jobs.batch.volcano.sh", job, "--subresource=status", "--type=merge", "-p",
			`{"status":{"state":{"phase":"`+phase+`","message":"said by the test","lastTransitionTime":"`+time.Now().Add(time.Minute).UTC().Format(time.RFC3339)+`"}}}`)
		if phase == "Running" {
			u.wait("its start", func(l line) bool { return l.Type == "started" && l.Object == "job.batch.volcano.sh/default/"+job })
		}
	}
	end := u.wait("its end", func(l line) bool { return l.Type == "finished" && l.Object == "job.batch.volcano.sh/default/"+job })
	if end.Outcome != "failed" || end.Message != "said by the test" {
		t.Errorf("told %+v", end)
	}
	if got := <-ended; got.code != 1 || !strings.Contains(got.stderr, "said by the test") {
		t.Errorf("run: %+v", got)
	}
}

// The examples are applied as they are; those of kinds whose API is not there stay out, and one line says so.
func TestExamples(t *testing.T) {
	u := startReady(t, newDataDir(t), "-f", "../../examples")
	l := u.wait("a line about directories", func(l line) bool { return strings.Contains(l.Message, "left out: manifests in directories") })
	want := "left out: manifests in directories below ../../examples; to take them too, add"
	entries, err := os.ReadDir("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			want += " -f ../../examples/" + e.Name()
		}
	}
	if l.Message != want {
		t.Errorf("said %q, want %q", l.Message, want)
	}
	got := command(t, "", "up", "-f", "../../examples/tutorial", "--data-dir", newDataDir(t), "--exit-after", "1s")
	if got.code != 2 || !strings.Contains(got.stderr, "deploy/crds/batch.tutorial.kubebuilder.io_cronjobs.yaml") {
		t.Errorf("without its API: %+v", got)
	}
}

// Two at once, and one that was killed, are told apart, each with what to do.
func TestStateOfTheOther(t *testing.T) {
	dataDir := newDataDir(t)
	u := startReady(t, dataDir)
	got := command(t, "", "up", "--data-dir", dataDir)
	if got.code == 0 || !strings.Contains(got.stderr, "is in use by") {
		t.Errorf("two at once: %+v", got)
	}
	u.kill()
	for name, args := range map[string][]string{
		"run":     {"run", "x", "--data-dir", dataDir},
		"kubectl": {"kubectl", "--data-dir", dataDir, "get", "pods"},
	} {
		got := command(t, "", args...)
		if got.code == 0 || !strings.Contains(got.stderr, "the Carillon on "+dataDir+" does not run, it was stopped or killed; nothing is lost: start it with `carillon up --data-dir "+dataDir+"`") {
			t.Errorf("%s on one that was killed: %+v", name, got)
		}
	}
	got = command(t, "", "run", "x", "--data-dir", filepath.Join(dataDir, "none"))
	if got.code != 2 || !strings.Contains(got.stderr, "no Carillon keeps its state in") {
		t.Errorf("on none: %+v", got)
	}
	startReady(t, dataDir)
}
