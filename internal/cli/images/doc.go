// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package images is `carillon image`: the commands over the store of images, and the flags about images that `up` and
// `run` have, too.
//
// A tour:
//
//   - command.go                        the command, and how each of its commands gets the store
//   - pull.go, import.go                how images come
//   - list.go                           which are here
//   - remove.go, prune.go               how images go
//   - flags.go                          --image-dir, --image-cache-size, --registry-mirror
//   - progress.go, pulls.go             how far a pull is, as a line for a person; those of a node
//   - show.go, output.go                that line on a terminal; an image as text and as JSON
//   - cure.go                           what to do about an image that cannot be had
//   - complete.go                       names for the shell's completion
//
// Results go to stdout, progress and warnings to stderr. Several images are dealt with one after the other, and what is
// wrong with one holds up no other.
package images

import "io"

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// UsageError says that the user's input is at fault: a flag, or a text that is no name of an image.
type UsageError struct{ Err error }

// Error implements error.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap gives what is wrong.
func (e *UsageError) Unwrap() error { return e.Err }
