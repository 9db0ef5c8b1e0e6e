// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"
)

var probeEntry = []string{"/bin/probe"}

// appConfig is an image's that runs as a user of its own.
var appConfig = v1.Config{User: "app", Entrypoint: probeEntry, Cmd: []string{"echo:by itself"}, Env: []string{"FROM=image"}, WorkingDir: "/work"}

// "carillon run" of a Job that names an image of a registry which wants credentials, with arguments and without a
// command: the image's program runs as the image's user, the run ends as the Job does, and only the image is kept. The
// second run needs no download.
func TestRunImage(t *testing.T) {
	eachUser(t, func(w *imageUser) {
		t, marker := w.t, "31.41591"
		reg := newImageRegistry(t)
		ref := reg.push(t, "private/app:1", newImage(t, appConfig, users))
		job := func(args ...string) string {
			return reg.pullSecret("registry") + imageJob{name: "app", image: ref, args: args, pod: "imagePullSecrets:\n- name: registry"}.String()
		}
		got := w.command(job("id", "env:FROM", "env:HOME", "pwd", "ls:/", "echo:"+marker), "run", "-f", "-")
		want := "1234 2345\nimage\n/home/app\n/work\nbin dev etc proc sys work\n" + marker + "\n"
		if got.code != 0 || got.stdout != want || !strings.Contains(got.stderr, "complete") {
			t.Errorf("got %+v, want %q", got, want)
		}
		w.wantNothingLeft(marker)

		downloads := reg.asked("GET", "/blobs/")
		got = w.command(job("echo:again "+marker, "complain:too bad", "exit:7"), "run", "-f", "-")
		if got.code != 1 || !sameLines(got.stdout, "again "+marker+"\ncomplained\ntoo bad\n") || !strings.Contains(got.stderr, "BackoffLimitExceeded") {
			t.Errorf("got %+v", got)
		}
		if n := reg.asked("GET", "/blobs/"); n != downloads {
			t.Errorf("the second run downloaded %d blobs", n-downloads)
		}
		w.wantNothingLeft(marker)
	})
}

// What cannot be pulled, or cannot start, ends "carillon run" at once, with a sentence for people that names the image,
// the cause and the cures.
func TestRunImageThatCannotStart(t *testing.T) {
	t.Parallel()
	reg := newImageRegistry(t)
	reg.push(t, "public/app:1", newImage(t, appConfig))
	reg.push(t, "private/app:1", newImage(t, appConfig))
	reg.push(t, "closed/app:1", newImage(t, appConfig))
	for name, tt := range map[string]struct {
		image string
		want  []string
	}{
		"unknown host":        {"registry.invalid/app:1", []string{"image registry.invalid/app:1 cannot be pulled: lookup registry.invalid: ", "--local-files", "image: host", "carillon image import"}},
		"unknown tag":         {reg.host() + "/public/app:2", []string{reg.host() + " does not have it", "carillon image import"}},
		"without credentials": {reg.host() + "/private/app:1", []string{reg.host() + " wants other credentials", "docker login", "imagePullSecrets"}},
		"unknown user":        {reg.push(t, "public/nobody:1", newImage(t, v1.Config{User: "nobody", Entrypoint: probeEntry})), []string{`the image has no user "nobody" in its /etc/passwd`, "runAsUser"}},
		"no command":          {reg.push(t, "public/nothing:1", newImage(t, v1.Config{})), []string{`container "main" has no command, and image`, "set command:"}},
		"denied":              {reg.host() + "/closed/app:1", []string{reg.host() + " refuses", "docker login"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newImageUser(t, nil, filepath.Dir(newDataDir(t)))
			got := w.command(imageJob{name: "app", image: tt.image}.String(), "run", "-f", "-", "--timeout", "100s")
			if got.code != 2 || got.stdout != "" {
				t.Errorf("exit code %d, stdout %q", got.code, got.stdout)
			}
			for _, want := range tt.want {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("stderr does not say %q", want)
				}
			}
			if bad := []string{"rpc error", "https://", "dial tcp"}; slices.ContainsFunc(bad, func(text string) bool { return strings.Contains(got.stderr, text) }) {
				t.Errorf("stderr has more than a person needs")
			}
			if t.Failed() {
				t.Logf("stderr:\n%s", got.stderr)
			}
			w.wantNothingTemporary()
		})
	}
}

