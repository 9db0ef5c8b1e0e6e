// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/images"
	"github.com/carillon-dev/carillon/internal/standalone"
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

// apply tells a plane about images. Its pulls are shown on out.
func (o *imageFlags) apply(plane *standalone.Options, out *console.Console) error {
	if o.Dir != "" {
		dir, err := filepath.Abs(o.Dir)
		if err != nil {
			return err
		}
		plane.ImageDir = dir
	}
	pulls := images.NewPulls(out, nil)
	plane.LocalFiles, plane.ImageCacheBytes, plane.RegistryMirrors = o.localFiles, o.CacheSize.Bytes(), o.Mirrors
	plane.PullProgress = func(p standalone.PullProgress) {
		if p.Ended {
			pulls.Ended(p.Image, p.Err)
			return
		}
		pulls.Progress(images.Progress{Image: p.Image, Layers: p.Layers, LayersDone: p.LayersDone, Bytes: p.Bytes, BytesDone: p.BytesDone})
	}
	return nil
}
