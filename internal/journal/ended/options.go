// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ended

// The bounds of Options that are 0.
const (
	DefaultLogBytes = 256 << 20
	DefaultEntries  = 20_000
)

// Options are the choices of who opens a Dir.
type Options struct {
	// LogBytes is how many bytes the logs of all entries may have while nobody takes entries away; the logs of those
	// that ended first are dropped when they have more. 0 means DefaultLogBytes, or a sixteenth of the disk if that is
	// less; less than 0 any number.
	LogBytes int64
	// Draining tells whether somebody takes entries away: then logs may have half of what is free on the disk without
	// them, if that is more. It returns at once, and calls no method of the Dir. Nil means never.
	Draining func() bool
	// Entries is how many entries are kept; those that ended first go. 0 means DefaultEntries, less than 0 any number.
	Entries int
	// Warn gets a line for the user, each once until what it tells of is over. Nil means nobody listens.
	Warn func(string)

	// free tells how many bytes are free on the disk of a directory; tests have their own.
	free func(path string) int64
}

// complete fills in what is left to us, on a disk with that many bytes.
func (o Options) complete(disk int64) Options {
	if o.LogBytes == 0 {
		o.LogBytes = min(DefaultLogBytes, disk/16)
	}
	if o.Entries == 0 {
		o.Entries = DefaultEntries
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return o
}
