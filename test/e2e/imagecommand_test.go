// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// "carillon image" pulls with what "docker login" stored, lists, removes and prunes; each says what it did.
func TestImageCommand(t *testing.T) {
	t.Parallel()
	eachUser(t, func(w *imageUser) {
		t := w.t
		reg := newImageRegistry(t)
		app := reg.push(t, "private/app:1", newImage(t, appConfig, users))
		other := reg.push(t, "public/other:1", newImage(t, v1.Config{Entrypoint: probeEntry}))
		if got := w.command("", "image", "list"); got.code != 0 || got.stdout != "" || !strings.Contains(got.stderr, "no images are here") {
			t.Errorf("list of nothing: %+v", got)
		}
		got := w.command("", "image", "pull", app, other)
		if got.code != 1 || !strings.HasPrefix(got.stdout, other+"  pulled in ") || !strings.Contains(got.stderr, "image "+app+" cannot be pulled: "+reg.host()+" wants other credentials") {
			t.Errorf("pull without credentials: %+v", got)
		}
		must(t, os.Mkdir(filepath.Join(w.dir, ".docker"), 0o755))
		must(t, os.WriteFile(filepath.Join(w.dir, ".docker", "config.json"), []byte(reg.dockerConfig()), 0o644))
		if got := w.command("", "image", "pull", app); got.code != 0 || !strings.HasPrefix(got.stdout, app+"  pulled in ") || got.stderr != "" {
			t.Errorf("pull: %+v", got)
		}
		if got := w.command("", "image", "pull", app); got.code != 0 || !strings.HasPrefix(got.stdout, app+"  up to date  ") {
			t.Errorf("pull of what is here: %+v", got)
		}
		if got := w.command("", "image", "pull", "host"); got.code != 2 || !strings.Contains(got.stderr, "this machine's own files") {
			t.Errorf("pull of host: %+v", got)
		}
		list := w.list()
		if len(list) != 2 || list[app].Config.User != "app" || list[app].Size < 1<<20 || list[other].Config.Entrypoint[0] != "/bin/probe" {
			t.Errorf("list -o json: %+v", list)
		}
		id := strings.TrimPrefix(list[app].ID, "sha256:")
		if got := w.command("", "image", "list"); got.code != 0 || strings.Count(got.stdout, "\n") != 3 || !strings.Contains(strings.Join(strings.Fields(got.stdout), " "), app+" "+id[:12]) {
			t.Errorf("list: %+v", got)
		}
		if got := w.command("", "image", "rm", id[:12], "missing"); got.code != 1 || got.stdout != id[:12]+"  removed\n" || !strings.Contains(got.stderr, "there is no image missing here") {
			t.Errorf("rm: %+v", got)
		}
		if got := w.command("", "image", "prune"); got.code != 0 || !strings.HasPrefix(got.stdout, "0 images removed") || len(w.list()) != 1 {
			t.Errorf("prune of what is new: %+v", got)
		}
		if got := w.command("", "image", "prune", "--all"); got.code != 0 || !strings.Contains(got.stdout, "\n1 image removed") || len(w.list()) != 0 {
			t.Errorf("prune --all: %+v", got)
		}
		if n := len(w.layers()); n != 0 {
			t.Errorf("%d layers are left", n)
		}
		w.wantWholeStore()
	})
}

// An image comes from a file, or through a pipe, as docker save writes it, and runs where no registry is in reach.
func TestImageImport(t *testing.T) {
	t.Parallel()
	eachUser(t, func(w *imageUser) {
		t := w.t
		const ref = "registry.invalid/team/app:latest"
		tag, err := name.NewTag(ref)
		must(t, err)
		path := filepath.Join(w.dir, "app.tar")
		must(t, tarball.WriteToFile(path, tag, newImage(t, appConfig, users)))
		must(t, os.Chmod(path, 0o644))
		if got := w.command("", "image", "import", path); got.code != 0 || !strings.HasPrefix(got.stdout, ref+"  imported in ") || got.stderr != "" {
			t.Errorf("import: %+v", got)
		}
		job := imageJob{name: "app", image: ref, args: []string{"id"}, container: "imagePullPolicy: IfNotPresent"}
		if got := w.command(job.String(), "run", "-f", "-"); got.code != 0 || got.stdout != "1234 2345\n" {
			t.Errorf("run: %+v", got)
		}
		before := w.list()
		data, err := os.ReadFile(path)
		must(t, err)
		if got := w.command(string(data), "image", "import", "-"); got.code != 0 || !strings.HasPrefix(got.stdout, ref+"  imported in ") || len(w.list()) != 1 || w.list()[ref].ID != before[ref].ID {
			t.Errorf("import of a pipe: %+v", got)
		}
		if got := w.command(string(data[:len(data)/2]), "image", "import", "-"); got.code != 1 || len(w.list()) != 1 {
			t.Errorf("import of half a file: %+v", got)
		}
		w.wantWholeStore()
		// The policy of :latest is to ask, and the answer says what to do.
		if job.container = ""; w.as != nil {
			return // said once
		}
		if got := w.command(job.String(), "run", "-f", "-"); got.code != 2 || !strings.Contains(got.stderr, "It is here since ") || !strings.Contains(got.stderr, "imagePullPolicy: IfNotPresent") {
			t.Errorf("run with another policy: %+v", got)
		}
	})
}

// listed is an image of "image list -o json".
type listed struct {
	ID     string   `json:"id"`
	Names  []string `json:"names"`
	Size   int64    `json:"size"`
	Config struct {
		User       string
		Entrypoint []string
	} `json:"config"`
}

// list returns the images by their names.
func (w *imageUser) list() map[string]listed {
	w.t.Helper()
	got := w.command("", "image", "list", "-o", "json")
	if got.code != 0 {
		w.t.Fatalf("image list: %+v", got)
	}
	found := map[string]listed{}
	for text := range strings.Lines(got.stdout) {
		var img listed
		if err := json.Unmarshal([]byte(text), &img); err != nil || len(img.Names) != 1 {
			w.t.Errorf("listed %q, %v", text, err)
			continue
		}
		found[img.Names[0]] = img
	}
	return found
}
