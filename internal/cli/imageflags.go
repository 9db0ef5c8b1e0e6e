// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/pflag"

	"github.com/carillon-dev/carillon/internal/cli/images"
)

// imageFlags are what up and run are told about images.
type imageFlags struct {
	images.Flags
	localFiles bool
}

const localFilesFlag = "local-files"

func (o *imageFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&o.localFiles, localFilesFlag, false, "run every container on this machine's own files, whatever its image: says, as with image: host; nothing is pulled, and command: must be set")
	o.AddDir(flags)
	o.AddCacheSize(flags)
	o.AddMirrors(flags)
}

// namedImageFlag is the first flag about images that the user gave, or nothing.
func namedImageFlag(flags *pflag.FlagSet) string {
	for _, name := range []string{localFilesFlag, images.DirFlag, images.CacheSizeFlag, images.MirrorFlag} {
		if flags.Changed(name) {
			return "--" + name
		}
	}
	return ""
}
