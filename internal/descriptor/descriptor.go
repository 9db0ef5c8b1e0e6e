// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package descriptor keeps open files from going where they do not belong: descriptor_linux.go does, and
// descriptor_other.go is for where nothing is started.
package descriptor
