// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/image"
	"github.com/carillon-dev/carillon/internal/mounts"
	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

var probeConfig = image.Config{Entrypoint: []string{"/bin/" + probeName}}

// lines compares what a probe said.
func lines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// A container of an image runs the image's entrypoint in the image's files, with
// its environment, its user and its working directory, and sees nothing of the
// machine's.
func TestImageContainer(t *testing.T) {
	g, images := imageRig(t)
	img := images.add(t, "registry.example/app:1", image.Config{
		Entrypoint: []string{"probe"}, Cmd: []string{"echo:cmd"}, Env: []string{"FROM=image", "BOTH=image"}, User: "app", WorkingDir: "/work/deep",
	}, layer(t, files{"top": "top", "etc/over": "upper"}), probeLayer(t), layer(t, files{
		"etc/passwd": "root:x:0:0:root:/root:/bin/sh\napp:x:1234:2345::/home/app:/bin/sh\n", "etc/group": "app:x:2345:\nextra:x:777:other,app\n", "etc/over": "lower",
	}))
	inLayer := func() int {
		list, err := os.ReadDir(images.images["registry.example/app:1"].layers[0])
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := inLayer()
	config := probeContainer("registry.example/app:1", "id", "env:HOME", "env:FROM", "env:BOTH", "env:PATH", "env:HOSTNAME", "pwd", "hostname",
		"cat:/etc/hostname", "cat:/etc/over", "ls:/", "cat:/etc/resolv.conf", "write:/tmp-file")
	config.Envs = []*runtimeapi.KeyValue{{Key: "BOTH", Value: []byte("container")}}
	id := g.begin(g.sandbox("app-pod", ""), config)
	st := g.wait(id)
	groups, write := "[777]", "open /tmp-file: permission denied"
	if os.Getuid() != 0 {
		groups, write = "[]", "wrote /tmp-file"
	}
	resolver, _ := os.ReadFile("/etc/resolv.conf")
	lines(t, strings.Split(g.output(id, "stdout"), "\n"), slices.Concat([]string{"1234 2345 " + groups, "/home/app", "image", "container", defaultPath, "app-pod", "/work/deep", "app-pod",
		"app-pod", "upper", "[bin dev etc proc sys top work]"}, strings.Split(strings.TrimSpace(string(resolver)), "\n"), []string{write, ""})...)
	if st.ExitCode != 0 || st.ImageId != img.ID || st.ImageRef != img.Digests[0] || st.Image.Image != "registry.example/app:1" {
		t.Errorf("status %v", st)
	}
	if u := st.User.GetLinux(); u.GetUid() != 1234 || u.GetGid() != 2345 || len(u.GetSupplementalGroups()) != strings.Count(groups, "7")/3+1 {
		t.Errorf("user in the status: %v", u)
	}
	// The image is as it was.
	if after := inLayer(); after != before {
		t.Errorf("the topmost layer holds %d files, and held %d", after, before)
	}
}

// Command takes the place of entrypoint and cmd, args of cmd; neither is an error.
func TestImageArgs(t *testing.T) {
	whole := image.Config{Entrypoint: []string{"e"}, Cmd: []string{"c"}}
	for name, tt := range map[string]struct {
		config        image.Config
		command, args []string
		want          []string
	}{
		"image's own":            {config: whole, want: []string{"e", "c"}},
		"args":                   {config: whole, args: []string{"a"}, want: []string{"e", "a"}},
		"command":                {config: whole, command: []string{"x"}, want: []string{"x"}},
		"both":                   {config: whole, command: []string{"x"}, args: []string{"a"}, want: []string{"x", "a"}},
		"no entrypoint":          {config: image.Config{Cmd: []string{"c", "d"}}, want: []string{"c", "d"}},
		"args without one":       {config: image.Config{Cmd: []string{"c"}}, args: []string{"a"}, want: []string{"a"}},
		"entrypoint alone":       {config: image.Config{Entrypoint: []string{"e"}}, want: []string{"e"}},
		"nothing that could run": {},
	} {
		if got := imageArgs(tt.config, tt.command, tt.args); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	g, images := imageRig(t)
	images.add(t, "empty", image.Config{}, layer(t, nil))
	_, err := g.rt.CreateContainer(g.ctx(), &runtimeapi.CreateContainerRequest{PodSandboxId: g.sandbox("p", ""), Config: probeContainer("empty")})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "set command:") {
		t.Errorf("%v", err)
	}
	_, err = g.rt.CreateContainer(g.ctx(), &runtimeapi.CreateContainerRequest{PodSandboxId: g.sandbox("q", ""), Config: probeContainer("missing")})
	if status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), "missing") {
		t.Errorf("%v", err)
	}
}

