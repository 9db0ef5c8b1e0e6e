// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// imageUser is somebody who runs containers of images: root, or an ordinary user.
type imageUser struct {
	t      *testing.T
	as     *syscall.Credential // nil is oneself
	dir    string              // of this user alone, for all that the test needs
	images string              // the store
	env    []string
}

// eachUser runs a test as root and as an ordinary user, as far as the test's own user can be both, side by side: most
// of the time both wait for a kubelet.
func eachUser(t *testing.T, do func(w *imageUser)) {
	t.Helper()
	if os.Geteuid() != 0 {
		do(newImageUser(t, nil, filepath.Dir(newDataDir(t))))
		return
	}
	t.Run("root", func(t *testing.T) {
		t.Parallel()
		do(newImageUser(t, nil, filepath.Dir(newDataDir(t))))
	})
	t.Run("user", func(t *testing.T) {
		t.Parallel()
		do(newImageUser(t, &syscall.Credential{Uid: ordinary, Gid: ordinary}, ordinaryDir(t)))
	})
}

func newImageUser(t *testing.T, as *syscall.Credential, dir string) *imageUser {
	t.Helper()
	w := &imageUser{t: t, as: as, dir: dir, images: filepath.Join(dir, "images")}
	tmp := w.mkdir("tmp")
	w.env = []string{"HOME=" + dir, "TMPDIR=" + tmp, "XDG_CACHE_HOME=", "XDG_RUNTIME_DIR=", "DOCKER_CONFIG=", "REGISTRY_AUTH_FILE="}
	return w
}

// mkdir makes a directory of this user's that everybody may write to.
func (w *imageUser) mkdir(name string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	must(w.t, os.Mkdir(path, 0o755))
	must(w.t, os.Chmod(path, 0o777))
	if w.as != nil {
		must(w.t, os.Chown(path, int(w.as.Uid), int(w.as.Gid)))
	}
	return path
}

// command runs the program; what keeps images does so in this user's store.
func (w *imageUser) command(stdin string, args ...string) result {
	w.t.Helper()
	if args[0] == "image" || args[0] == "run" && !slices.Contains(args, "--data-dir") {
		args = append(args, "--image-dir", w.images)
	}
	return commandWith(w.t, w.as, w.env, stdin, args...)
}

// up starts "carillon up" and waits until its node runs Pods.
func (w *imageUser) up(manifest string, args ...string) *up {
	w.t.Helper()
	args = append([]string{"--image-dir", w.images}, args...)
	if manifest != "" {
		args = append(args, "-f", writeFor(w.t, w.dir, manifest))
	}
	u := startUpWith(w.t, w.as, w.env, filepath.Join(w.dir, "data"), args...)
	u.wait("ready", func(l line) bool { return l.Type == "step" && l.Message == "ready" })
	return u
}

// wantNothingLeft fails the test when anything is left but the store, and in the store anything but whole images.
func (w *imageUser) wantNothingLeft(marker string) {
	w.t.Helper()
	w.wantNothingRuns(marker)
	w.wantNothingTemporary()
	w.wantWholeStore()
}

// wantNothingRuns fails the test when anything of this user's runs or is mounted. The other user is busy with the same
// test.
func (w *imageUser) wantNothingRuns(marker string) {
	w.t.Helper()
	wantNothingLeftOf(w.t, w.dir, marker, func(uid int) bool { return (uid == ordinary) == (w.as != nil || os.Geteuid() == ordinary) })
}

func (w *imageUser) wantNothingTemporary() {
	w.t.Helper()
	if left, err := os.ReadDir(filepath.Join(w.dir, "tmp")); err != nil || len(left) > 0 {
		w.t.Errorf("left in the directory for temporary files: %v, %v", left, err)
	}
}

// wantWholeStore fails the test when anything but whole images is in the store.
func (w *imageUser) wantWholeStore() {
	w.t.Helper()
	for _, each := range w.halfDone() {
		w.t.Errorf("left in the store: %s", each)
	}
	w.wantWhole()
}

