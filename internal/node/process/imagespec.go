// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/image"
	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// etcHostname is where an image's programs look for the machine's name.
const etcHostname = "/etc/hostname"

// closeImages lets go of images.
func closeImages(images []*image.Use) {
	for _, u := range images {
		_ = u.Close() // a lock; whoever has inherited it keeps it
	}
}

// useImage takes the lock of the image that a container runs from; nil when it
// runs on this machine's files.
func (r *Runtime) useImage(s *sandbox, c *runtimeapi.ContainerConfig) (*image.Use, error) {
	name, local := r.localName(imageName(c), s.rec.Handler)
	if local {
		return nil, nil
	}
	// The kubelet names what it has looked up by its ID, and the Pod's name
	// beside it may mean another image by now.
	return r.lockImage(c.GetImage().GetImage(), name)
}

// lockImage takes the lock of the image that the first of refs names.
func (r *Runtime) lockImage(refs ...string) (*image.Use, error) {
	img, ok, err := r.findImage(slices.DeleteFunc(refs, func(ref string) bool { return ref == "" })...)
	if err != nil {
		return nil, imageError(err)
	}
	if !ok {
		return nil, status.Errorf(codes.NotFound, "image %s is not here: it must be pulled first", refs[len(refs)-1])
	}
	use, err := r.opts.Images.Use(img.ID)
	if err != nil {
		return nil, imageError(err)
	}
	return use, nil
}

// fromImage fills in what a container has of its image, and returns the
// environment that the image brings along. VOLUMEs that an image declares are
// not made: as with other Kubernetes runtimes a Pod says what it mounts, and
// what is written there goes to the container's own layer.
func (r *Runtime) fromImage(b *built, spec *shim.Spec, use *image.Use, s *sandbox, c *runtimeapi.ContainerConfig, dir string) ([]string, error) {
	config := use.Image.Config
	name := imageName(c)
	if n, err := image.ParseName(name); err == nil {
		name = n.String()
	}
	b.imageID, b.imageName, b.imageRef = use.Image.ID, name, use.Image.ID
	if len(use.Image.Digests) > 0 {
		b.imageRef = use.Image.Digests[0]
	}
	b.stopSignal = parseSignal(config.StopSignal)

	spec.Args = imageArgs(config, c.GetCommand(), c.GetArgs())
	if len(spec.Args) == 0 {
		return nil, status.Errorf(codes.InvalidArgument, "container %q has no command, and image %s has none either: set command: in the container", c.GetMetadata().GetName(), imageName(c))
	}
	spec.Dir = cmp.Or(c.GetWorkingDir(), config.WorkingDir, "/")
	if !filepath.IsAbs(spec.Dir) {
		spec.Dir = filepath.Join("/", spec.Dir)
	}
	user, err := imageUser(c, config.User)
	if err != nil {
		return nil, err
	}
	spec.Image = &shim.Image{Lowers: use.Layers, Options: r.overlayOptions(use), User: user}
	spec.Image.Own = machineUser(r.view.user)
	spec.HostIPC = hostIPC(c)
	if r.podIPC(c, spec.PodPIDs) {
		spec.SharedMemory = filepath.Join(r.sandboxDir(s), shim.SharedMemoryDir)
	}
	r.etcFiles(b, spec, s, c, dir)
	env := config.Env
	if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "PATH=") }) {
		env = append([]string{"PATH=" + defaultPath}, env...)
	}
	return env, nil
}

// overlayOptions are those for overlays over an image: what a layer's maker may
// have written into it for the kernel is looked at only as the store meant it.
func (r *Runtime) overlayOptions(use *image.Use) string {
	form := use.Form
	form.UserXattr = form.UserXattr || r.view.user // in a user namespace there is nothing else
	return form.MountOptions()
}

// imageArgs is the command line: command takes the place of the image's
// entrypoint and of its arguments, args only of its arguments.
func imageArgs(config image.Config, command, args []string) []string {
	if len(command) == 0 {
		command = config.Entrypoint
		if len(args) == 0 {
			args = config.Cmd
		}
	}
	return slices.Concat(command, args)
}

