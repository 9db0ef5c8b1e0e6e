// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"maps"
	"testing"
)

func TestRead(t *testing.T) {
	m := machine{hostname: "here", namespaces: map[string]string{"net": "net:[1]", "pid": "pid:[1]"}, files: map[string]string{"/etc/hosts": "abc"}}
	got := m.read("hostname\tpod\nenv HOSTNAME\tpod\nprocess number\t17\ncgroup\t/a /b \nnamespace net\tnet:[1]\nnamespace pid\tpid:[7]\n" +
		"file /etc/hosts\tabc 644 0:0\nfile 0\tpipe:[123]\nno row\n" +
		"mountinfo\t5 4 0:3 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/x,upperdir=/y\n" +
		"mountinfo\t6 5 0:4 /x /etc/hosts rw - ext4 /dev/sda1 rw\nmountinfo\t6 5 0:4 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755\n")
	want := rows{
		"hostname": "its own", "env HOSTNAME": "the hostname", "process number": "not 1", "cgroup": "a path", "namespace net": "the machine's",
		"namespace pid": "its own", "file /etc/hosts": "the machine's 644 0:0", "file 0": "pipe", "mount /": "overlay rw,relatime,master",
		"mount /etc/hosts": "a file rw", "mount /dev": "tmpfs rw,nosuid,size=65536k,mode=755",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
