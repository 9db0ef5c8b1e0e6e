// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// This file is empty. It lets fork.go declare functions without a body: the
// runtime's own, which package syscall calls around a fork.