// imageUser is what a Pod says about who runs the command, beside what the image
// says. The shim finds the rest in the image's own files.
func imageUser(c *runtimeapi.ContainerConfig, own string) (shim.ImageUser, error) {
	sc := c.GetLinux().GetSecurityContext()
	u := shim.ImageUser{
		Image: own, User: sc.GetRunAsUsername(), Strict: sc.GetSupplementalGroupsPolicy() == runtimeapi.SupplementalGroupsPolicy_Strict,
	}
	number := func(v int64, field string) (uint32, error) {
		if v < 0 || v > 1<<32-2 {
			return 0, status.Errorf(codes.InvalidArgument, "%s %d is not an ID", field, v)
		}
		return uint32(v), nil
	}
	if sc.GetRunAsUser() != nil {
		id, err := number(sc.GetRunAsUser().GetValue(), "runAsUser")
		if err != nil {
			return u, err
		}
		u.User = strconv.FormatUint(uint64(id), 10)
	}
	if sc.GetRunAsGroup() != nil {
		if u.User == "" {
			return u, status.Errorf(codes.InvalidArgument, "runAsGroup %d stands alone: set runAsUser too", sc.GetRunAsGroup().GetValue())
		}
		id, err := number(sc.GetRunAsGroup().GetValue(), "runAsGroup")
		if err != nil {
			return u, err
		}
		u.GID = &id
	}
	for _, g := range sc.GetSupplementalGroups() {
		id, err := number(g, "supplemental group")
		if err != nil {
			return u, err
		}
		if os.Geteuid() != 0 {
			// The one group of the container is ours on the machine. Nor does a
			// container lose the other groups that we are in there: it has their
			// rights, and no number for them.
			if slices.Contains(ownGroups(), g) || u.GID != nil && id == *u.GID || c.GetAnnotations()[AnnotationVolumeGroup] == strconv.FormatInt(g, 10) {
				continue
			}
			return u, status.Errorf(codes.InvalidArgument, "group %d (supplementalGroups or fsGroup): this program runs as an ordinary user who is not a member of it, and its containers have no other groups: leave it out, or run this program as root", id)
		}
		u.Groups = append(u.Groups, id)
	}
	return u, nil
}

// etcFiles gives a container of an image the files about its network that no
// image can have: names of machines, name servers, its own name.
func (r *Runtime) etcFiles(b *built, spec *shim.Spec, s *sandbox, c *runtimeapi.ContainerConfig, dir string) {
	read := func(path string) string {
		text, _ := os.ReadFile(path) // a machine without has none to show
		return string(text)
	}
	hostname := s.config.GetHostname()
	if hostname == "" {
		hostname, _ = os.Hostname()
	}
	b.files = map[string]string{
		hostsFile:      read(etcHosts),
		resolvConfFile: cmp.Or(resolvConf(s.config.GetDnsConfig()), read(etcResolvConf)),
		hostnameFile:   hostname + "\n",
	}
	for _, f := range []struct{ name, target string }{{hostsFile, etcHosts}, {resolvConfFile, etcResolvConf}, {hostnameFile, etcHostname}} {
		if slices.ContainsFunc(c.GetMounts(), func(m *runtimeapi.Mount) bool { return filepath.Clean(m.GetContainerPath()) == f.target }) {
			delete(b.files, f.name)
			continue
		}
		spec.Mounts = append(spec.Mounts, shim.Mount{Source: filepath.Join(dir, f.name), Target: f.target, ReadOnly: spec.ReadOnlyRoot})
	}
}

// imageVolume is a volume with the files of an image, which can only be read.
func (r *Runtime) imageVolume(b *built, m *runtimeapi.Mount) (shim.Mount, error) {
	ref, path := m.GetImage().GetImage(), m.GetContainerPath()
	name := cmp.Or(m.GetImage().GetUserSpecifiedImage(), ref)
	if _, local := r.localName(name, ""); local {
		return shim.Mount{}, status.Errorf(codes.InvalidArgument, "volume at %s: image %s stands for the files of this machine, which are no volume: use a hostPath volume, or name a real image", path, name)
	}
	if !filepath.IsAbs(path) {
		return shim.Mount{}, status.Errorf(codes.InvalidArgument, "volume at %q: the path must be absolute", path)
	}
	use, err := r.lockImage(ref, name)
	if err != nil {
		return shim.Mount{}, err
	}
	b.images = append(b.images, use)
	return shim.Mount{Target: path, ReadOnly: true, Lowers: use.Layers, Options: r.overlayOptions(use), SubPath: m.GetImageSubPath()}, nil
}

// parseSignal reads the signal of an image, a name or a number; 0 when it is none.
func parseSignal(text string) unix.Signal {
	text = strings.ToUpper(text)
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n <= 64 {
		return unix.Signal(n)
	}
	if text == "" {
		return 0
	}
	name := "SIG" + strings.TrimPrefix(text, "SIG")
	if v, ok := runtimeapi.Signal_value[strings.NewReplacer("+", "PLUS", "-", "MINUS").Replace(name)]; ok {
		return stopSignal(runtimeapi.Signal(v))
	}
	return unix.SignalNum(name)
}
