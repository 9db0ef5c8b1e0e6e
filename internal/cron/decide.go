// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron
