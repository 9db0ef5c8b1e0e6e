// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wantNothingLeft fails the test when the program left mounts below the data
// directory, processes (of its own, or with the marker in their arguments) or
// cgroups. What is on its way out is given the time to go.
func wantNothingLeft(t *testing.T, dataDir, marker string) {
	t.Helper()
	wantNothingLeftOf(t, dataDir, marker, func(int) bool { return true })
}

// wantNothingLeftOf looks at the processes of some users only.
func wantNothingLeftOf(t *testing.T, dataDir, marker string, of func(uid int) bool) {
	t.Helper()
	deadline := time.Now().Add(forever / 4)
	for {
		left := leftMounts(t, dataDir)
		left = append(left, leftProcessesOf(marker, of)...)
		left = append(left, leftCgroups(dataDir)...)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func leftMounts(t *testing.T, dataDir string) []string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for mount := range strings.Lines(string(data)) {
		if strings.Contains(mount, dataDir) {
			left = append(left, "mount: "+strings.TrimSpace(mount))
		}
	}
	return left
}

// leftProcesses are those that run the program under test, or whose arguments
// hold the marker; an empty marker stands for nothing.
func leftProcesses(marker string) []string {
	return leftProcessesOf(marker, func(int) bool { return true })
}

func leftProcessesOf(marker string, of func(uid int) bool) []string {
	var left []string
	for _, pid := range processes() {
		arguments, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
		text := strings.ReplaceAll(string(arguments), "\x00", " ")
		program, _ := os.Readlink(filepath.Join("/proc", pid, "exe"))
		if (program == carillon || marker != "" && strings.Contains(text, marker)) && of(userOf(pid)) {
			left = append(left, "process "+pid+": "+text)
		}
	}
	return left
}

// userOf is the user of a process, or -1 when it is gone. The owner of its directory says less: of a process that may
// not be looked into that is root.
func userOf(pid string) int {
	data, _ := os.ReadFile(filepath.Join("/proc", pid, "status"))
	_, after, _ := strings.Cut(string(data), "\nUid:")
	fields := strings.Fields(after)
	if len(fields) == 0 {
		return -1
	}
	uid, err := strconv.Atoi(fields[0])
	if err != nil {
		return -1
	}
	return uid
}

func processes() []string {
	entries, _ := os.ReadDir("/proc")
	var pids []string
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid != os.Getpid() {
			pids = append(pids, entry.Name())
		}
	}
	return pids
}

// leftCgroups are those named after the program, below any hierarchy, that
// have a container of this data directory.
func leftCgroups(dataDir string) []string {
	ids := containerIDs(dataDir)
	var left []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || !strings.Contains(path, "carillon") {
			return nil
		}
		for _, id := range ids {
			if strings.Contains(filepath.Base(path), id) {
				left = append(left, "cgroup: "+path)
			}
		}
		return nil
	})
	return left
}

// containerIDs are the names of the directories that the runtime keeps for
// containers and sandboxes.
func containerIDs(dataDir string) []string {
	var ids []string
	_ = filepath.WalkDir(filepath.Join(dataDir, "node", "process"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && len(entry.Name()) >= 16 {
			ids = append(ids, entry.Name())
		}
		return nil
	})
	return ids
}
