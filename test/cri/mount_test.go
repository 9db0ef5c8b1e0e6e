// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

var mountSpecs = []spec{
	{name: "a directory of the machine is mounted, and what is written to it is there", run: func(c *check) {
		dir := c.volume()
		config := c.container("cat:/volume/file", "write:/volume/new")
		config.Mounts = []*runtimeapi.Mount{{HostPath: dir, ContainerPath: "/volume"}}
		ctr := c.begin(c.sandbox(), config)
		st := c.wait(ctr)
		c.equal("output", c.output(ctr, "stdout"), "of the machine\nwrote\n")
		c.equal("written", c.fileText(filepath.Join(dir, "new")), "written in the container\n")
		if len(st.Mounts) != 1 || st.Mounts[0].HostPath != dir || st.Mounts[0].ContainerPath != "/volume" || st.Mounts[0].Readonly {
			c.Errorf("status: %v", st.Mounts)
		}
	}},
	{name: "a file of the machine is mounted over one of the image, or where there was none", run: func(c *check) {
		file := filepath.Join(c.volume(), "file")
		config := c.container("cat:/data/file", "cat:/new/directory/file")
		config.Mounts = []*runtimeapi.Mount{{HostPath: file, ContainerPath: "/data/file"}, {HostPath: file, ContainerPath: "/new/directory/file"}}
		c.equal("output", c.run(config), []string{"of the machine", "of the machine"})
	}},
	{name: "a mount can be read-only", run: func(c *check) {
		dir := c.volume()
		config := c.container("cat:/volume/file", "write:/volume/new", "open:/volume/file")
		config.Mounts = []*runtimeapi.Mount{{HostPath: dir, ContainerPath: "/volume", Readonly: true}}
		const refused = "error: read-only file system"
		c.equal("output", c.run(config), []string{"of the machine", refused, refused})
	}},
	{name: "of a symbolic link the directory that it leads to is mounted", run: func(c *check) {
		dir, link := c.volume(), filepath.Join(c.TempDir(), "link")
		c.must(os.Symlink(dir, link))
		config := c.container("ls:/volume")
		config.Mounts = []*runtimeapi.Mount{{HostPath: link, ContainerPath: "/volume"}}
		c.equal("output", c.run(config), []string{"[file]"})
	}},
	{name: "a source that is not there is an error", run: func(c *check) {
		config := c.container("ls:/volume")
		config.Mounts = []*runtimeapi.Mount{{HostPath: filepath.Join(c.TempDir(), "missing"), ContainerPath: "/volume"}}
		c.refused("it", c.tryBegin(c.sandbox(), config))
	}, differs: map[string]string{containerd: "it makes the directory"}},
	{name: "a mount inside another is there in whatever order they come", run: func(c *check) {
		outer, inner := c.volume(), c.TempDir()
		c.must(os.WriteFile(filepath.Join(inner, "inner"), nil, 0o644))
		c.must(os.Mkdir(filepath.Join(outer, "below"), 0o755))
		mounts := []*runtimeapi.Mount{{HostPath: inner, ContainerPath: "/volume/below"}, {HostPath: outer, ContainerPath: "/volume"}}
		for range 2 {
			config := c.container("ls:/volume", "ls:/volume/below")
			config.Mounts = mounts
			c.equal("output", c.run(config), []string{"[below file]", "[inner]"})
			mounts[0], mounts[1] = mounts[1], mounts[0]
		}
	}},
	{name: "recursive read-only is refused for a mount that is not read-only, or not private", run: func(c *check) {
		for _, m := range []*runtimeapi.Mount{
			{RecursiveReadOnly: true},
			{RecursiveReadOnly: true, Readonly: true, Propagation: runtimeapi.MountPropagation_PROPAGATION_HOST_TO_CONTAINER},
		} {
			config := c.container("ls:/volume")
			m.HostPath, m.ContainerPath = c.volume(), "/volume"
			config.Mounts = []*runtimeapi.Mount{m}
			c.refused(m.String(), c.tryBegin(c.sandbox(), config))
		}
	}, differs: map[string]string{containerd: "1.6 does not know the field yet"}},
	{name: "the files of an image are mounted, read-only, or a part of them", run: func(c *check) {
		ref := c.registry.push(c, "specs/"+unique("volume")+":v1", newImage(c, v1.Config{}, newLayer(c, files{"a/": "", "a/b/": "", "a/b/file": "of the volume\n"})))
		id := c.pull(ref)
		config := c.container("cat:/whole/a/b/file", "ls:/part", "write:/whole/new", "write:/part/new")
		config.Mounts = []*runtimeapi.Mount{
			{Image: &runtimeapi.ImageSpec{Image: id, UserSpecifiedImage: ref}, ContainerPath: "/whole", Readonly: true},
			{Image: &runtimeapi.ImageSpec{Image: id, UserSpecifiedImage: ref}, ContainerPath: "/part", ImageSubPath: "a/b", Readonly: true},
		}
		const refused = "error: read-only file system"
		// In a sandbox that ends before the image is removed.
		p := c.sandbox()
		c.equal("output", c.runIn(p, config), []string{"of the volume", "[file]", refused, refused})
	}, differs: map[string]string{containerd: "1.6 does not know the field yet"}},
	{name: "a part of an image that is not there is an error", run: func(c *check) {
		ref := c.registry.push(c, "specs/"+unique("volume")+":v1", smallImage(c, v1.Config{}))
		config := c.container("ls:/volume")
		config.Mounts = []*runtimeapi.Mount{{Image: &runtimeapi.ImageSpec{Image: c.pull(ref), UserSpecifiedImage: ref}, ContainerPath: "/volume", ImageSubPath: "no/such/part", Readonly: true}}
		c.refused("it", c.tryBegin(c.sandbox(), config))
	}, differs: map[string]string{containerd: "1.6 does not know the field yet"}},
}

// volume is a directory with a file, which anybody may write to.
func (c *check) volume() string {
	c.Helper()
	dir := c.TempDir()
	c.must(os.Chmod(dir, 0o777))
	c.must(os.WriteFile(filepath.Join(dir, "file"), []byte("of the machine\n"), 0o666))
	return dir
}

func (c *check) fileText(path string) string {
	c.Helper()
	b, err := os.ReadFile(path)
	c.must(err)
	return string(b)
}
