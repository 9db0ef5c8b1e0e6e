// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package browser tests the page as a person uses it: a headless Chromium goes through it against a running "carillon
// up". Where there is no Chromium the tests are skipped, and say so.
//
//   - main_test.go        the program under test and the browser
//   - world_test.go       a fleet with two months of history: objects, and what a journal remembers of them
//   - carillon_test.go    starting it, with a page
//   - tab_test.go         a tab of the browser, and what it must never show: faults of scripts, refused content
//   - walk_test.go        every page that links lead to: accessibility, width, contrast
//   - tasks_test.go       what somebody who has never seen it must find
//   - act_test.go         each act, with a mouse, with the keyboard alone, and without scripts
//   - live_test.go        updates by themselves
//   - screenshot_test.go  the pictures of the documentation
package browser
