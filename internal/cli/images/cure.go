// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package images

import (
	"errors"
	"fmt"

	"github.com/carillon-dev/carillon/internal/image"
)

// withCure says what to do about an image that cannot be pulled, where the error does not.
func withCure(err error) error {
	switch {
	case errors.Is(err, image.ErrUnresolved):
		return fmt.Errorf("%w. Is there a network, and is the registry's name right? Without a network an image comes from a file: carillon image import FILE", err)
	case errors.Is(err, image.ErrNotFound):
		return fmt.Errorf("%w. Is the name right, and the tag?", err)
	}
	return err
}
