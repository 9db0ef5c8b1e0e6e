// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// account is what the machine knows of a user; empty when nothing.
type account struct {
	home   string
	gid    uint32
	known  bool
	groups []uint32
}

// lookupAccount finds a user by number.
func lookupAccount(uid uint32) account {
	u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil {
		return account{}
	}
	a := account{home: u.HomeDir, known: true}
	if gid, err := strconv.ParseUint(u.Gid, 10, 32); err == nil {
		a.gid = uint32(gid)
	}
	ids, _ := u.GroupIds()
	for _, id := range ids {
		if g, err := strconv.ParseUint(id, 10, 32); err == nil {
			a.groups = append(a.groups, uint32(g))
		}
	}
	return a
}

// resolveUser finds out as whom a container runs, as container runtimes do:
// the group, when none is asked for, is the user's on this machine, or 0.
func resolveUser(sc *runtimeapi.LinuxContainerSecurityContext) (*shim.User, account, error) {
	self := uint32(os.Geteuid())
	uid := self
	switch {
	case sc.GetRunAsUser() != nil:
		v := sc.GetRunAsUser().GetValue()
		if v < 0 || v > 1<<32-2 {
			return nil, account{}, status.Errorf(codes.InvalidArgument, "runAsUser %d is not a user ID", v)
		}
		uid = uint32(v)
	case sc.GetRunAsUsername() != "":
		u, err := user.Lookup(sc.GetRunAsUsername())
		if err != nil {
			return nil, account{}, status.Errorf(codes.InvalidArgument, "there is no user %q on this machine", sc.GetRunAsUsername())
		}
		v, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, account{}, status.Errorf(codes.InvalidArgument, "user %q: %v", sc.GetRunAsUsername(), err)
		}
		uid = uint32(v)
	}
	acc := lookupAccount(uid)
	if uid == self && acc.home == "" {
		acc.home = os.Getenv("HOME")
	}
	if self != 0 {
		return ownUser(sc, uid, acc)
	}
	u := &shim.User{UID: uid, GID: acc.gid}
	if g := sc.GetRunAsGroup(); g != nil {
		if g.GetValue() < 0 || g.GetValue() > 1<<32-2 {
			return nil, account{}, status.Errorf(codes.InvalidArgument, "runAsGroup %d is not a group ID", g.GetValue())
		}
		u.GID = uint32(g.GetValue())
	}
	groups := []uint32{u.GID}
	if sc.GetSupplementalGroupsPolicy() == runtimeapi.SupplementalGroupsPolicy_Merge {
		groups = append(groups, acc.groups...)
	}
	for _, g := range sc.GetSupplementalGroups() {
		if g < 0 || g > 1<<32-2 {
			return nil, account{}, status.Errorf(codes.InvalidArgument, "supplemental group %d is not a group ID", g)
		}
		groups = append(groups, uint32(g))
	}
	slices.Sort(groups)
	u.Groups = slices.Compact(groups)
	return u, acc, nil
}

// withoutImageUser takes back what the kubelet fills in as the user of a container of RuntimeClass host whose Pod names
// none: that of the image of that name, for which it asks without the handler, or root's when it is not here. The node
// says which containers these are. Of others, a name of a user can come from nowhere else, and of a number that is known
// of an ordinary user's containers: a Pod of theirs that asks for another user is not admitted.
func (r *Runtime) withoutImageUser(c *runtimeapi.ContainerConfig, handler string) *runtimeapi.LinuxContainerSecurityContext {
	sc, name := c.GetLinux().GetSecurityContext(), imageName(c)
	if sc == nil || handler != HandlerHost || r.isLocal(name, "") {
		return sc
	}
	sc = proto.Clone(sc).(*runtimeapi.LinuxContainerSecurityContext)
	sc.RunAsUsername = ""
	if c.GetAnnotations()[AnnotationOwnUser] != "" {
		sc.RunAsUser = nil
	}
	if os.Geteuid() == 0 {
		return sc
	}
	filledIn := int64(0)
	if img, ok, err := r.findImage(name); ok && err == nil {
		filledIn = criImage(img).GetUid().GetValue()
	}
	if sc.GetRunAsUser().GetValue() == filledIn {
		sc.RunAsUser = nil
	}
	return sc
}