// A Pod's choice of users wins over the image's.
func TestImageUsers(t *testing.T) {
	g, images := imageRig(t)
	root := os.Getuid() == 0
	base := []string{probeLayer(t), layer(t, files{
		"etc/passwd": "root:x:0:0:root:/root:/bin/sh\napp:x:1234:2345::/home/app:/bin/sh\n", "etc/group": "root:x:0:\napp:x:2345:\nextra:x:777:other,app\n",
	})}
	num := func(n int64) *runtimeapi.Int64Value { return &runtimeapi.Int64Value{Value: n} }
	for i, tt := range []struct {
		user       string
		edit       func(*runtimeapi.LinuxContainerSecurityContext)
		want, home string // with several groups, those that root can give
		onlyRoot   bool
	}{
		{user: "", want: "0 0 []", home: "/root"},
		{user: "app", want: "1234 2345 [777]", home: "/home/app"},
		{user: "1234", want: "1234 2345 [777]", home: "/home/app"},
		{user: "app:extra", want: "1234 777 []", home: "/home/app"},
		{user: "1234:55", want: "1234 55 [777]", home: "/home/app"},
		{user: "99:98", want: "99 98 []", home: "/"},
		{user: "app", want: "1234 2345 [777]", home: "/home/app", edit: func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.RunAsUsername = "app" }},
		{user: "app", want: "0 0 []", home: "/root", edit: func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.RunAsUser = num(0) }},
		{user: "1234:55", want: "1234 55 [777]", home: "/home/app", edit: func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.RunAsUser = num(1234) }},
		{user: "", want: "4321 0 []", home: "/", edit: func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.RunAsUser = num(4321) }},
		{user: "", want: "4321 12 []", home: "/", edit: func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.RunAsUser, sc.RunAsGroup = num(4321), num(12) }},
		{user: "app", want: "1234 2345 [5]", home: "/home/app", onlyRoot: true, edit: func(sc *runtimeapi.LinuxContainerSecurityContext) {
			sc.SupplementalGroups, sc.SupplementalGroupsPolicy = []int64{5}, runtimeapi.SupplementalGroupsPolicy_Strict
		}},
		{user: "app", want: "1234 2345 [5 777]", home: "/home/app", onlyRoot: true, edit: func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.SupplementalGroups = []int64{5} }},
	} {
		if tt.onlyRoot && !root {
			continue
		}
		name := fmt.Sprintf("user%d", i)
		images.add(t, name, image.Config{Entrypoint: probeConfig.Entrypoint, User: tt.user}, base...)
		config := probeContainer(name, "id", "env:HOME")
		if tt.edit != nil {
			tt.edit(config.Linux.SecurityContext)
		}
		want := tt.want
		if f := strings.Fields(want); !root {
			want = f[0] + " " + f[1] + " []" // one group is all that an ordinary user can give
		}
		lines(t, g.runProbe(name, config), want, tt.home)
	}
	for i, user := range []string{"nobody-here", "0:no-such-group"} {
		name := fmt.Sprintf("bad%d", i)
		images.add(t, name, image.Config{Entrypoint: probeConfig.Entrypoint, User: user}, base...)
		id := g.create(g.sandbox(name, ""), probeContainer(name))
		_, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id})
		if err == nil || !strings.Contains(err.Error(), "the image has no") {
			t.Errorf("%s: %v", user, err)
		}
	}
}