// Jobs and CronJobs of images under "carillon up": what the manifest asks for is what the container gets.
func TestUpRunsImages(t *testing.T) {
	eachUser(t, func(w *imageUser) {
		t, marker := w.t, "31.41592"
		reg := newImageRegistry(t)
		root := newImage(t, v1.Config{Entrypoint: probeEntry, Cmd: []string{"echo:by itself", "id"}}, files{"etc/": "", "tmp/": ""})
		always, once, plain := reg.push(t, "public/always", root), reg.push(t, "public/once:1", root), reg.push(t, "public/plain:1", root)
		named, numbered := reg.push(t, "public/named:1", newImage(t, appConfig, users)), reg.push(t, "public/numbered:1", newImage(t, v1.Config{User: "1234:5", Entrypoint: probeEntry}))
		// An image of its own: the kubelet asks again for one that it has pulled by another name, and with Never it may not.
		here := reg.push(t, "public/here:1", newImage(t, v1.Config{Entrypoint: probeEntry, Cmd: []string{"echo:here"}}))
		missing := reg.push(t, "public/missing:1", root)
		if got := w.command("", "image", "pull", "-q", here); got != (result{}) {
			t.Fatalf("image pull -q: %+v", got)
		}
		// Beside RuntimeClass host, the user of an image that is here has no say either.
		classUser := reg.push(t, "public/class-user:1", newImage(t, v1.Config{User: "1234:5"}))
		if got := w.command("", "image", "pull", "-q", classUser); got != (result{}) {
			t.Fatalf("image pull -q: %+v", got)
		}
		self := os.Geteuid()
		if w.as != nil {
			self = int(w.as.Uid)
		}
		asked := reg.asked("/public/here/")
		notRoot := "securityContext: {runAsNonRoot: true}"
		u := w.up(imageJob{name: "always", image: always, job: "completions: 2"}.String() +
			imageJob{name: "once", image: once, job: "completions: 2"}.String() +
			imageJob{name: "never", image: here, container: "imagePullPolicy: Never"}.String() +
			imageJob{name: "never-missing", image: missing, container: "imagePullPolicy: Never"}.String() +
			imageJob{name: "numbered", image: numbered, args: []string{"id"}, container: notRoot}.String() +
			imageJob{name: "named", image: named, args: []string{"id"}, container: notRoot}.String() +
			imageJob{name: "as-root", image: plain, args: []string{"id"}, container: notRoot}.String() +
			imageJob{name: "chosen", image: named, args: []string{"id"}, container: "securityContext: {runAsNonRoot: true, runAsUser: 77, runAsGroup: 78}"}.String() +
			imageJob{name: "read-only", image: plain, args: []string{"write:/file", "write:/tmp/file", "write:/scratch/file"},
				container: "securityContext: {readOnlyRootFilesystem: true}\nvolumeMounts:\n- {name: scratch, mountPath: /scratch}", pod: "volumes:\n- {name: scratch, emptyDir: {}}"}.String() +
			imageJob{name: "writable", image: plain, args: []string{"write:/file", "cat:/file", "exit:5"}}.String() +
			imageJob{name: "lasting", image: named, args: []string{"echo:" + marker, "wait"}}.String() +
			shellJob{name: "host", script: "test -e /etc/passwd && echo this machine"}.String() +
			imageJob{name: "class-host", image: "registry.invalid/app:1", container: `command: ["/bin/sh", "-c", "test -e /etc/passwd && echo this machine"]`, pod: "runtimeClassName: host"}.String() +
			imageJob{name: "class-user", image: classUser, container: `command: ["/bin/sh", "-c", "id -u"]`, pod: "runtimeClassName: host"}.String() +
			imageJob{name: "grouped", image: plain, args: []string{"write:/scratch/file", "id"}, container: "volumeMounts:\n- {name: scratch, mountPath: /scratch}",
				pod: "securityContext: {runAsUser: 77, runAsGroup: 78, fsGroup: 4711}\nvolumes:\n- {name: scratch, emptyDir: {}}"}.String() +
			imageJob{name: "no-host", image: "registry.invalid/app:1"}.String() +
			imageJob{name: "no-name", image: reg.host() + "/public/other:1"}.String() +
			imageJob{name: "no-entry", image: reg.host() + "/private/app:1"}.String() +
			imageJob{name: "tick", image: plain, args: []string{"echo:tick"}}.cronJob("@every 1s"))

		end := u.wait("a run of the CronJob", func(l line) bool { return l.Type == "finished" && strings.HasPrefix(l.Object, "job/default/tick-") })
		if end.Outcome != "complete" || !slices.Contains(u.outputs("tick"), "tick") {
			t.Errorf("the CronJob's run ended %+v", end)
		}
		u.kubectl("delete", "cronjob", "tick")
		for name, want := range map[string]string{
			"always": "by itself\n0 0\n", "once": "by itself\n0 0\n", "never": "here\n", "host": "this machine\n", "class-host": "this machine\n", "numbered": "1234 5\n", "chosen": "77 78\n",
			"class-user": fmt.Sprintln(self), "grouped": "wrote\n77 78\n",
			"read-only": "error: open /file: read-only file system\nerror: open /tmp/file: read-only file system\nwrote\n",
		} {
			if end := u.finished(name); end.Outcome != "complete" {
				t.Errorf("%s ended %+v", name, end)
			}
			if got := u.logs(u.pods(name)[0].Name); got != want {
				t.Errorf("%s wrote %q, want %q", name, got, want)
			}
		}
		if end, pods := u.finished("writable"), u.pods("writable"); end.Outcome != "failed" || len(pods) != 1 || exitCode(&pods[0]) != 5 {
			t.Errorf("what exits with 5 ended %+v, %+v", end, statuses(pods))
		}
		if got := u.kubectl("logs", "job/writable"); got != "wrote\nwritten\n" {
			t.Errorf("writable wrote %q", got)
		}
		if reg.asked("/public/always/manifests/") < 2 || reg.asked("GET", "/public/once/manifests/") != 1 || reg.asked("/public/here/") != asked || reg.asked("/public/missing/") != 0 {
			t.Errorf("the policies Always, IfNotPresent and Never made these requests:\n%s", strings.Join(reg.seen, "\n"))
		}

		// What goes on.
		pod := u.pod("lasting", "running", running)
		until(t, "its output", func() bool { return strings.Contains(u.logs(pod.Name), marker) })
		if got := u.kubectl("exec", pod.Name, "--", "/bin/probe", "id", "env:FROM", "pwd"); got != "1234 2345\nimage\n/work\n" {
			t.Errorf("exec: %q", got)
		}
		if status := pod.Status.ContainerStatuses[0]; status.Image != named || !strings.Contains(status.ImageID, "sha256:") {
			t.Errorf("the container's image is %q, %q", status.Image, status.ImageID)
		}

		// What cannot be.
		u.waits("never-missing", "ErrImageNeverPull", "is not present with pull policy of Never")
		u.waits("as-root", "CreateContainerConfigError", "image will run as root")
		u.waits("named", "CreateContainerConfigError", "non-numeric user (app)")
		u.waits("no-host", "ErrImagePull", "image registry.invalid/app:1 cannot be pulled: lookup registry.invalid: ", "--local-files")
		u.waits("no-name", "ErrImagePull", "public/other:1 cannot be pulled: "+reg.host()+" does not have it")
		u.waits("no-entry", "ErrImagePull", "private/app:1 cannot be pulled: "+reg.host()+" wants other credentials", "imagePullSecrets")
		u.told("no-host", "image registry.invalid/app:1 cannot be pulled: lookup registry.invalid: ", "carillon image import")

		u.wantCleanStop(u.stop())
		w.wantNothingLeft(marker)
	})
}

