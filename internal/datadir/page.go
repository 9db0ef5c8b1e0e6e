// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import "path/filepath"

// Page is the file that tells at which address the Carillon that runs serves its page, with the token.
func Page(dir string) string { return filepath.Join(dir, "page-address") }
