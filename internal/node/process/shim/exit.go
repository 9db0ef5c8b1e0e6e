// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"
)

// ExitFile tells how the container ended. It appears whole, and never changes.
const ExitFile = "exit.json"

// reservedFile is the exit record to be: a block of spaces that is written out
// before the command runs. It is overwritten in place and then renamed, neither
// of which takes space, so a full disk cannot lose the outcome of work that was
// done. JSON may be followed by spaces, so nothing needs to be cut off.
const reservedFile = "exit.reserved"

// exitSize is the size of an exit record with its spaces: one block of most
// filesystems. Longer messages are cut.
const exitSize = 4096

// Exit is how a container ended.
type Exit struct {
	ExitCode   int    `json:"exitCode"`         // 128+n when killed by signal n
	Signal     int    `json:"signal,omitempty"` // that signal, or 0
	StartedAt  int64  `json:"startedAt"`        // ns since the epoch
	FinishedAt int64  `json:"finishedAt"`
	Reason     string `json:"reason"`
	Message    string `json:"message,omitempty"`
	Measures          // none in records of earlier versions
}

// ParseExit reads an exit record. An error means that the file is not one.
func ParseExit(b []byte) (Exit, error) {
	var e Exit
	if err := ParseRecord(b, &e); err != nil {
		return Exit{}, fmt.Errorf("exit record: %w", err)
	}
	if e.ExitCode < 0 || e.ExitCode > 255 {
		return Exit{}, fmt.Errorf("exit record: exit code %d is not between 0 and 255", e.ExitCode)
	}
	if e.FinishedAt <= 0 {
		return Exit{}, errors.New("exit record: no end time")
	}
	if e.Reason == "" {
		return Exit{}, errors.New("exit record: no reason")
	}
	e.Measures = e.sane()
	return e, nil
}

// ReadExit reads the exit record in dir. An error for which errors.Is with
// fs.ErrNotExist holds means that the container has not ended.
func ReadExit(dir string) (Exit, error) {
	return readParsed(dir, ExitFile, ParseExit)
}

// RecoverExit reads the exit record in dir, also when the shim was killed
// between writing it and giving it its name. The caller holds the lock of dir.
func RecoverExit(dir string) (Exit, error) {
	e, err := ReadExit(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return e, err
	}
	b, rerr := ReadRecord(dir, reservedFile)
	if rerr != nil {
		return e, err
	}
	if e, rerr = ParseExit(b); rerr != nil {
		return Exit{}, err // spaces still, or a part: it was not written
	}
	if err := os.Rename(filepath.Join(dir, reservedFile), filepath.Join(dir, ExitFile)); err != nil {
		return Exit{}, err
	}
	return e, nil
}

// WriteExit writes an exit record for a container whose shim can not. The
// caller holds the lock of dir.
func WriteExit(dir string, e Exit) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return writeExit(root, e)
}

// reserveExit takes the space for the exit record.
func reserveExit(dir *os.Root) error {
	f, err := dir.OpenFile(reservedFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(bytes.Repeat([]byte{' '}, exitSize))
	if err == nil {
		err = f.Sync() // only then is the space ours, where it is given late
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// writeExit writes the exit record into the space that was reserved, or, where
// none was, as a new file.
func writeExit(dir *os.Root, e Exit) error {
	b := encodeExit(e)
	f, err := dir.OpenFile(reservedFile, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return writeBytes(dir, ExitFile, b)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	FailPoint("shim-written")
	return dir.Rename(reservedFile, ExitFile)
}

// encodeExit is the record with spaces behind it, exitSize bytes in all.
func encodeExit(e Exit) []byte {
	b := mustJSON(e)
	for len(b) > exitSize && e.Message != "" {
		cut := len(e.Message) / 2
		for cut > 0 && !utf8.RuneStart(e.Message[cut]) {
			cut--
		}
		e.Message = e.Message[:cut]
		b = mustJSON(e)
	}
	return append(b, bytes.Repeat([]byte{' '}, max(exitSize-len(b), 0))...)
}

// How long a shim waits before it tries again to write the exit record.
const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = time.Second
)

// record writes the exit record. Once the command may have run it does not
// give up: the shim holds the lock as long, so the container counts as running
// and is not started again, and the record comes when there is space. It ends
// without when somebody removes the container.
func (s *shim) record(e Exit) error {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := writeExit(s.dir, e)
		if err == nil || !s.marked || errors.Is(err, fs.ErrNotExist) {
			return err
		}
		time.Sleep(wait) //nolint:forbidigo // nothing is left to do but this, and there is no clock to hand in
	}
}