// waits wants the Pod of a Job to wait for an image with a reason, or in the back-off that follows it, and a message.
func (u *up) waits(job, reason string, message ...string) {
	u.t.Helper()
	u.pod(job, "waiting with "+reason+": "+strings.Join(message, "… "), func(pod *corev1.Pod) bool {
		for _, s := range pod.Status.ContainerStatuses {
			w := s.State.Waiting
			if w != nil && (w.Reason == reason || reason == "ErrImagePull" && w.Reason == "ImagePullBackOff") &&
				!slices.ContainsFunc(message, func(text string) bool { return !strings.Contains(w.Message, text) }) {
				return true
			}
		}
		return false
	})
}

// With --local-files every name means the machine's own files, also one that nobody could pull, and there is no store.
func TestRunLocalFiles(t *testing.T) {
	t.Parallel()
	eachUser(t, func(w *imageUser) {
		job := imageJob{name: "local", image: "registry.invalid/app:1", container: `command: ["/bin/sh", "-c", "test -e /etc/passwd && echo this machine"]`}
		if got := w.command(job.String(), "run", "-f", "-", "--local-files"); got.code != 0 || got.stdout != "this machine\n" {
			w.t.Errorf("got %+v", got)
		}
		if _, err := os.Stat(w.images); !os.IsNotExist(err) {
			w.t.Errorf("a store of images was made: %v", err)
		}
	})
}

