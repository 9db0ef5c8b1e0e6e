// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package privatedir

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many symbolic links a path may lead through, as in the kernel.
const maxLinks = 40

// Resolve makes path absolute and free of symbolic links, and makes sure that it stays so: every directory on the way
// belongs to us or to root and can be changed by nobody else, and so does every link. In directories in which anybody
// may make files, such as /tmp, nobody may rename those of others (the sticky bit). Parts at the end that do not exist
// yet, or are no directories, are taken as they are. The directory that path names itself is not looked at: Open does
// that.
func Resolve(path string) (string, error) {
	// Not filepath.Abs, which takes ".." as text, before links are followed.
	if !filepath.IsAbs(path) {
		here, err := os.Getwd()
		if err != nil {
			return "", err
		}
		path = here + "/" + path
	}
	rest := splitPath(path)
	at := "/"
	for links := 0; len(rest) > 0; {
		if err := checkPassage(at); err != nil {
			return "", err
		}
		part := rest[0]
		rest = rest[1:]
		if part == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, part)
		var st unix.Stat_t
		err := unix.Lstat(next, &st)
		if errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(append([]string{next}, rest...)...), nil
		}
		if err != nil {
			return "", &os.PathError{Op: "look at", Path: next, Err: err}
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFLNK:
			if !trusted(st.Uid) {
				return "", &NotOursError{Path: next, Why: "is a link that belongs to " + userName(st.Uid), Cure: "give the path without that link"}
			}
			if links++; links > maxLinks {
				return "", &os.PathError{Op: "resolve", Path: path, Err: unix.ELOOP}
			}
			target, err := os.Readlink(next)
			if err != nil {
				return "", err
			}
			if filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(splitPath(target), rest...)
		case unix.S_IFDIR:
			at = next
		default:
			// No directory: whoever makes or opens the rest is told so.
			return filepath.Join(append([]string{next}, rest...)...), nil
		}
	}
	return at, nil
}

// splitPath splits a path, keeping "..", which has to be applied after links.
func splitPath(path string) []string {
	var list []string
	for part := range strings.SplitSeq(path, "/") {
		if part != "" && part != "." {
			list = append(list, part)
		}
	}
	return list
}

// checkPassage makes sure that no other user can exchange what lies in dir.
func checkPassage(dir string) error {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &os.PathError{Op: "look at", Path: dir, Err: err}
	}
	const cure = "choose a directory below one that only you or root can change"
	if !trusted(st.Uid) {
		return &NotOursError{Path: dir, Why: "belongs to " + userName(st.Uid) + ", who could exchange what lies in it", Cure: cure}
	}
	if st.Mode&unix.S_ISVTX != 0 {
		return nil
	}
	if st.Mode&0o002 != 0 {
		return &NotOursError{Path: dir, Why: "can be written by everybody, who could exchange what lies in it", Cure: cure}
	}
	// Many systems give each user a group of his own, which may then write.
	if st.Mode&0o020 != 0 && st.Gid != 0 && int(st.Gid) != os.Getegid() {
		return &NotOursError{Path: dir, Why: "can be written by " + groupName(st.Gid) + ", whose members could exchange what lies in it", Cure: cure}
	}
	return nil
}

// trusted reports whether uid is us or root. In a user namespace root, and everybody else of the machine, appears as
// the overflow user.
func trusted(uid uint32) bool {
	return uid == 0 || int(uid) == os.Geteuid() || uid == overflowUser && inUserNamespace()
}

// overflowUser is the owner of what belongs to users that a user namespace does not know.
const overflowUser = 65534

// inUserNamespace reports whether some users of the machine are not known here.
func inUserNamespace() bool {
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false
	}
	fields := strings.Fields(string(text))
	return len(fields) != 3 || fields[0] != "0" || fields[1] != "0" || fields[2] != "4294967295"
}

func userName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return "user " + u.Username + " (" + id + ")"
	}
	return "user " + id
}

func groupName(gid uint32) string {
	id := strconv.FormatUint(uint64(gid), 10)
	if g, err := user.LookupGroupId(id); err == nil {
		return "group " + g.Name + " (" + id + ")"
	}
	return "group " + id
}
