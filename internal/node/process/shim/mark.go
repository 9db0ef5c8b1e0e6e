// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// StartMarkFile is the mark that a shim makes right before it executes the
// command, and that is on disk before it does. It is what decides after a
// crash: a container without the mark has not run, whatever else was done for
// it; one with the mark may have, and is never started again.
//
// Carillon 0.1 made the mark earlier, before it started the shim, with nothing
// but the boot ID in it. Such a mark means the same: it may have run.
const StartMarkFile = "start"

// StartMark is the content of the mark.
type StartMark struct {
	BootID    string `json:"bootID"`
	StartedAt int64  `json:"startedAt"` // ns since the epoch
	// Record is a copy of what the runtime recorded of the container
	// ([RecordFile]), for the case that the original cannot be read one day.
	Record json.RawMessage `json:"record,omitempty"`
}

// RecordFile is the runtime's own record. A shim copies it and does not read it.
const RecordFile = "container.json"

// MayHaveRun reports whether the command of the container in dir may have been
// executed. When that cannot be found out, it may.
func MayHaveRun(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, StartMarkFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// ReadStartMark reads the mark in dir.
func ReadStartMark(dir string) (StartMark, error) {
	return readParsed(dir, StartMarkFile, ParseStartMark)
}

// ParseStartMark reads a mark, also one of Carillon 0.1.
func ParseStartMark(b []byte) (StartMark, error) {
	if id := strings.TrimSpace(string(b)); isBootID(id) {
		return StartMark{BootID: id}, nil
	}
	var m StartMark
	if err := ParseRecord(b, &m); err != nil {
		return StartMark{}, fmt.Errorf("start mark: %w", err)
	}
	if m.StartedAt <= 0 {
		return StartMark{}, errors.New("start mark: no time")
	}
	return m, nil
}

// isBootID tells the form of a boot ID, a UUID.
func isBootID(text string) bool {
	_, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	return err == nil && len(text) == 36
}

// notStarted is an error before the mark: nothing of the container ran, and
// there is no record of its end, so it may be started again.
type notStarted struct{ error }

func (e notStarted) Unwrap() error { return e.error }

// commit makes everything ready that could fail for want of space, and then
// the mark. From its success on, the end of the container is told in an exit
// record and nowhere else.
func (s *shim) commit() error {
	if err := reserveExit(s.dir); err != nil {
		return notStarted{fmt.Errorf("reserving space for the record of the container's end: %w", err)}
	}
	FailPoint("shim-reserved")
	m := StartMark{BootID: BootID(), StartedAt: time.Now().UnixNano()}
	if b, err := readLimited(s.dir.Open(RecordFile)); err == nil && json.Valid(b) {
		m.Record = bytes.TrimSpace(b)
	}
	FailPoint("shim-marking")
	if err := writeDurable(s.dir, StartMarkFile, m); err != nil {
		err = fmt.Errorf("recording the start of the container: %w", err)
		if rerr := s.dir.Remove(StartMarkFile); rerr == nil || errors.Is(rerr, fs.ErrNotExist) {
			return notStarted{err}
		}
		s.marked = true // it may be on disk, so it counts
		return err
	}
	s.marked = true
	FailPoint("shim-marked")
	// Nothing needs the spec again, and it holds the environment with its
	// secrets. Until here a second start would have read it.
	_ = s.dir.Remove(SpecFile)
	return s.log.reopen()
}

// writeDurable replaces a file in one step, and makes sure that it is there
// after a power cut.
func writeDurable(dir *os.Root, name string, v any) error {
	if err := writeJSON(dir, name, v); err != nil {
		return err
	}
	return syncRoot(dir)
}

func syncRoot(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