// Killed in the middle of a pull, Carillon goes on with it after the restart, where the download was cut off. Killed
// while a container runs, neither the container nor its image notices: the image stays, whoever prunes, until the
// container has ended.
func TestKillWithImages(t *testing.T) {
	eachUser(t, func(w *imageUser) {
		t, marker := w.t, "31.41593"
		const size = 4 << 20
		reg := newImageRegistry(t)
		img := newImage(t, v1.Config{Entrypoint: probeEntry}, files{"etc/": "", "big": noise(size)})
		gate := reg.holdUp(t, img)
		ref := reg.push(t, "public/big:1", img)
		shared := w.mkdir("shared")
		// A volume of the machine at another path than there.
		manifest := imageJob{name: "big", image: ref, args: []string{"append:/shared/big.starts", "echo:" + marker, "await:/shared/go", "echo:end"},
			container: "volumeMounts:\n- {name: shared, mountPath: /shared}", pod: "volumes:\n- {name: shared, hostPath: {path: " + shared + ", type: Directory}}"}.String()
		u := w.up(manifest)
		soon(t, "the download", gate.hit)
		until(t, "half of it to be here", func() bool { return w.partSize(gate.digest) > size/4 })
		u.kill()
		if n := w.wantWhole(); n != 0 {
			t.Errorf("%d images are there after half a download", n)
		}
		close(gate.open)

		u = w.up("")
		pod := u.pod("big", "running", running)
		until(t, "its output", func() bool { return strings.Contains(u.logs(pod.Name), marker) })
		if reg.asked("GET", gate.digest, "bytes=") == 0 {
			t.Errorf("the download began anew:\n%s", strings.Join(reg.seen, "\n"))
		}
		if left := w.halfDone(); len(left) > 0 {
			t.Errorf("left of the pulls: %q", left)
		}
		inUse := func(when string) {
			t.Helper()
			if got := w.command("", "image", "prune", "--all"); got.code != 0 || !strings.HasPrefix(got.stdout, "0 images removed") {
				t.Errorf("prune %s: %+v", when, got)
			}
			if got := w.command("", "image", "rm", ref); got.code != 1 || !strings.Contains(got.stderr, "is in use by a container") {
				t.Errorf("rm %s: %+v", when, got)
			}
		}
		inUse("while it runs")
		u.kill()
		inUse("while nobody but the container is there")

		u = w.up("")
		pod = u.pod("big", "running", running)
		if pod.Status.ContainerStatuses[0].RestartCount != 0 {
			t.Errorf("restarted: %+v", pod.Status.ContainerStatuses)
		}
		until(t, "exec in what went on", func() bool { // the kubelet may not have looked at it yet
			got := u.tryKubectl("", "exec", pod.Name, "--", "/bin/probe", "ls:/")
			return got.code == 0 && got.stdout == "big bin dev etc proc shared sys\n"
		})
		touch(t, shared, "go")
		u.job("big", "complete", complete)
		if got := starts(t, shared, "big"); got != 1 {
			t.Errorf("it was started %d times", got)
		}
		if got := u.logs(pod.Name); got != "appended\n"+marker+"\nfound\nend\n" {
			t.Errorf("wrote %q", got)
		}
		got := w.command("", "image", "prune", "--all")
		if got.code != 0 || !strings.Contains(got.stdout, "\n1 image removed") || len(w.layers()) != 0 || w.wantWhole() != 0 {
			t.Errorf("prune after its end: %+v, %d layers", got, len(w.layers()))
		}
		u.wantCleanStop(u.stop())
		w.wantNothingLeft(marker)
	})
}

