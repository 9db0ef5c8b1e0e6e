// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ImageUser says who of an image runs the command. Names are those of the
// image's own /etc/passwd and /etc/group.
type ImageUser struct {
	Image  string   `json:"image,omitempty"` // the image's own choice: user or user:group, names or numbers; empty means 0
	User   string   `json:"user,omitempty"`  // name or number, in place of the image's choice
	GID    *uint32  `json:"gid,omitempty"`   // in place of the group of that user
	Groups []uint32 `json:"groups,omitempty"`
	Strict bool     `json:"strict,omitempty"` // the groups that the image puts the user in do not count
}

// maxAccounts bounds what is read of a file of users or groups.
const maxAccounts = 4 << 20

// entry is one line of /etc/passwd or /etc/group.
type entry struct {
	name    string
	id      uint32 // of the user or the group
	gid     uint32 // of users
	home    string // of users
	members []string
}

// find resolves who runs the command in the files below root, and what their
// home directory is.
func (u ImageUser) find(root string) (*User, string, error) {
	name, group, _ := strings.Cut(u.Image, ":")
	if u.User != "" && u.User != name {
		name, group = u.User, ""
	}
	users, err := readAccounts(root, "/etc/passwd", parseUser)
	if err != nil {
		return nil, "", err
	}
	groups, err := readAccounts(root, "/etc/group", parseGroup)
	if err != nil {
		return nil, "", err
	}
	found := entry{home: "/"}
	id, numeric := parseID(name)
	if name == "" {
		id, numeric = 0, true
	}
	is := func(e entry) bool { return numeric && e.id == id || !numeric && e.name == name }
	switch i := slices.IndexFunc(users, is); {
	case i >= 0:
		found = users[i]
	case numeric:
		found.id = id
	default:
		return nil, "", fmt.Errorf("the image has no user %q in its /etc/passwd: set securityContext.runAsUser to a number", name)
	}
	gid := found.gid
	if group != "" {
		if gid, numeric = parseID(group); !numeric {
			i := slices.IndexFunc(groups, func(e entry) bool { return e.name == group })
			if i < 0 {
				return nil, "", fmt.Errorf("the image has no group %q in its /etc/group: set securityContext.runAsGroup to a number", group)
			}
			gid = groups[i].id
		}
	}
	if u.GID != nil {
		gid = *u.GID
	}
	user := &User{UID: found.id, GID: gid, Groups: append([]uint32{gid}, u.Groups...)}
	if !u.Strict && found.name != "" {
		for _, g := range groups {
			if slices.Contains(g.members, found.name) {
				user.Groups = append(user.Groups, g.id)
			}
		}
	}
	slices.Sort(user.Groups)
	user.Groups = slices.Compact(user.Groups)
	return user, found.home, nil
}

// parseID reads a user or group ID. The highest number is none.
func parseID(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil && n < 1<<32-1
}

func parseUser(f []string) (entry, bool) {
	if len(f) < 4 {
		return entry{}, false
	}
	e := entry{name: f[0], home: "/"}
	var ok, groupOK bool
	e.id, ok = parseID(f[2])
	e.gid, groupOK = parseID(f[3])
	if len(f) > 5 && strings.HasPrefix(f[5], "/") && !strings.Contains(f[5], "\x00") {
		e.home = f[5]
	}
	return e, ok && groupOK
}

func parseGroup(f []string) (entry, bool) {
	if len(f) < 3 {
		return entry{}, false
	}
	e := entry{name: f[0]}
	var ok bool
	e.id, ok = parseID(f[2])
	if len(f) > 3 {
		e.members = strings.Split(f[3], ",")
	}
	return e, ok
}

// readAccounts reads a file of an image. One that is not there, or no file, has
// no entries; lines that say nothing are skipped.
func readAccounts(root, path string, parse func(fields []string) (entry, bool)) ([]entry, error) {
	var f *os.File
	target, err := resolve(root, path)
	if err == nil {
		// An image may put anything there, a pipe that nobody writes to for example.
		f, err = os.OpenFile(target, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
			return nil, nil
		}
		return nil, fmt.Errorf("%s of the image: %w", path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxAccounts+1))
	if err != nil {
		return nil, fmt.Errorf("%s of the image: %w", path, err)
	}
	if len(b) > maxAccounts {
		return nil, fmt.Errorf("%s of the image is longer than %d bytes", path, maxAccounts)
	}
	var list []entry
	for line := range strings.Lines(string(b)) {
		if e, ok := parse(strings.Split(strings.TrimSpace(line), ":")); ok {
			list = append(list, e)
		}
	}
	return list, nil
}

// alone is the user without the groups that an ordinary user cannot give.
func (u *User) alone() *User { return &User{UID: u.UID, GID: u.GID, Groups: []uint32{u.GID}} }

// takeID makes this process the given user in its user namespace, which may know
// nobody yet. own is who it is outside. Where the namespace is the Pod's, and
// another container has said who its user is, that must be the same.
func takeID(user, own *User) error {
	// Without it the kernel lets an ordinary user map no group; and it can be said
	// once only.
	_ = os.WriteFile("/proc/self/setgroups", []byte("deny"), 0)
	for _, m := range []struct {
		file     string
		id, outs uint32
	}{{"/proc/self/uid_map", user.UID, own.UID}, {"/proc/self/gid_map", user.GID, own.GID}} {
		werr := os.WriteFile(m.file, fmt.Appendf(nil, "%d %d 1", m.id, m.outs), 0)
		if werr == nil {
			continue
		}
		b, err := os.ReadFile(m.file)
		if err != nil {
			return err
		}
		known := strings.Fields(string(b))
		if len(known) == 0 {
			return fmt.Errorf("becoming user %d:%d in the container: %w", user.UID, user.GID, werr)
		}
		if known[0] != strconv.FormatUint(uint64(m.id), 10) {
			return fmt.Errorf("the container runs as user %d:%d, but the containers of a Pod with shareProcessNamespace are all one user when Carillon runs as an ordinary user, who the first one said (%s is %s): set runAsUser and runAsGroup of the Pod, leave out shareProcessNamespace, or run as root", user.UID, user.GID, filepath.Base(m.file), known[0])
		}
	}
	return nil
}