// An ordinary user's container keeps the groups that he is in, and needs not be in
// the one that its volumes should have; another is refused.
func TestImageGroups(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("runs as an ordinary user")
	}
	g, images := imageRig(t)
	images.add(t, "app", probeConfig, probeLayer(t))
	config := probeContainer("app", "id", "status:Groups")
	sc := config.Linux.SecurityContext
	sc.RunAsUser, sc.RunAsGroup = &runtimeapi.Int64Value{Value: 77}, &runtimeapi.Int64Value{Value: 78}
	sc.SupplementalGroups = append(ownGroups(), 78, 4711)
	config.Annotations = map[string]string{AnnotationVolumeGroup: "4711"}
	out := g.runProbe("p", config)
	if member := slices.Contains(ownGroups(), ordinaryGroup); len(out) != 2 || out[0] != "77 78 []" || member != strings.Contains(out[1], "65534") {
		t.Errorf("%q", out)
	}
	config.Annotations = nil
	_, err := g.rt.CreateContainer(g.ctx(), &runtimeapi.CreateContainerRequest{PodSandboxId: g.sandbox("q", ""), Config: config})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "4711") {
		t.Errorf("%v", err)
	}
}

// mountsHere are the mounts that this process sees, which must be none of a
// container's, but for the shared memory in the directories of Pods. Other tests
// mount as well, in their own temporary directories.
func (g *rig) mountsHere() string {
	g.t.Helper()
	ours := filepath.Dir(filepath.Dir(g.opts.RootDir))
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		g.t.Fatal(err)
	}
	var list strings.Builder
	for line := range strings.Lines(string(b)) {
		point := strings.Fields(line)[4]
		memory := mounts.Under(point, filepath.Join(g.opts.RootDir, "sandboxes")) && filepath.Base(point) == shim.SharedMemoryDir
		if !memory && (mounts.Under(point, ours) || !mounts.StrictlyUnder(point, os.TempDir())) {
			list.WriteString(line)
		}
	}
	return list.String()
}

