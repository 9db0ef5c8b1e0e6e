// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import "flag"

var update = flag.Bool("update", false, "write the golden files anew")