// partSize is how much of a download is here.
func (w *imageUser) partSize(digest string) int64 {
	info, err := os.Stat(filepath.Join(w.images, "blobs", strings.TrimPrefix(digest, "sha256:")+".part"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// logs are what the only container of a Pod wrote so far, or nothing as long as there is none.
func (u *up) logs(pod string) string {
	u.t.Helper()
	text, err := u.client().CoreV1().Pods("default").GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(u.t.Context())
	if err != nil {
		return ""
	}
	return string(text)
}

// halfDone is what the store holds of pulls that have not ended.
func (w *imageUser) halfDone() []string {
	w.t.Helper()
	left, err := filepath.Glob(filepath.Join(w.images, "tmp-*"))
	must(w.t, err)
	parts, err := filepath.Glob(filepath.Join(w.images, "blobs", "*"))
	must(w.t, err)
	return append(left, parts...)
}

// layers are the numbers and chain IDs of the layers in the store, all of which must be whole.
func (w *imageUser) layers() map[string]string {
	w.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(w.images, "layers", "*"))
	must(w.t, err)
	found := map[string]string{}
	for _, dir := range dirs {
		data, err := os.ReadFile(filepath.Join(dir, "layer.json"))
		var layer struct {
			Chain string `json:"chain"`
		}
		if err == nil {
			err = json.Unmarshal(data, &layer)
		}
		if err == nil {
			_, err = os.Stat(filepath.Join(dir, "fs"))
		}
		if err != nil || found[layer.Chain] != "" {
			w.t.Errorf("layer %s is not whole, or twice: %q, %v", dir, data, err)
		}
		found[layer.Chain] = filepath.Base(dir)
	}
	return found
}

// wantWhole checks that each image of the store has its layers. It returns how many images there are.
func (w *imageUser) wantWhole() int {
	w.t.Helper()
	layers := w.layers()
	version, err := os.ReadFile(filepath.Join(w.images, "version"))
	if err != nil && len(layers) > 0 {
		w.t.Error(err)
	}
	flat := strings.Contains(string(version), `"flat":true`)
	records, err := filepath.Glob(filepath.Join(w.images, "images", "*"))
	must(w.t, err)
	for _, path := range records {
		data, err := os.ReadFile(path)
		var record struct {
			Chain []string `json:"chain"`
		}
		if err == nil {
			err = json.Unmarshal(data, &record)
		}
		if err != nil || len(record.Chain) == 0 {
			w.t.Errorf("record %s: %q, %v", path, data, err)
			continue
		}
		if flat { // one directory has it all
			record.Chain = record.Chain[len(record.Chain)-1:]
		}
		for _, chain := range record.Chain {
			if layers[chain] == "" {
				w.t.Errorf("image %s has no layer %s", path, chain)
			}
		}
	}
	return len(records)
}

// imageJob is a Job whose one container runs an image. More lines may be given, without indentation.
type imageJob struct {
	name, image string
	args        []string
	container   string // lines of the container
	pod         string // lines of spec.template.spec
	job         string // lines of spec
}

func (j imageJob) String() string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: " + j.name + "\nspec:\n" + indent(j.spec(), 2) + "\n---\n"
}

// cronJob makes it the work of a CronJob.
func (j imageJob) cronJob(schedule string) string {
	return "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: " + j.name + "\nspec:\n  concurrencyPolicy: Forbid\n  schedule: \"" + schedule + "\"\n" +
		"  jobTemplate:\n    spec:\n" + indent(j.spec(), 6) + "\n---\n"
}

func (j imageJob) spec() string {
	args, _ := json.Marshal(j.args) // texts can always be
	lines := []string{"backoffLimit: 0"}
	if j.job != "" {
		lines = append(lines, j.job)
	}
	lines = append(lines, "template:", "  spec:", "    restartPolicy: Never", "    automountServiceAccountToken: false")
	if j.pod != "" {
		lines = append(lines, indent(j.pod, 4))
	}
	lines = append(lines, "    containers:", "    - name: main", "      image: "+j.image)
	if len(j.args) > 0 {
		lines = append(lines, "      args: "+string(args))
	}
	if j.container != "" {
		lines = append(lines, indent(j.container, 6))
	}
	return strings.Join(lines, "\n")
}

// told waits for a warning about a Job's Pod that holds all the texts.
func (u *up) told(job string, texts ...string) line {
	u.t.Helper()
	return u.wait("to be told about "+job+": "+strings.Join(texts, "… "), func(l line) bool {
		return l.Type == "warning" && strings.Contains(l.Object, job) &&
			!slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(l.Message, text) })
	})
}

// soon is a channel's next value, which has to come.
func soon(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(forever):
		t.Fatalf("waited %v in vain for %s", forever, what)
	}
}
