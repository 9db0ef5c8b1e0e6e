// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package carillon is the root of Carillon, which runs scheduled and batch work written for the
// Kubernetes API. The program is cmd/carillon; docs/walkthrough.md follows one scheduled time
// through the packages, and arch_test.go beside this file keeps their order.
package carillon
