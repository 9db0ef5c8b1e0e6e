// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/carillon-dev/carillon/internal/cli/manifest"
)

// manifestReaders are kubectl's commands that take manifests with -f.
var manifestReaders = []string{"apply", "create", "delete", "diff", "replace"}

// convertManifests gives kubectl's arguments with other files in place of those that hold a CronJob of batch/v1beta1,
// which API servers know no more. The other files are read by kubectl as they are; so are URLs, patterns, and what
// --recursive finds in the directories of a directory.
func convertManifests(ctx context.Context, args []string, streams Streams) ([]string, error) {
	tell := func(line string) { fmt.Fprintln(streams.Err, "carillon:", line) }
	var out []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(out, args[i:]...), nil
		}
		paths, two, ok := filenames(args[i:])
		if !ok {
			out = append(out, args[i])
			continue
		}
		if two {
			i++
		}
		for _, path := range paths {
			files, instead := manifest.Convert(ctx, path, streams.In, tell)
			if len(instead) == 0 {
				files = []string{path} // kubectl's own reading of a directory
			}
			for _, file := range files {
				if text, ok := instead[file]; ok {
					var err error
					if file, err = unlinkedFile(text); err != nil {
						return nil, fmt.Errorf("handing %s to kubectl: %w", file, err)
					}
				}
				out = append(out, "--filename="+file)
			}
		}
	}
	return out, ctx.Err()
}

// filenames reads the flag -f where it stands at the begin of args; two tells whether its value is an argument of its
// own.
func filenames(args []string) (paths []string, two, ok bool) {
	value := ""
	switch {
	case args[0] == "-f" || args[0] == "--filename":
		if len(args) < 2 {
			return nil, false, false
		}
		value, two = args[1], true
	case strings.HasPrefix(args[0], "--filename="):
		value = strings.TrimPrefix(args[0], "--filename=")
	case strings.HasPrefix(args[0], "-f"):
		value = strings.TrimPrefix(strings.TrimPrefix(args[0], "-f"), "=")
	default:
		return nil, false, false
	}
	return strings.Split(value, ","), two, true
}

// unlinkedFile returns the path of a file that only this process has: it is gone with the process, however that ends,
// because manifests hold secrets.
func unlinkedFile(text []byte) (path string, err error) {
	f, err := os.CreateTemp("", "carillon-manifest-")
	if err != nil {
		return "", err
	}
	if err := os.Remove(f.Name()); err != nil {
		return "", err
	}
	if _, err := f.Write(text); err != nil {
		return "", err
	}
	// Who opens the path on Linux begins at the start; elsewhere the position is shared.
	if _, err := f.Seek(0, 0); err != nil {
		return "", err
	}
	unlinkedFiles = append(unlinkedFiles, f)
	return fmt.Sprintf("/dev/fd/%d", f.Fd()), nil
}

// unlinkedFiles keeps the files of unlinkedFile from being closed as garbage: kubectl opens them by their number.
var unlinkedFiles []*os.File
