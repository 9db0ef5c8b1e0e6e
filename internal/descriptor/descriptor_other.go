// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package descriptor

// CloseOnExec does nothing: only Linux runs containers.
func CloseOnExec(int) error { return nil }
