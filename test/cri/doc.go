// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cri says spec by spec what a container runtime answers to the calls of the CRI, after the documentation in
// k8s.io/cri-api, and checks a runtime against it from outside.
//
// Without more it is Carillon's own runtime, served on a socket by the test:
//
//	go test ./test/cri
//	go test ./test/cri -run 'TestSpecs/stopping a sandbox'
//
// Any other endpoint on this machine is named by a flag or in the environment. The images that the containers run from
// are made by the test, of its own program, and served on the loopback interface, from which a runtime must be willing
// to pull without TLS; nothing is needed but that:
//
//	go test ./test/cri -args -endpoint unix:///run/containerd/containerd.sock
//	CARILLON_CRI_ENDPOINT=unix:///run/containerd/containerd.sock go test ./test/cri
//
// TestContainerd (make cri-containerd) starts Debian's containerd with directories of its own and proves the specs
// against it. TestCritest (make critest) runs the CRI's own validation suite against Carillon's runtime.
//
// A spec that a runtime answers in another way, and may, says so in one line with the name of that runtime; what a
// machine or the version of a runtime does not have is skipped with the reason. No spec needs a network of the Pod's
// own: all sandboxes use the machine's.
//
//	spec_test.go        what a spec is, and how all of them are run
//	rig_test.go         what specs are written with: sandboxes, containers, their output
//	probe_test.go       the one program of all images
//	registry_test.go    images, and the registry that serves them
//	own_test.go         Carillon's runtime as the endpoint
//	ordinary_test.go    the same as an ordinary user
//	containerd_test.go  containerd as the endpoint
//	critest_test.go     the CRI's validation suite
//
// All other files hold specs, one file for each part of the CRI.
package cri