// Links of an image lead nowhere but in the image, whatever is mounted there.
func TestImageHostileLinks(t *testing.T) {
	g, images := imageRig(t)
	program := probeLayer(t)
	before := g.mountsHere()
	outside := t.TempDir() // what an image that leads out would hit
	if err := os.WriteFile(filepath.Join(outside, "hosts"), []byte("machine"), 0o644); err != nil {
		t.Fatal(err)
	}
	volume := t.TempDir()
	if err := os.WriteFile(filepath.Join(volume, "v"), []byte("volume"), 0o644); err != nil {
		t.Fatal(err)
	}
	up := strings.Repeat("../", 20)
	for name, tt := range map[string]struct {
		layer files
		ask   []string
		want  []string // empty: it is refused
		says  string
	}{
		"etc-is-the-root": {layer: files{"etc": "-> /"}, ask: []string{"cat:/hostname", "link:/etc"}, want: []string{"etc-is-the-root", "/"}},
		"etc-leads-up":    {layer: files{"etc": "-> " + up + outside, "data": "-> " + up + outside}, ask: []string{"cat:/etc/hostname", "cat:" + outside + "/hostname"}, want: []string{"etc-leads-up", "etc-leads-up"}},
		"etc-leads-out":   {layer: files{"etc": "-> " + outside}, ask: []string{"cat:" + outside + "/hostname"}, want: []string{"etc-leads-out"}},
		"files-lead-out":  {layer: files{"etc/hosts": "-> " + outside + "/hosts", "etc/hostname": "-> " + up + "run/x/name", "etc/resolv.conf": "-> /proc/self/root/no"}, ask: []string{"cat:/run/x/name"}, want: []string{"files-lead-out"}, says: ""},
		"dev-is-etc":      {layer: files{"dev": "-> /etc", "etc/": ""}, says: "/dev of the image"},
		"proc-leads-up":   {layer: files{"proc": "-> .."}, says: "/proc of the image"},
		"sys-leads-out":   {layer: files{"sys": "-> " + outside}, says: "/sys of the image"},
		"proc-is-a-file":  {layer: files{"proc": "text"}, says: "/proc of the image"},
		"dev-in-a-volume": {layer: files{"vol": "-> /dev"}, says: "/dev/null"}, // covered by the volume, and so is all else there
		"volume-leads-up": {layer: files{"vol": "-> " + up + outside}, ask: []string{"cat:" + outside + "/v"}, want: []string{"volume"}},
		"users-are-a-dir": {layer: files{"etc/passwd/": "", "etc/group": "-> passwd"}, ask: []string{"id"}, want: []string{"0 0 []"}},
		"users-loop":      {layer: files{"etc/passwd": "-> group", "etc/group": "-> passwd"}, ask: []string{"id"}, want: []string{"0 0 []"}},
		"users-outside":   {layer: files{"etc/passwd": "-> " + up + "etc/shadow"}, ask: []string{"id"}, want: []string{"0 0 []"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := g.in(t)
			images.add(t, name, probeConfig, layer(t, tt.layer), program)
			config := withMount(probeContainer(name, tt.ask...), volume, "/vol", false)
			if tt.want != nil {
				lines(t, g.runProbe(name, config), tt.want...)
			} else {
				id := g.create(g.sandbox(name, ""), config)
				_, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id})
				if err == nil || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%v", err)
				}
			}
			if b, err := os.ReadFile(filepath.Join(outside, "hosts")); err != nil || string(b) != "machine" {
				t.Errorf("the machine's file: %q %v", b, err)
			}
			if list, _ := os.ReadDir(outside); len(list) != 1 {
				t.Errorf("the machine's directory: %v", list)
			}
			if after := g.mountsHere(); after != before {
				t.Errorf("mounts of the machine:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// Volumes are where the Pod says, also below what the image does not have, with
// their flags; the rest can be read only, if the Pod says so.
func TestImageVolumes(t *testing.T) {
	g, images := imageRig(t)
	images.add(t, "app", probeConfig, probeLayer(t))
	rw, ro := t.TempDir(), t.TempDir()
	for _, d := range []string{rw, ro} {
		if err := os.WriteFile(filepath.Join(d, "f"), []byte("f"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(rw, "f")
	config := probeContainer("app", "cat:/a/b/rw/f", "write:/a/b/rw/new", "write:/ro/new", "cat:/deep/file", "write:/root-file", "write:/dev/shm/x", "ls:/dev/pts")
	config = withMount(withMount(withMount(config, rw, "/a/b/rw", false), ro, "/ro", true), file, "/deep/file", true)
	config.WorkingDir = "/made"
	lines(t, g.runProbe("p", config), "f", "wrote /a/b/rw/new", "open /ro/new: read-only file system", "f", "wrote /root-file", "wrote /dev/shm/x", "[ptmx]")
	config.Linux.SecurityContext.ReadonlyRootfs = true
	config.Args = append(config.Args, "pwd", "write:/etc/hosts")
	lines(t, g.runProbe("q", config), "f", "wrote /a/b/rw/new", "open /ro/new: read-only file system", "f", "open /root-file: read-only file system", "wrote /dev/shm/x", "[ptmx]",
		"/made", "open /etc/hosts: read-only file system")

	config = withMount(probeContainer("app"), t.TempDir(), "/", false)
	id := g.create(g.sandbox("r", ""), config)
	if _, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id}); err == nil {
		t.Error("a volume in place of the root was taken")
	}
}

// A volume can be an image: its files, or some of them, that can only be read.
func TestImageAsVolume(t *testing.T) {
	g, images := imageRig(t)
	images.add(t, "app", probeConfig, probeLayer(t))
	images.add(t, "model", image.Config{}, layer(t, files{"data/x": "upper"}), layer(t, files{"data/x": "lower", "data/y": "y", "out": "-> /etc"}))
	config := probeContainer("app", "ls:/model", "cat:/model/data/x", "cat:/model/data/y", "write:/model/new", "ls:/part")
	for target, sub := range map[string]string{"/model": "", "/part": "data"} {
		config.Mounts = append(config.Mounts, &runtimeapi.Mount{ContainerPath: target, Readonly: true, Image: &runtimeapi.ImageSpec{Image: "model"}, ImageSubPath: sub})
	}
	lines(t, g.runProbe("p", config), "[data out]", "upper", "y", "open /model/new: read-only file system", "[x y]")
	if _, err := g.img.RemoveImage(g.ctx(), &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: "model"}}); err != nil {
		t.Errorf("nobody uses it any more: %v", err)
	}

	images.add(t, "model", image.Config{}, layer(t, files{"data/x": "x"}))
	host := shell("cat /tmp/model/data/x; touch /tmp/model/new")
	host.Image.Image = "host"
	host.Mounts = []*runtimeapi.Mount{{ContainerPath: "/tmp/model", Image: &runtimeapi.ImageSpec{Image: "model"}}}
	id := g.begin(g.sandbox("host", ""), host)
	if g.wait(id); g.output(id, "stdout") != "x" && g.output(id, "stdout") != "x\n" || !strings.Contains(g.output(id, "stderr"), "ead-only") {
		t.Errorf("on the machine's files: %q %q", g.output(id, "stdout"), g.output(id, "stderr"))
	}
}

// An image may have more layers than the kernel has room for their names.
func TestImageManyLayers(t *testing.T) {
	g, images := imageRig(t)
	layers := []string{probeLayer(t)}
	for i := range 500 {
		layers = append(layers, layer(t, files{"all/" + fmt.Sprint(i): "", "one": fmt.Sprint(i)}))
	}
	for pod, n := range map[string]int{"many": 125, "more": 499} {
		images.add(t, pod, probeConfig, layers[:n+1]...)
		id := g.create(g.sandbox(pod, ""), probeContainer(pod, "cat:/one", "ls:/all"))
		if _, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id}); err != nil {
			if n < 200 || !strings.Contains(err.Error(), "use Linux 6.5 or later") {
				t.Errorf("%d layers: %v", n, err)
			}
			continue
		}
		g.wait(id)
		if out := strings.Split(g.output(id, "stdout"), "\n"); len(out) != 3 || out[0] != "0" || len(strings.Fields(out[1])) != n {
			t.Errorf("%d layers: %q", n, out)
		}
	}
	images.add(t, "most", probeConfig, layers...)
	id := g.create(g.sandbox("most", ""), probeContainer("most"))
	if _, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id}); err == nil || !strings.Contains(err.Error(), "501 layers, and the kernel takes 500") {
		t.Errorf("more than there can be: %v", err)
	}
}

