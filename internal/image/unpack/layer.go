// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Limits bound one layer.
type Limits struct {
	// Entries is how many the archive may have.
	Entries int64
	// Bytes is how long the archive may be when it is unzipped, and how much all its files may hold.
	Bytes int64
}

// DefaultLimits are those of a Request without any: a million entries, 64 GiB.
var DefaultLimits = Limits{Entries: 1_000_000, Bytes: 64 << 30}

// Request says what to apply to what.
type Request struct {
	Form Form
	// Store is the directory below which all others lie.
	Store string
	// Target is the directory of the new layer: empty, or, in the flat form, with the image so far. The directory itself
	// gets the owner, mode and times of the image's root.
	Target string
	// Work is an empty directory on the filesystem of Target that the overlay needs. Its content means nothing
	// afterwards. It is not used in the flat form.
	Work string
	// Lowers are the directories of the layers below, the topmost first; none in the flat form.
	Lowers []string
	// Compressed is the layer as it came: a tar archive, as it is or zipped with gzip or zstd. Which one is seen from its
	// first bytes, as registries are not to be believed. A file is read from where it stands and handed over as it is.
	// Another reader is read until it ends, or, when Layer fails, may be read from once more after that.
	Compressed io.Reader
	// DiffID is the digest ("sha256:…") that the unzipped archive must have. Empty is any.
	DiffID string
	Limits Limits
	// Held are files that the process keeps open while it works, such as the lock of Target: who gets the lock knows
	// that nobody writes there any more.
	Held []*os.File
}

// Result is what came of a layer.
type Result struct {
	DiffID  string `json:"diffID"`  // digest of the unzipped archive
	Size    int64  `json:"size"`    // what its files hold, in bytes
	Entries int64  `json:"entries"` // what was made: files, directories and links
}

// The kinds of reasons why a layer is not applied, for errors.Is.
var (
	// ErrLimit is that the layer is larger than it may be.
	ErrLimit = errors.New("too large")
	// ErrDigest is that the layer is not the one that the image names.
	ErrDigest = errors.New("wrong digest")
	// ErrArchive is that the layer is no archive as they should be.
	ErrArchive = errors.New("broken layer")
)

// Error says why a layer was not applied.
type Error struct {
	Kind error // one of the kinds above, or nil for what is not the layer's fault
	Text string
}

func (e *Error) Error() string { return e.Text }

// Unwrap gives the kind.
func (e *Error) Unwrap() error { return e.Kind }

func archiveError(format string, args ...any) *Error {
	return &Error{Kind: ErrArchive, Text: fmt.Sprintf(format, args...)}
}

// Layer applies a layer. When it returns, the process that did it is gone, also when ctx ended; only then what is in
// Target may be removed. It is durable only when the caller synchronised its filesystem.
func Layer(ctx context.Context, r Request) (Result, error) {
	if r.Limits == (Limits{}) {
		r.Limits = DefaultLimits
	}
	j := job{Do: doLayer, Form: r.Form, Target: r.Target, Work: r.Work, Lowers: r.Lowers, Limits: r.Limits, DiffID: r.DiffID}
	answer, err := run(ctx, r.Store, j, r.Compressed, r.Held)
	return answer.Result, err
}
