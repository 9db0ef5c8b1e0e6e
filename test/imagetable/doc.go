// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command imagetable shows side by side what a container of one image sees under Carillon, under "ctr run" (containerd)
// and under "podman run", on the machine's network and with the usual seccomp profile:
//
//	go run ./test/imagetable
//
// It needs root, and containerd, runc, podman and busybox-static as Debian packages them; "make image-table" installs
// them. All three run with directories of their own, and nothing is left behind.
//
//	probe.sh     what looks, in the image
//	image.go     the image: busybox, and users of its own
//	columns.go   running it under each of the three
//	rows.go      what it said, without what differs from run to run
//	explain.go   the table of docs/differences.md, which explains what is different
//	main.go      the command
//
// It fails when a row is under Carillon as under neither of the others and docs/differences.md does not have it, or has
// another value for it.
package main
