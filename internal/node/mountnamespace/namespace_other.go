// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package mountnamespace

import "errors"

// Entered reports that there are no mount namespaces here.
func Entered() (bool, error) { return false, errors.ErrUnsupported }
