// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package backup

import "golang.org/x/sys/unix"

func exchangeAtOnce(string, string) error { return unix.ENOSYS }

// syncAll makes durable what was written.
func syncAll(string) error { return unix.Sync() }
