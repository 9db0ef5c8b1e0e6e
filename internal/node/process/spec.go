// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"cmp"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/image"
	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// Annotation of the kubelet with the path of the termination message file.
const terminationMessagePath = "io.kubernetes.container.terminationMessagePath"

// Paths of the mounts that the kubelet gives to nearly every container.
const (
	etcHosts           = "/etc/hosts"
	etcResolvConf      = "/etc/resolv.conf"
	serviceAccountPath = "/var/run/secrets/kubernetes.io/serviceaccount"
)

// Files in a container's directory that it sees in its /etc.
const (
	resolvConfFile = "resolv.conf" // with the machine's files, when the Pod asks for one that differs from the machine's
	hostsFile      = "hosts"       // with an image, when there is no volume
	hostnameFile   = "hostname"    // with an image
)

// implicitMount reports whether a mount was not asked for by the Pod's author.
func implicitMount(c *runtimeapi.ContainerConfig, path string) bool {
	switch path {
	case etcHosts, serviceAccountPath, c.GetAnnotations()[terminationMessagePath]:
		return true
	}
	return false
}

// built is all that a container needs to be started.
type built struct {
	spec    shim.Spec
	ns      shim.Namespaces
	user    *shim.User // who runs it, for its status; nil when the image's files tell
	cgroups []string
	files   map[string]string // of the container's directory, by name: what the container gets in its /etc

	images            []*image.Use // that its shim is to hold
	imageRef, imageID string
	imageName         string
	stopSignal        unix.Signal // of the image
}

// specFor turns a container of the CRI into what its shim is told. Errors are
// for the user: they say what can not be done here.
func (r *Runtime) specFor(s *sandbox, c *runtimeapi.ContainerConfig, id, dir string) (b built, err error) {
	defer func() {
		if err != nil {
			closeImages(b.images)
		}
	}()
	sc := c.GetLinux().GetSecurityContext()
	use, err := r.useImage(s, c)
	if err != nil {
		return built{}, err
	}
	root := r.rootFor(s, c)
	b.imageRef = imageID(imageName(c))
	if use != nil {
		root, b.images = shim.RootImage, append(b.images, use)
	}
	pids, podPIDs, err := r.pidNamespace(s, sc, root)
	if err != nil {
		return b, err
	}
	spec := shim.Spec{
		ID:           id,
		Args:         slices.Concat(c.GetCommand(), c.GetArgs()),
		Dir:          c.GetWorkingDir(),
		Root:         root,
		Hidden:       append([]string{r.opts.RootDir}, r.opts.Hidden...),
		Masked:       sc.GetMaskedPaths(),
		ReadOnly:     sc.GetReadonlyPaths(),
		ReadOnlyRoot: sc.GetReadonlyRootfs(),
		PodPIDs:      podPIDs,
		Privileged:   sc.GetPrivileged(),
		NoNewPrivs:   sc.GetNoNewPrivs(),
		ClearAmbient: r.view.user && root != shim.RootNone,
		TTY:          c.GetTty(),
		Stdin:        c.GetStdin(),
		StdinOnce:    c.GetStdinOnce(),
	}
	var account account
	base := []string{"PATH=" + cmp.Or(os.Getenv("PATH"), defaultPath)}
	if use != nil {
		base, err = r.fromImage(&b, &spec, use, s, c, dir)
	} else {
		b.user, account, err = resolveUser(r.withoutImageUser(c, s.rec.Handler))
		base = append(base, "HOME="+cmp.Or(account.home, "/"))
	}
	if err != nil {
		return b, err
	}
	if use == nil && len(c.GetCommand()) == 0 && isPause(imageName(c)) {
		spec.Builtin, spec.Args = "pause", nil
	}
	if root == shim.RootHost || root == shim.RootNone {
		spec.Hidden = nil
	} else if h := s.config.GetHostname(); h != "" {
		spec.Hostname = h
	}
	if err = r.setRights(&spec, s, sc, b.user); err != nil {
		return b, err
	}
	if res := c.GetLinux().GetResources(); res != nil {
		if adj := int(res.GetOomScoreAdj()); adj != 0 {
			spec.OOMScoreAdj = &adj
		}
	}
	if root == shim.RootUser {
		spec.Own = ownDirs(account)
		if podPIDs {
			spec.PodUser = machineUser(true)
		}
	}
	list, err := r.volumes(&b, c, root)
	if err != nil {
		return b, err
	}
	spec.Mounts = append(spec.Mounts, list...)
	if conf := resolvConf(s.config.GetDnsConfig()); conf != "" && (root == shim.RootOverlay || root == shim.RootUser) {
		b.files = map[string]string{resolvConfFile: conf}
		spec.Mounts = append(spec.Mounts, shim.Mount{Source: filepath.Join(dir, resolvConfFile), Target: etcResolvConf})
	}
	if c.GetLogPath() != "" && s.config.GetLogDirectory() != "" {
		spec.LogPath = filepath.Join(s.config.GetLogDirectory(), c.GetLogPath())
	}
	extra := map[string]string{}
	if !pids {
		extra[envContainer] = id
	}
	if spec.Hostname != "" {
		extra["HOSTNAME"] = spec.Hostname
	}
	spec.Env = environment(base, c.GetEnvs(), extra, r.opts.APIServer)
	if len(spec.Env) > 0 && spec.TTY && !slices.ContainsFunc(spec.Env, func(e string) bool { return strings.HasPrefix(e, "TERM=") }) {
		spec.Env = append(spec.Env, "TERM=xterm")
	}
	spec.Cgroup = r.cgroups.plan(id, c.GetLinux().GetResources(), r.opts.PIDsMax, allowedDevices(&spec))
	for _, d := range cgroupDirs(spec.Cgroup) {
		b.cgroups = append(b.cgroups, d.Path)
	}
	b.spec = spec
	b.ns = shim.Namespaces{PID: pids}
	return b, nil
}

