// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"slices"
	"strings"
)

// machine is what containers may have in common with the machine.
type machine struct {
	hostname   string
	namespaces map[string]string
	files      map[string]string // their SHA-256
}

func thisMachine() (machine, error) {
	m := machine{namespaces: map[string]string{}, files: map[string]string{}}
	var err error
	if m.hostname, err = os.Hostname(); err != nil {
		return m, err
	}
	entries, err := os.ReadDir("/proc/self/ns")
	if err != nil {
		return m, err
	}
	for _, e := range entries {
		if m.namespaces[e.Name()], err = os.Readlink("/proc/self/ns/" + e.Name()); err != nil {
			return m, err
		}
	}
	for _, name := range []string{"/etc/hosts", "/etc/resolv.conf", "/etc/hostname"} {
		if data, err := os.ReadFile(name); err == nil {
			sum := sha256.Sum256(data)
			m.files[name] = hex.EncodeToString(sum[:])
		}
	}
	return m, nil
}

// rows are what a probe said, by name.
type rows map[string]string

// read makes rows of a probe's output, without what differs from run to run or from machine to machine.
func (m machine) read(output string) rows {
	found, hostname := rows{}, ""
	for line := range strings.Lines(output) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			continue
		}
		switch {
		case name == "hostname":
			hostname = value
			value = whose(value, m.hostname)
		case name == "env HOSTNAME":
			value = map[bool]string{true: "the hostname", false: value}[value == hostname]
		case name == "process number" && value != "1":
			value = "not 1"
		case name == "cgroup" && strings.TrimSpace(value) != "/":
			value = "a path"
		case name == "mountinfo":
			name, value = mount(value)
		case strings.HasPrefix(name, "namespace "):
			value = whose(value, m.namespaces[strings.TrimPrefix(name, "namespace ")])
		case strings.HasPrefix(name, "file /etc/"):
			if sum, rest, ok := strings.Cut(value, " "); ok {
				value = whose(sum, m.files[strings.TrimPrefix(name, "file ")]) + " " + rest
			}
		case strings.HasPrefix(name, "file "):
			value, _, _ = strings.Cut(value, ":[") // of a pipe
		}
		if earlier, twice := found[name]; twice && earlier != value {
			value = earlier + " and " + value
		}
		found[name] = strings.TrimSpace(value)
	}
	return found
}

func whose(value, machines string) string {
	if value == machines {
		return "the machine's"
	}
	return "its own"
}

// mount reads a line of mountinfo. Of the options of the filesystem those stay that say how large it is and who may use
// it.
func mount(line string) (name, value string) {
	before, after, _ := strings.Cut(line, " - ")
	fields, fs := strings.Fields(before), strings.Fields(after)
	if len(fields) < 6 || len(fs) < 3 {
		return "mount " + line, "unreadable"
	}
	options := strings.Split(fields[5], ",")
	for option := range strings.SplitSeq(fs[2], ",") {
		key, _, _ := strings.Cut(option, "=")
		if slices.Contains([]string{"size", "mode", "gid", "ptmxmode", "hidepid"}, key) {
			options = append(options, option)
		}
	}
	for _, tag := range fields[6:] {
		tag, _, _ = strings.Cut(tag, ":")
		options = append(options, tag)
	}
	if slices.Contains([]string{"/etc/hosts", "/etc/resolv.conf", "/etc/hostname"}, fields[4]) {
		fs[0] = "a file" // of whichever filesystem
	}
	return "mount " + fields[4], fs[0] + " " + strings.Join(options, ",")
}
