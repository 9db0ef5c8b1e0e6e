// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// piExample is what the example with perl runs. It tells which files perl read for it, too.
var piExample = []string{"-MMath::BigFloat", "-e", `Math::BigFloat->bpi(60); print "$_\n" for values %INC, @DynaLoader::dl_shared_objects`}

// programOf are the files that a program of this machine needs: itself, its libraries, and others that are named.
func programOf(t *testing.T, path string, others ...string) files {
	t.Helper()
	found := files{}
	add := func(path string) {
		data, err := os.ReadFile(path)
		must(t, err)
		found[strings.TrimPrefix(path, "/")] = string(data)
	}
	for _, path := range append([]string{path}, others...) {
		add(path)
		out, _ := exec.Command("ldd", path).CombinedOutput() // fails for what has no libraries
		for word := range strings.FieldsSeq(string(out)) {
			if strings.HasPrefix(word, "/") && !strings.HasSuffix(word, ":") {
				add(word)
			}
		}
	}
	return found
}

// hub is a mirror of Docker Hub with the two images that the examples name, made of this machine's programs.
func hub(t *testing.T) *imageRegistry {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("there is no busybox on this machine to make an image of")
	}
	perl, err := exec.LookPath("perl")
	if err != nil {
		t.Skip("there is no perl on this machine to make an image of")
	}
	modules, err := exec.Command(perl, piExample...).Output()
	if err != nil {
		t.Skipf("this machine's perl has no big numbers: %v", err)
	}
	small := programOf(t, busybox)
	small["bin/busybox"] = small[strings.TrimPrefix(busybox, "/")]
	for _, applet := range []string{"sh", "date", "find", "ls", "touch", "uname", "wc"} {
		small["bin/"+applet] = "-> busybox"
	}
	large := programOf(t, perl, strings.Fields(string(modules))...)
	large["usr/bin/perl"] = large[strings.TrimPrefix(perl, "/")]
	for path, text := range small {
		large[path] = text
	}
	reg := newImageRegistry(t)
	config := v1.Config{Cmd: []string{"sh"}, Env: []string{"PATH=/usr/bin:/bin"}}
	reg.push(t, "library/busybox:1.36", newProgramImage(t, config, small))
	reg.push(t, "library/perl:5.40", newProgramImage(t, config, large))
	return reg
}

// The examples that name images run unedited, from a mirror; and without one on this machine's own files. So does what
// most tutorials begin with: busybox with arguments alone.
func TestExamplesOfImages(t *testing.T) {
	t.Parallel()
	reg := hub(t)
	eachUser(t, func(w *imageUser) {
		paths, err := filepath.Glob("../../examples/images/*.yaml")
		must(w.t, err)
		want := map[string]string{
			"greeting.yaml": "hello from ",
			"pi.yaml":       "3.14159265358979323846264338327950288419716939937510582097494\n",
			"cleanup.yaml":  "new\n",
		}
		mirror := []string{"--registry-mirror", "http://" + reg.host()}
		run := func(what, manifest, says string, flags ...string) {
			got := w.command(manifest, append([]string{"run", "-f", "-"}, flags...)...)
			if got.code != 0 || !strings.HasPrefix(got.stdout, says) {
				w.t.Errorf("%s %v: exit code %d, stdout %q, stderr:\n%s", what, flags, got.code, got.stdout, got.stderr)
			}
		}
		if len(paths) != len(want) {
			w.t.Errorf("the examples are %q", paths)
		}
		for _, path := range paths {
			manifest, err := os.ReadFile(path)
			must(w.t, err)
			name := filepath.Base(path)
			run(name, string(manifest), want[name], mirror...)
			run(name, string(manifest), want[name], "--local-files")
		}
		hello := imageJob{name: "hello", image: "busybox:1.36", args: []string{"/bin/sh", "-c", "date -u +%Z; echo Hello"}}
		run("arguments alone", hello.String(), "UTC\nHello\n", mirror...)
		w.wantNothingTemporary()
	})
}
