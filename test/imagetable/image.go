// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	_ "embed"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

//go:embed probe.sh
var probe string

// newImage makes the image, which runs the probe as a user of its own if there is one named.
func newImage(busybox, user string) (v1.Image, error) {
	program, err := os.ReadFile(busybox)
	if err != nil {
		return nil, fmt.Errorf("%w; install busybox-static, or say where one is: -busybox", err)
	}
	if f, err := elf.NewFile(bytes.NewReader(program)); err != nil || slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return nil, fmt.Errorf("%s is no program that runs without the machine's libraries: install busybox-static", busybox)
	}
	layer, err := newLayer(program)
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", runtime.GOARCH
	file.Config = v1.Config{Entrypoint: []string{"/bin/sh", "/probe.sh"}, Cmd: []string{"all"}, Env: []string{"PATH=/bin", "FROM=image"}}
	if user != "" {
		file.Config.User, file.Config.WorkingDir, file.Config.Cmd = user, "/work", []string{"short"}
	}
	return mutate.ConfigFile(img, file)
}

// The programs that the probe calls.
var applets = []string{
	"sh", "cat", "chown", "chroot", "cut", "date", "dd", "dmesg", "echo", "head", "hostname", "id", "ls", "mkdir", "mknod", "mount", "nice", "pwd", "readlink",
	"rmdir", "sha256sum", "sleep", "sort", "stat", "su", "tail", "test", "touch", "tr", "true", "unshare", "wc",
}

func newLayer(busybox []byte) (v1.Layer, error) {
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	add := func(h tar.Header, data string) error {
		h.Size = int64(len(data))
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		_, err := io.WriteString(w, data)
		return err
	}
	var err error
	for _, dir := range []string{"bin/", "etc/", "mnt/", "work/"} {
		err = firstOf(err, add(tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755}, ""))
	}
	err = firstOf(err, add(tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}, ""),
		add(tar.Header{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o755}, string(busybox)),
		add(tar.Header{Typeflag: tar.TypeReg, Name: "probe.sh", Mode: 0o644}, probe),
		add(tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644}, "root:x:0:0:root:/root:/bin/sh\napp:x:1234:2345::/home/app:/bin/sh\n"),
		add(tar.Header{Typeflag: tar.TypeReg, Name: "etc/group", Mode: 0o644}, "root:x:0:\nwheel:x:10:root\napp:x:2345:\nextra:x:777:app\n"))
	for _, name := range applets {
		err = firstOf(err, add(tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "busybox", Mode: 0o777}, ""))
	}
	if err = firstOf(err, w.Close()); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil })
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