// A container of an image has few rights, namespaces of its own for shared
// memory and cgroups, and a filter.
func TestImageRights(t *testing.T) {
	g, images := imageRig(t)
	images.add(t, "app", probeConfig, probeLayer(t))
	usual := mask("CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "SETGID", "SETUID", "SETFCAP", "SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE")
	config := probeContainer("app", "status:CapInh", "status:CapPrm", "status:CapBnd", "status:CapAmb", "status:Seccomp", "link:/proc/self/ns/ipc", "cat:/proc/self/cgroup")
	out := g.runProbe("p", config)
	lines(t, out[:5], mask(), usual, usual, mask(), "2")
	if ipc, _ := os.Readlink("/proc/self/ns/ipc"); out[5] == ipc {
		t.Error("the machine's shared memory")
	}
	for _, line := range out[6:] {
		if os.Getuid() == 0 && strings.Contains(line, "carillon") {
			t.Errorf("in the cgroup %s", line)
		}
	}
	config = probeContainer("app", "status:CapPrm", "link:/proc/self/ns/ipc")
	config.Linux.SecurityContext.RunAsUser = &runtimeapi.Int64Value{Value: 77}
	config.Linux.SecurityContext.NamespaceOptions.Ipc = runtimeapi.NamespaceMode_NODE
	ipc, _ := os.Readlink("/proc/self/ns/ipc")
	lines(t, g.runProbe("q", config), mask(), ipc)
}

// Where there is one user only, user 0 is told that files were given away and
// that it has become another, which is all that most programs want; others
// learn that they may not. As root both work.
func TestImagePretends(t *testing.T) {
	g, images := imageRig(t)
	images.add(t, "app", probeConfig, layer(t, files{"file": ""}), probeLayer(t))
	ask := []string{"chown:/file", "owner:/file", "become"}
	for i, profile := range []runtimeapi.SecurityProfile_ProfileType{runtimeapi.SecurityProfile_RuntimeDefault, runtimeapi.SecurityProfile_Unconfined} {
		config := probeContainer("app", ask...)
		config.Linux.SecurityContext.Seccomp = &runtimeapi.SecurityProfile{ProfileType: profile}
		want := []string{"chowned", "4 4 644", "became 4"}
		if os.Getuid() != 0 {
			want = []string{"chowned", "0 0 644", "became 0"}
		}
		lines(t, g.runProbe(fmt.Sprint("root", i), config), want...)
	}
	config := probeContainer("app", "chown:/file", "become")
	config.Linux.SecurityContext.RunAsUser = &runtimeapi.Int64Value{Value: 77}
	if out := strings.Join(g.runProbe("other", config), " "); strings.Contains(out, "chowned") || strings.Contains(out, "became") {
		t.Errorf("another user: %s", out)
	}
}

// A container of an image ends by the image's signal, and by the Pod's if it
// names one.
func TestImageStopSignal(t *testing.T) {
	g, images := imageRig(t)
	images.add(t, "app", image.Config{Entrypoint: probeConfig.Entrypoint, StopSignal: "SIGQUIT"}, probeLayer(t))
	for pod, tt := range map[string]struct {
		signal runtimeapi.Signal
		want   string
	}{"image": {want: "quit"}, "pod": {runtimeapi.Signal_SIGUSR1, "user defined signal 1"}} {
		config := probeContainer("app", "wait")
		config.StopSignal = tt.signal
		id := g.begin(g.sandbox(pod, ""), config)
		until(t, "it waits", func() bool { return g.output(id, "stdout") == "waiting\n" })
		g.stop(id, 600)
		if st := g.status(id); st.ExitCode != 9 || g.output(id, "stdout") != "waiting\n"+tt.want+"\n" {
			t.Errorf("%s: %v %q", pod, st, g.output(id, "stdout"))
		}
	}
	for text, want := range map[string]unix.Signal{"SIGQUIT": unix.SIGQUIT, "quit": unix.SIGQUIT, "9": unix.SIGKILL, "SIGRTMIN+3": 37, "RTMAX": 64, "": 0, "NONSENSE": 0, "99": 0} {
		if got := parseSignal(text); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
}

// An image in use cannot be removed, whether the Runtime lives or not; its
// container goes on without one, and is found again.
func TestImageInUse(t *testing.T) {
	g, images := imageRig(t)
	img := images.add(t, "app", probeConfig, probeLayer(t))
	remove := func() error {
		_, err := g.img.RemoveImage(g.ctx(), &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: img.ID}})
		return err
	}
	sb := g.sandbox("p", "")
	id := g.create(sb, probeContainer("app", "wait"))
	if err := remove(); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "in use") {
		t.Errorf("created: %v", err)
	}
	if _, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id}); err != nil {
		t.Fatal(err)
	}
	until(t, "it waits", func() bool { return g.output(id, "stdout") == "waiting\n" })
	if err := remove(); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "container main of Pod default/p") {
		t.Errorf("running: %v", err)
	}
	g.close()
	if err := images.Remove(img.ID); err == nil {
		t.Error("removed without a Runtime")
	}
	g.start()
	st := g.status(id)
	if st.State != runtimeapi.ContainerState_CONTAINER_RUNNING || st.ImageId != img.ID || st.ImageRef != img.Digests[0] || st.Image.Image != "docker.io/library/app:latest" || st.User.GetLinux() == nil {
		t.Errorf("found again: %v", st)
	}
	if resp := g.exec(id, "/bin/probe", "id", "env:HOME"); string(resp.Stdout) != "0 0 []\n/\n" {
		t.Errorf("exec: %v", resp)
	}
	g.stop(id, 600)
	if st := g.wait(id); st.ExitCode != 9 {
		t.Errorf("%v", st)
	}
	if err := remove(); err != nil {
		t.Errorf("ended: %v", err)
	}
	if err := remove(); err != nil {
		t.Errorf("removed twice: %v", err)
	}
}

