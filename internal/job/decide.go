// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

// syncing is what the stages of one sync hand on to each other.
type syncing struct{}

// ledger is the bookkeeping of one status write.
type ledger struct{}
