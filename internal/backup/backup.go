// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup writes the whole state of a Carillon of this machine into one file, while it runs, and makes a data
// directory of such a file.
package backup

import (
	_ "go.etcd.io/etcd/etcdutl/v3/snapshot" // makes a store of a snapshot
)
