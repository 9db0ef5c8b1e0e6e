// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func accounts(t testing.TB, passwd, group string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"passwd": passwd, "group": group} {
		if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// Users are found as everywhere: the first line counts, numbers need no line,
// names do, and lines that are none are skipped.
func TestFindUser(t *testing.T) {
	root := accounts(t, `# comment
broken:x
app:x:not-a-number:1::/nowhere:
app:x:10:20::/home/app:/bin/sh
app:x:11:21::/home/second:/bin/sh
homeless:x:12:22
relative:x:13:23::home:
99:x:14:24::/home/number:
huge:x:4294967295:1::/:
`, "g:x:30:app,other\nh:x:31:\nbroken:x:\ni:x:32:app\n30:x:33:\n")
	gid := uint32(7)
	for _, tt := range []struct {
		user ImageUser
		want string // uid gid groups home; the error otherwise
	}{
		{ImageUser{}, "0 0 [0] /"},
		{ImageUser{Image: "app"}, "10 20 [20 30 32] /home/app"},
		{ImageUser{Image: "10"}, "10 20 [20 30 32] /home/app"},
		{ImageUser{Image: "app:h"}, "10 31 [30 31 32] /home/app"},
		{ImageUser{Image: "app:30"}, "10 30 [30 32] /home/app"},
		{ImageUser{Image: "10:"}, "10 20 [20 30 32] /home/app"},
		{ImageUser{Image: ":h"}, "0 31 [31] /"},
		{ImageUser{Image: "app", Strict: true, Groups: []uint32{5}}, "10 20 [5 20] /home/app"},
		{ImageUser{Image: "app", GID: &gid}, "10 7 [7 30 32] /home/app"},
		{ImageUser{Image: "app:h", User: "11"}, "11 21 [21 30 32] /home/second"},
		{ImageUser{Image: "app:h", User: "app"}, "10 31 [30 31 32] /home/app"},
		{ImageUser{Image: "homeless"}, "12 22 [22] /"},
		{ImageUser{Image: "relative"}, "13 23 [23] /"},
		{ImageUser{Image: "99"}, "99 0 [0] /"},
		{ImageUser{Image: "4294967294"}, "4294967294 0 [0] /"},
		{ImageUser{Image: "4294967295"}, "no user"},
		{ImageUser{Image: "-1"}, "no user"},
		{ImageUser{Image: "huge"}, "no user"},
		{ImageUser{Image: "broken"}, "no user"},
		{ImageUser{Image: "App"}, "no user"},
		{ImageUser{Image: "app:broken"}, "no group"},
	} {
		user, home, err := tt.user.find(root)
		got := ""
		if err == nil {
			got = fmt.Sprintf("%d %d %v %s", user.UID, user.GID, user.Groups, home)
		} else if strings.Contains(err.Error(), tt.want) {
			continue
		}
		if got != tt.want {
			t.Errorf("%+v: %q %v, want %q", tt.user, got, err, tt.want)
		}
	}
	if user, home, err := (ImageUser{Image: "5:6"}).find(t.TempDir()); err != nil || user.UID != 5 || user.GID != 6 || home != "/" {
		t.Errorf("without any files: %v %q %v", user, home, err)
	}
	if _, _, err := (ImageUser{}).find(accounts(t, strings.Repeat("x", maxAccounts+1), "")); err == nil {
		t.Error("a file without end was read")
	}
}

// Whatever an image writes into its files of users, somebody is found or nobody
// is, and never the user that is none.
func FuzzFindUser(f *testing.F) {
	f.Add("root:x:0:0:root:/root:/bin/sh\n", "root:x:0:\n", "root:root")
	f.Add("a:b:1:2:c:d\n\n::::::", "::::\nx:x:-1:a,,b", "a")
	f.Add("root:x:0:0::/home\x00/x:", "", "")
	f.Add("\x00:\x00:0x1:010", "a:x:4294967295:a", "4294967295:a")
	f.Fuzz(func(t *testing.T, passwd, group, user string) {
		found, home, err := ImageUser{Image: user}.find(accounts(t, passwd, group))
		if err != nil {
			return
		}
		if !strings.HasPrefix(home, "/") || strings.Contains(home, "\x00") || found.UID == 1<<32-1 || slices.Contains(found.Groups, 1<<32-1) || !slices.Contains(found.Groups, found.GID) {
			t.Errorf("%+v %q", found, home)
		}
	})
}