// Who holds an image for a moment, and is none of our containers, does not keep it.
func TestImageHeldForAMoment(t *testing.T) {
	g, images := imageRig(t)
	img := images.add(t, "app", probeConfig, layer(t, nil))
	use, err := images.Use(img.ID)
	if err != nil {
		t.Fatal(err)
	}
	images.held = make(chan struct{}, 1000)
	removed := make(chan error, 1)
	go func() {
		_, err := g.img.RemoveImage(g.ctx(), &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: img.ID}})
		removed <- err
	}()
	for range 3 {
		select {
		case <-images.held:
		case err := <-removed:
			t.Fatalf("given up: %v", err)
		}
	}
	if err := use.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-removed; err != nil {
		t.Error(err)
	}
}

// Containers of a Pod with shareProcessNamespace see each other's processes,
// whichever files they run on.
func TestImageSharedProcesses(t *testing.T) {
	g, images := imageRig(t)
	own := uint32(os.Getuid())
	images.add(t, "app", image.Config{Entrypoint: probeConfig.Entrypoint, User: fmt.Sprint(own)}, probeLayer(t))
	sc := g.sandboxConfig("p", 0)
	sc.Linux = &runtimeapi.LinuxPodSandboxConfig{SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{NamespaceOptions: &runtimeapi.NamespaceOption{Pid: runtimeapi.NamespaceMode_POD}}}
	resp, err := g.rt.RunPodSandbox(g.ctx(), &runtimeapi.RunPodSandboxRequest{Config: sc})
	if err != nil {
		t.Fatal(err)
	}
	config := probeContainer("app", "cat:/proc/1/comm", "id", "link:/proc/self/ns/ipc")
	config.Linux.SecurityContext.NamespaceOptions.Pid = runtimeapi.NamespaceMode_POD
	id := g.begin(resp.PodSandboxId, config)
	g.wait(id)
	out := strings.Split(g.output(id, "stdout"), "\n")
	ipc, _ := os.Readlink("/proc/self/ns/ipc")
	if len(out) < 3 || out[0] != "carillon-shim" || !strings.HasPrefix(out[1], fmt.Sprint(own)+" ") || out[2] == ipc {
		t.Errorf("%q %q", out, g.output(id, "stderr"))
	}
}

