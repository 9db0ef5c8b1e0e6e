// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package mountnamespace

import "errors"

// Own reports that there are no mount namespaces here.
func Own() (bool, error) { return false, errors.ErrUnsupported }