// ownUser is for a runtime that is not root: it can be nobody else.
func ownUser(sc *runtimeapi.LinuxContainerSecurityContext, uid uint32, acc account) (*shim.User, account, error) {
	self, gid := os.Geteuid(), os.Getegid()
	if int(uid) != self {
		return nil, account{}, status.Errorf(codes.InvalidArgument, "runAsUser %d: this program runs as user %d and can start processes as that user only: leave out runAsUser, or run it as root", uid, self)
	}
	member := ownGroups()
	if g := sc.GetRunAsGroup(); g != nil && g.GetValue() != int64(gid) {
		return nil, account{}, status.Errorf(codes.InvalidArgument, "runAsGroup %d: this program runs with group %d and can start processes with that group only: leave out runAsGroup, or run it as root", g.GetValue(), gid)
	}
	for _, g := range sc.GetSupplementalGroups() {
		if !slices.Contains(member, g) {
			return nil, account{}, status.Errorf(codes.InvalidArgument, "group %d (supplementalGroups or fsGroup): user %d is not a member of it: leave it out, or run this program as root", g, self)
		}
	}
	u := &shim.User{UID: uid, GID: uint32(gid)}
	for _, g := range member[1:] {
		u.Groups = append(u.Groups, uint32(g))
	}
	return u, acc, nil
}

// ownGroups are the groups that this process is in, its own first.
func ownGroups() []int64 {
	groups := []int64{int64(os.Getegid())}
	more, _ := os.Getgroups()
	for _, g := range more {
		groups = append(groups, int64(g))
	}
	return groups
}

// capabilityNames in the order of their numbers.
var capabilityNames = strings.Fields(`CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP
	LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT
	SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE
	AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE`)

// usualCapabilities are those that container runtimes leave to containers,
// without the two that reach beyond the container here: MKNOD makes the
// machine's disks accessible, and NET_RAW reads the traffic of the network
// that all share.
var usualCapabilities = strings.Fields(`CHOWN DAC_OVERRIDE FSETID FOWNER SETGID SETUID SETFCAP SETPCAP
	NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE`)

// capabilities returns whether and to which capabilities a container is
// limited, and those that users other than root get as well. Containers that
// run on the machine's own files keep all that they do not drop.
func capabilities(sc *runtimeapi.LinuxContainerSecurityContext, root shim.Root) (limit bool, keep, ambient []int, err error) {
	if sc.GetPrivileged() {
		return false, nil, nil, nil
	}
	caps := sc.GetCapabilities()
	has := map[int]bool{}
	base := usualCapabilities
	if root == shim.RootHost || root == shim.RootNone {
		base = capabilityNames
	}
	for _, n := range base {
		has[slices.Index(capabilityNames, n)] = true
	}
	each := func(names []string, field string, f func(int)) error {
		for _, n := range names {
			name := strings.TrimPrefix(strings.ToUpper(n), "CAP_")
			if name == "ALL" {
				for i := range capabilityNames {
					f(i)
				}
				continue
			}
			i := slices.Index(capabilityNames, name)
			if i < 0 {
				return status.Errorf(codes.InvalidArgument, "capabilities.%s: there is no capability %q", field, n)
			}
			f(i)
		}
		return nil
	}
	all := func(names []string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(strings.TrimPrefix(n, "CAP_"), "ALL") })
	}
	// ALL first, so that "drop ALL, add X" and "add ALL, drop X" both mean
	// what they say.
	if all(caps.GetAddCapabilities()) {
		for i := range capabilityNames {
			has[i] = true
		}
	}
	if all(caps.GetDropCapabilities()) {
		clear(has)
	}
	notAll := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return all([]string{n}) })
	}
	if err := each(notAll(caps.GetAddCapabilities()), "add", func(i int) { has[i] = true }); err != nil {
		return false, nil, nil, err
	}
	if err := each(notAll(caps.GetDropCapabilities()), "drop", func(i int) { delete(has, i) }); err != nil {
		return false, nil, nil, err
	}
	if err := each(caps.GetAddAmbientCapabilities(), "addAmbient", func(i int) { ambient = append(ambient, i) }); err != nil {
		return false, nil, nil, err
	}
	for i := range has {
		keep = append(keep, i)
	}
	slices.Sort(keep)
	return true, keep, ambient, nil
}
