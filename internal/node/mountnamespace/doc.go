// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mountnamespace gives the program a mount namespace of its own, so that what it mounts for Pods is seen by
// nobody else and ends with it, however it ends. docs/adr/0009-own-mount-namespace.md says why.
//
// A namespace can be entered by a thread that starts a program in it, and a Go program has several threads from its
// first moment on. So the package has an init function, which takes over before the heavy packages of the program
// initialise: it enters the namespace and starts the same program, with the same process ID, once more in it.
//
// It does so for root and for the commands that run Pods here ("up", "run") alone, unless a runtime of somebody else
// (--container-runtime-endpoint) has to see the mounts. Where the kernel does not allow it, the program goes on in the
// machine's namespace; Entered says so.
//
// A tour:
//
//   - namespace.go  entering, and whether that was done
//   - holder.go     the namespace of an earlier life whose containers still run
//   - namespace_other.go
//     in place of both where there are no mount namespaces
package mountnamespace
