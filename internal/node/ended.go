// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import "time"

// ContainerEnd is the end of a container of the built-in runtime.
type ContainerEnd struct {
	// ID is the container's as the runtime has it; a Pod's status has "carillon-process://" before it.
	ID string
	// PodNamespace, PodName and PodUID name its Pod, PodLabels are the Pod's labels (not to be changed), with some of
	// the kubelet's.
	PodNamespace, PodName, PodUID string
	PodLabels                     map[string]string
	// Container is its name, Restart how many of that name were in the Pod before it.
	Container string
	Restart   int
	// Started is when its command was started, or when that failed; Ended when it ended. UTC.
	Started, Ended time.Time
	// ExitCode is 128 and the signal if one ended it; Signal is that signal, or 0.
	ExitCode, Signal int
	// Reason is Completed, Error, OOMKilled, StartError or ContainerStatusUnknown; Message a sentence, if there is one.
	Reason, Message string
	// CPU is the time that its processes used. MemoryPeak, in bytes, is the most that all had at once where it has a
	// cgroup for memory, and else what the largest of them had, or a few MiB if that is more. OutputBytes is what they
	// wrote to standard output and error. 0 where nobody measured.
	CPU         time.Duration
	MemoryPeak  int64
	OutputBytes int64
	// LogPath is the file of its log that it wrote to last, with rotated ones beside it; "" if it has none.
	LogPath string
}