// The kernel's own files are the container's: what a Pod masks stays masked.
func TestImageKernelPaths(t *testing.T) {
	g, images := imageRig(t)
	images.add(t, "app", probeConfig, probeLayer(t))
	config := probeContainer("app", "cat:/proc/version", "ls:/proc/fs", "write:/proc/sys/kernel/hostname", "write:/sys/kernel/x", "cat:/proc/1/comm")
	config.Linux.SecurityContext.MaskedPaths = []string{"/proc/version", "/proc/fs"}
	config.Linux.SecurityContext.ReadonlyPaths = []string{"/proc/sys"}
	out := g.runProbe("p", config)
	if out[0] != "" || out[1] != "[]" || !strings.Contains(out[2], "read-only") || out[3] == "wrote /sys/kernel/x" || !strings.HasPrefix(out[4], "carillon-shim") {
		t.Errorf("%q", out)
	}
}

// A container of an image may have the machine's processes, a terminal, and, of
// a privileged Pod, the machine's devices.
func TestImageOpenings(t *testing.T) {
	g, images := imageRig(t)
	images.add(t, "app", probeConfig, probeLayer(t))
	init, err := os.ReadFile("/proc/1/comm")
	if err != nil {
		t.Fatal(err)
	}
	config := probeContainer("app", "cat:/proc/1/comm", "id")
	config.Linux.SecurityContext.NamespaceOptions.Pid = runtimeapi.NamespaceMode_NODE
	lines(t, g.runProbe("processes", config), strings.TrimSpace(string(init)), "0 0 []")

	config = probeContainer("app", "link:/proc/self/fd/0", "owner:/dev/pts/0")
	config.Tty = true
	config.Linux.SecurityContext.RunAsUser = &runtimeapi.Int64Value{Value: 77}
	out := g.runProbe("terminal", config)
	owner := "77 "
	if os.Getuid() == 0 {
		owner = "77 5 620" // the group tty, whoever opens it; an ordinary user's container has no other groups
	}
	if len(out) != 2 || strings.TrimSpace(out[0]) != "/dev/pts/0" || !strings.HasPrefix(out[1], owner) {
		t.Errorf("on a terminal: %q", out)
	}

	config = probeContainer("app", "status:CapPrm", "status:Seccomp", "ls:/dev", "write:/sys/x", "chown:/bin")
	config.Linux.SecurityContext.Privileged = true
	out = g.runProbe("privileged", config)
	machine, err := os.ReadDir("/dev")
	if err != nil {
		t.Fatal(err)
	}
	filter := "0"
	if os.Getuid() != 0 {
		filter = "2" // which refuses nothing
	}
	if len(out) != 5 || out[0] == mask() || out[1] != filter || len(strings.Fields(out[2])) < len(machine)/2 || strings.Contains(out[3], "read-only") || out[4] != "chowned" {
		t.Errorf("privileged: %q", out)
	}
}

