// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import _ "github.com/chromedp/chromedp"