// setRights says as whom the command runs and what it may do. user is nil when
// the image's files tell.
func (r *Runtime) setRights(spec *shim.Spec, s *sandbox, sc *runtimeapi.LinuxContainerSecurityContext, user *shim.User) (err error) {
	if os.Geteuid() == 0 {
		spec.User = user
	}
	if os.Geteuid() == 0 || spec.Image != nil {
		spec.LimitCaps, spec.Bounding, spec.Ambient, err = capabilities(sc, spec.Root)
		if err != nil {
			return err
		}
	}
	if spec.ClearAmbient && !sc.GetPrivileged() {
		// In a user namespace of its own the shim has every capability there;
		// the command is to have none, whatever it executes.
		spec.LimitCaps = true
	}
	// Without a namespace of its own an ordinary user's process can take a
	// filter only together with the promise to gain no privileges, and
	// RuntimeClass host is there for programs such as sudo that do.
	exempt := spec.Root == shim.RootNone && s.rec.Handler == HandlerHost && os.Geteuid() != 0 && !spec.NoNewPrivs
	if spec.Seccomp, err = r.seccomp.filterFor(sc, spec, exempt, false); err != nil {
		return err
	}
	if spec.Image != nil && r.view.user {
		if spec.Image.RootSeccomp, err = r.seccomp.filterFor(sc, spec, exempt, true); err != nil {
			return err
		}
	}
	return nil
}

// volumes are the mounts of a container that its root has a place for.
func (r *Runtime) volumes(b *built, c *runtimeapi.ContainerConfig, root shim.Root) ([]shim.Mount, error) {
	var list []shim.Mount
	for _, m := range c.GetMounts() {
		// A mount that is read-only is so with all below it in any case; this is what a Pod may ask for.
		if m.GetRecursiveReadOnly() && (!m.GetReadonly() || m.GetPropagation() != runtimeapi.MountPropagation_PROPAGATION_PRIVATE) {
			return nil, status.Errorf(codes.InvalidArgument, "volume at %q: recursiveReadOnly wants readOnly: true, and no mountPropagation", m.GetContainerPath())
		}
		if m.GetImage().GetImage() != "" {
			v, err := r.imageVolume(b, m)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
			continue
		}
		if !filepath.IsAbs(m.GetContainerPath()) || !filepath.IsAbs(m.GetHostPath()) {
			return nil, status.Errorf(codes.InvalidArgument, "volume at %q from %q: both paths must be absolute", m.GetContainerPath(), m.GetHostPath())
		}
		implicit := implicitMount(c, m.GetContainerPath())
		if root == shim.RootNone && implicit || root == shim.RootHost && m.GetContainerPath() == etcHosts {
			// The machine's own files are what RuntimeClass host is for.
			continue
		}
		list = append(list, shim.Mount{
			Source: m.GetHostPath(), Target: m.GetContainerPath(), ReadOnly: m.GetReadonly(),
			Slave:    m.GetPropagation() != runtimeapi.MountPropagation_PROPAGATION_PRIVATE,
			Optional: implicit,
		})
	}
	return list, nil
}