// Where no root can be made a container of an image does not run on other files
// in its place, and the message says what helps.
func TestImageWithoutRoot(t *testing.T) {
	g, images := imageRig(t)
	images.add(t, "app", probeConfig, probeLayer(t))
	g.run.view.root, g.run.view.images, g.run.view.pids, g.run.view.cure = rootNone, false, false, "do this and that"
	id := g.create(g.sandbox("p", ""), probeContainer("app", "id"))
	_, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id})
	if err == nil || !strings.Contains(err.Error(), "do this and that") || !strings.Contains(err.Error(), "--local-files") {
		t.Errorf("%v", err)
	}
	if st := g.wait(id); st.ExitCode != 128 || !strings.Contains(st.Message, "docker.io/library/app:latest") {
		t.Errorf("%v", st)
	}
}

// In a container of another runtime, where all files lie on an overlay, images
// can be kept and run as well: the tests themselves run once more there.
func TestOnOverlay(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounts an overlay")
	}
	if testing.Short() {
		t.Skip("runs the tests of images a second time")
	}
	dir, err := os.MkdirTemp("", "overlay") // short, for sockets in it
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, d := range []string{"lower", "upper", "work", "m"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", `cd "$1" && mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work m && shift && exec "$@"`,
		"sh", dir, exe, "-test.v", "-test.short", "-test.run=TestImage")
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(dir, "m"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil || bytes.Count(out, []byte("--- PASS")) < 15 {
		t.Errorf("%v\n%s", err, out)
	}
}
