// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package images

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// New returns a command that says that there is no store of images on this operating system.
func New(Streams) *cobra.Command {
	return &cobra.Command{
		Use:    "image",
		Short:  "Pull, list, import and remove the images that Pods run from (Linux only)",
		Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			return fmt.Errorf("images are run on Linux only, not on %s: %w", runtime.GOOS, errors.ErrUnsupported)
		},
	}
}

func parseMirror(string) (registry, endpoint string, err error) {
	return "", "", errors.ErrUnsupported
}