// An image whose own directories are links out of it reaches nothing of the machine: not what Carillon mounts there,
// nor what the links say.
func TestImageLinksLeadNowhere(t *testing.T) {
	eachUser(t, func(w *imageUser) {
		t, marker := w.t, "31.41594"
		reg := newImageRegistry(t)
		outside := w.mkdir("outside")
		const secret = "a secret of the machine"
		for _, name := range []string{"hosts", "resolv.conf", "hostname", "passwd", "null"} {
			must(t, os.WriteFile(filepath.Join(outside, name), []byte(secret), 0o600))
			must(t, os.Chmod(filepath.Join(outside, name), 0o666))
		}
		before := listing(t, outside)
		up := strings.Repeat("../", 12)
		args := []string{"cat:" + outside + "/hostname", "cat:/etc/hostname", "cat:/etc/passwd", "ls:" + outside, "write:" + outside + "/hosts", "write:/vol/null", "ls:/proc/1/root" + outside, "echo:" + marker}
		images := map[string]files{
			"etc-out": {"etc": "-> " + outside},
			"etc-up":  {"etc": "-> " + up + outside[1:]},
			"proc":    {"proc": "-> " + outside},
			"dev":     {"dev": "-> " + outside},
			"sys":     {"sys": "-> " + up + outside[1:]},
			"chain":   {"a": "-> /proc/self/root", "etc": "-> /a" + outside},
			"inner":   {"etc/hosts": "-> " + outside + "/hosts", "etc/hostname": "-> " + up + outside[1:] + "/hostname", "etc/passwd": "-> " + outside + "/passwd", "vol": "-> " + outside},
			"parent":  {"x": "-> " + outside, "x/hosts": "planted", "x/new": "planted"},
		}
		var manifest strings.Builder
		for name, f := range images {
			ref := reg.push(t, "public/"+name+":1", newImage(t, v1.Config{Entrypoint: probeEntry, User: "0"}, f))
			manifest.WriteString(imageJob{name: name, image: ref, args: args,
				container: "volumeMounts:\n- {name: vol, mountPath: /vol}", pod: "volumes:\n- {name: vol, emptyDir: {}}"}.String())
		}
		u := w.up(manifest.String())
		for name := range images {
			// It runs in its own files, or is refused.
			pod := u.pod(name, "done or refused", func(pod *corev1.Pod) bool {
				return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed ||
					len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].State.Waiting != nil && strings.HasSuffix(pod.Status.ContainerStatuses[0].State.Waiting.Reason, "Error")
			})
			text, _ := json.Marshal(pod.Status)
			wrote := ""
			if pod.Status.Phase == corev1.PodSucceeded {
				wrote = u.logs(pod.Name)
			}
			refused := slices.Contains([]string{"proc", "dev", "sys"}, name) && strings.Contains(string(text), "/"+name+" of the image")
			if strings.Contains(wrote, secret) || !strings.HasSuffix(wrote, "\n"+marker+"\n") && !refused {
				t.Errorf("%s wrote %q, status %s", name, wrote, text)
			}
		}
		if after := listing(t, outside); after != before { // with what the files hold
			t.Errorf("outside was\n%s\nand is\n%s", before, after)
		}
		if left := leftMounts(t, outside); len(left) > 0 {
			t.Errorf("mounted: %q", left)
		}
		u.wantCleanStop(u.stop())
		w.wantNothingLeft(marker)
	})
}
