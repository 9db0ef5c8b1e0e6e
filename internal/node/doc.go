// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package node runs Pods on this machine: the real kubelet, in this process,
// over a container runtime.
//
// A tour, file by file:
//
//   - options.go      what a node is told; defaults and checks of each value
//   - ended.go        what is told of the end of a container
//   - node.go         the life of a node: New, Start, Ready, Err, Close
//   - node_unsupported.go
//     in place of it where there is no kubelet
//   - runtime.go      the container runtime that comes with the program
//   - precheck.go     what is tried before the kubelet starts, because the
//     kubelet ends the whole process when it fails there
//   - register.go     the Node object: name, labels and addresses that work
//     without any network
//   - runtimeclass.go the RuntimeClass that Pods name to leave the sandbox
//   - trust.go        the kubelet's way to the runtime's exec, attach and
//     port-forward is TLS
//   - clients.go      the kubelet's API clients, which can be cut off at once
//   - kubelet.go      the kubelet's configuration and injected dependencies
//   - cadvisor.go, machine.go
//     what the machine has and uses, read from /proc and statfs
//   - container_manager.go
//     node capacity; no cgroups are made by the kubelet
//   - eviction.go     how much of the disk is kept free for the store
//   - disk.go         keeps Pods from filling the disk faster than the kubelet
//     can evict them
//   - taint.go        nothing is scheduled on a node under pressure
//   - recorder.go     the kubelet's events without its kernel log watcher
//   - mounter.go, subpath.go, hostutil.go
//     volumes as root and as an ordinary user
//   - osinterface.go  keeps the kubelet out of /var/log/containers
//   - refuse.go       Pods that an ordinary user can never start fail at once,
//     with a message that says what to do
//   - relist.go       Pods that are being deleted are looked at often
//   - cleanup.go      leftovers of an earlier life, and of this one
//
// Everything here that is handed to the kubelet is an internal interface of
// Kubernetes 1.36: another minor version needs this package read again, and
// the end-to-end tests run.
package node