// ownDirs are where an ordinary user's programs expect to be able to write:
// home, temporary and current directory.
func ownDirs(a account) []string {
	here, _ := os.Getwd()
	var dirs []string
	for _, d := range []string{a.home, os.Getenv("HOME"), os.TempDir(), here} {
		if d, err := filepath.EvalSymlinks(d); err == nil && filepath.IsAbs(d) && d != "/" {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// rootFor chooses the view of the filesystem.
func (r *Runtime) rootFor(s *sandbox, c *runtimeapi.ContainerConfig) shim.Root {
	if r.view.root == shim.RootNone || s.rec.Handler != HandlerHost {
		return r.view.root
	}
	if r.view.user && !slices.ContainsFunc(c.GetMounts(), func(m *runtimeapi.Mount) bool {
		return !implicitMount(c, m.GetContainerPath())
	}) {
		// Inside a user namespace set-user-ID programs (sudo) do not work and
		// the files of others belong to nobody. Without volumes there is no
		// need for one.
		return shim.RootNone
	}
	return shim.RootHost
}

// defaultPath is used where the environment of this program has no PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment puts together what the command finds: what an image brings along,
// or in its place this program (PATH) and the user (HOME), then extra, then the
// container's own, of which the last of a name counts.
func environment(base []string, envs []*runtimeapi.KeyValue, extra map[string]string, apiServer string) []string {
	values := map[string]string{}
	var order []string
	set := func(k, v string) {
		if _, ok := values[k]; !ok {
			order = append(order, k)
		}
		values[k] = v
	}
	for _, e := range base {
		if k, v, ok := strings.Cut(e, "="); ok && k != "" {
			set(k, v)
		}
	}
	if v, ok := extra["HOSTNAME"]; ok {
		set("HOSTNAME", v)
	}
	for _, e := range envs {
		if e.GetKey() != "" && !strings.Contains(e.GetKey(), "=") {
			set(e.GetKey(), string(e.GetValue()))
		}
	}
	if v, ok := extra[envContainer]; ok {
		set(envContainer, v)
	}
	pointToAPIServer(values, set, apiServer)
	env := make([]string, 0, len(order))
	for _, k := range order {
		// A zero byte would cut the environment short.
		env = append(env, strings.ReplaceAll(k+"="+values[k], "\x00", ""))
	}
	return env
}

// pointToAPIServer replaces the address of the kubernetes service by one that
// can be reached from here. Variables that the Pod sets itself are left alone:
// the kubelet's own agree with each other.
func pointToAPIServer(values map[string]string, set func(k, v string), apiServer string) {
	host, port, err := net.SplitHostPort(apiServer)
	if err != nil {
		return
	}
	was, told := values["KUBERNETES_SERVICE_HOST"]
	wasPort := values["KUBERNETES_SERVICE_PORT"]
	switch {
	case !told:
		// The kubernetes service is made a moment after the API server is
		// ready: the kubelet did not know it yet when it made this container.
		wasPort = "443"
	case was == "" || values["KUBERNETES_PORT_"+wasPort+"_TCP_ADDR"] != was:
		return
	}
	set("KUBERNETES_SERVICE_HOST", host)
	set("KUBERNETES_SERVICE_PORT", port)
	set("KUBERNETES_SERVICE_PORT_HTTPS", port)
	url := "tcp://" + net.JoinHostPort(host, port)
	set("KUBERNETES_PORT", url)
	prefix := "KUBERNETES_PORT_" + wasPort + "_TCP"
	set(prefix, url)
	set(prefix+"_ADDR", host)
	set(prefix+"_PORT", port)
}

// resolvConf is the content of /etc/resolv.conf for a Pod that asks for
// something the machine's file does not say, else "".
func resolvConf(dns *runtimeapi.DNSConfig) string {
	if len(dns.GetServers())+len(dns.GetSearches())+len(dns.GetOptions()) == 0 {
		return ""
	}
	// What the kubelet sends when it was told of no resolv.conf.
	if slices.Equal(dns.GetSearches(), []string{"."}) && len(dns.GetOptions()) == 0 && !slices.ContainsFunc(dns.GetServers(), func(s string) bool { return s != "127.0.0.1" && s != "::1" }) {
		return ""
	}
	var b strings.Builder
	for _, s := range dns.GetServers() {
		b.WriteString("nameserver " + s + "\n")
	}
	if len(dns.GetSearches()) > 0 {
		b.WriteString("search " + strings.Join(dns.GetSearches(), " ") + "\n")
	}
	if len(dns.GetOptions()) > 0 {
		b.WriteString("options " + strings.Join(dns.GetOptions(), " ") + "\n")
	}
	if sameResolver(b.String()) {
		return ""
	}
	return b.String()
}

// sameResolver reports whether the machine's file says the same.
func sameResolver(text string) bool {
	b, err := os.ReadFile(etcResolvConf)
	if err != nil {
		return false
	}
	return slices.Equal(resolverLines(text), resolverLines(string(b)))
}

func resolverLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if f := strings.Fields(line); len(f) > 1 && f[0] != "sortlist" {
			lines = append(lines, strings.Join(f, " "))
		}
	}
	slices.Sort(lines)
	return lines
}
