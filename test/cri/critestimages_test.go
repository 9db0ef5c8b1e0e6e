// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"maps"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// The registries whose images the validation suite wants.
var critestRegistries = []string{"registry.k8s.io", "gcr.io", "k8s.gcr.io"}

// What stands for the web servers among the images: it leaves the number of its process where nginx does.
const webServer = `#!/bin/sh
mkdir -p /var/run /www
echo ok > /www/index.html
echo $$ > /var/run/nginx.pid
httpd -p $PORT -h /www
echo httpd serves
while true; do sleep 1000; done
`

// critestImages makes what takes the place of the suite's images, of Debian's busybox, and returns the digest of the
// one that the suite knows by its digest.
func critestImages(t *testing.T, s *imageServer) (digest string) {
	t.Helper()
	box := busybox(t)
	push := func(repository string, config v1.Config, layers ...v1.Layer) v1.Image {
		img := newImage(t, config, append([]v1.Layer{box}, layers...)...)
		s.push(t, repository, img)
		return img
	}
	shell := v1.Config{Cmd: []string{"sh"}, Env: []string{"PATH=/bin:/sbin:/usr/bin:/usr/sbin"}}
	text := func(name string) v1.Layer { return newLayer(t, files{"test-image/": "", "test-image/" + name: name}) }

	const suite = "k8s-staging-cri-tools/"
	push("e2e-test-images/busybox:1.29-2", shell)
	for _, name := range []string{"test-image-latest:latest", "test-image-tag:test", "test-image-tag:all", "test-image-1:latest", "test-image-2:latest", "test-image-3:latest"} {
		push(suite+name, shell, text(strings.ReplaceAll(name, ":", "-")))
	}
	for _, tag := range []string{"1", "2", "3"} {
		push(suite+"test-image-tags:"+tag, shell, text("tags"))
	}
	for name, user := range map[string]string{"uid": "1002", "username": "www-data", "uid-group": "1003:users", "username-group": "www-data:100"} {
		config := shell
		config.User = user
		push(suite+"test-image-user-"+name+":latest", config)
	}
	predefined := shell
	predefined.User = "1000"
	push(suite+"test-image-predefined-group:latest", predefined, newLayer(t, files{
		"etc/passwd": "root:x:0:0:root:/root:/bin/sh\ndefault-user:x:1000:1000::/home:/bin/sh\n",
		"etc/group":  "root:x:0:\ndefault-user:x:1000:\ngroup-defined-in-image:x:50000:default-user\n",
	}))

	server := newLayer(t, files{"bin/nginx": webServer})
	web := func(port string) v1.Config {
		return v1.Config{Entrypoint: []string{"/bin/nginx", "master process"}, Env: append(shell.Env[:1:1], "PORT="+port)}
	}
	push("e2e-test-images/nginx:1.14-2", web("80"), server)
	push("e2e-test-images/httpd:2.4.39-4", web("80"), server)
	push(suite+"hostnet-nginx-"+runtime.GOARCH+":latest", web("12003"), server)

	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	push("e2e-test-images/nonewprivs:1.3", v1.Config{Entrypoint: []string{"/sbin/probe", "effective"}}, newLayer(t, files{"sbin/": "", "sbin/probe": string(exe)}))
	return digestOf(t, push(suite+"test-image-digest:latest", shell, text("digest")))
}

// busybox is a layer with Debian's busybox, which is linked statically, under all its names.
func busybox(t *testing.T) v1.Layer {
	t.Helper()
	install(t, map[string]string{"busybox": "busybox-static"})
	path, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	names, err := exec.CommandContext(t.Context(), path, "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	f := maps.Clone(probeFiles)
	maps.Copy(f, files{
		"bin/busybox": string(program), "usr/": "", "var/": "",
		// Debian's has not these two.
		"bin/ipcs": "#!/bin/sh\ncat /proc/sysvipc/shm\n", "bin/pgrep": "#!/bin/sh\npidof \"$1\"\n",
		"etc/passwd": "root:x:0:0:root:/root:/bin/sh\nwww-data:x:33:33:www-data:/var/www:/bin/false\nnobody:x:65534:65534:nobody:/:/bin/false\n",
		"etc/group":  "root:x:0:\nwww-data:x:33:\nusers:x:100:\n",
	})
	for name := range strings.FieldsSeq(string(names)) {
		if name != "busybox" {
			f["bin/"+name] = "-> bin/busybox"
		}
	}
	return newLayer(t, f)
}
