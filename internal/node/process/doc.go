// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process is a container runtime: a CRI v1 server (RuntimeService and
// ImageService of k8s.io/cri-api) that runs each container as a tree of local
// processes, on the files of its image or, for the image named "host", on those
// of this machine.
//
// # Tour
//
// [New], [Runtime.Start], [Runtime.Ready], [Runtime.Err] and [Runtime.Close]
// are the life of the server; [Runtime.StopAll] ends every container.
//
//	options.go    what a Runtime is told
//	runtime.go    the life, the socket, versions and the runtime's status
//	certificate.go with what exec, attach and port-forward are served
//	sandbox.go    Pod sandboxes: plain records, there is no pause process
//	pidnamespace.go … but one that holds a PID namespace that containers share
//	ipc.go        what they share besides: System V IPC and /dev/shm
//	container.go  the record of a container: create, remove
//	status.go     containers as lists and statuses show them
//	start.go      start: the one place that makes a shim
//	watch.go      what became of a container
//	ended.go      telling who asked for it how a container ended
//	ends.go       the same while no Runtime runs
//	stop.go       stop, and kill what does not end
//	drain.go      stop with each Pod's own grace period
//	pause.go      stop processes where they are, and let them go on
//	spec.go       from a CRI container to what the shim is told
//	state.go      the durable state and how it is read back after a crash
//	record.go     what a record that was read back may name
//	unreadable.go what is done when it can not be read
//	orphans.go    processes that their shim left behind
//	mountpoint.go mount points that were made on the machine
//	events.go     GetContainerEvents for the kubelet's evented PLEG
//	exec.go       a command more in a container
//	streams.go    exec, attach and port-forward as streams
//	images.go     images: pulled, listed, removed
//	local.go      names of images that stand for this machine's files
//	imagespec.go  what a container has of its image: command, environment, user, volumes
//	stats.go      what containers use
//	rootfs.go     which view of the filesystem the kernel allows
//	user.go       as whom a container runs, and with which capabilities
//	seccomp.go    which system calls it may make
//	devices.go    which devices it may open
//	cgroup.go     what it may use; conversions are those of github.com/opencontainers/cgroups
//
// # Supervision
//
// Every container has one shim, a second process of the same binary (package
// shim), which sets up the namespaces, starts the command, writes the log and
// the exit code. Containers therefore outlive the server: Close leaves them
// running, kill -9 does too, and the next Start finds them again or learns how
// they ended.
//
// # The view of the filesystem
//
// As root a container sees an overlay over the machine's root; as an ordinary
// user a tmpfs with one overlay per top-level directory inside a user
// namespace. Volumes are bind-mounted at their mount paths. What is written
// anywhere else is thrown away when the container ends. Pods of RuntimeClass
// "host" (handler "host") run directly on the machine's files.
//
// A container of an image sees an overlay over the layers of the image or, where
// no overlay can be mounted, a copy of it, and of the machine nothing but its
// volumes, devices and kernel files. Its user is whom the Pod or the image names,
// in the image's own files. As an ordinary user that one user, whoever it is, is
// mapped to the machine's; where he is user 0 he is told that files were given
// away, which nobody else is there to get. The lock of the image is held by the
// container's shim.
//
// # What a container may do
//
// A container has few capabilities, a seccomp filter (the default profile
// unless its Pod names another), no devices but those that it shows, a PID
// namespace of its own or its Pod's, and a bound on processes where cgroups can
// be written: see seccomp.go, devices.go, pidnamespace.go and the fork of
// package shim. That keeps an honest program that goes wrong, and one that was
// broken into, from the machine. It is not a boundary to rely on with programs
// of strangers: the network is the machine's, so are the files that can be
// read, and as root no user namespace stands between user 0 of the container
// and user 0 of the machine.
package process
