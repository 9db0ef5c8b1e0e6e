// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package browser tests the page as a person uses it: a headless Chromium goes through it against a running "carillon
// up".
package browser
