// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recorder writes what happens to runs into a journal: it watches their objects, and takes in what the node leaves
// of containers that have ended.
package recorder
