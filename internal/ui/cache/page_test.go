// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "github.com/carillon-dev/carillon/internal/ui/page"

var _ page.Cache = (*Cache)(nil)
