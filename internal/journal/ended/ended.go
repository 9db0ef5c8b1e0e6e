// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package ended keeps what a node leaves of each container that has ended until it is in the journal: how it ended, and
// its log. It is made before anybody else learns of the end, so that a Pod may be removed with its logs right away, and
// this program be killed, and nothing is lost.
//
// Each container has an entry, a directory of the name of its ID, which appears whole or not at all:
//
//	ended/ID/record.json   what is known of it (Container)
//	ended/ID/0.log, …      names more (hard links) of the files of its log
//	ended/.ID.…            an entry that is being made or removed; what is left of it is removed by Open
//	ended/damaged/ID       an entry that could not be read
//
// A tour:
//
//   - options.go      how much is kept
//   - container.go    what is known of a container, and its record
//   - ended.go        opening the directory and looking around in it
//   - add.go          making an entry
//   - files.go        the files of a log, and in which order they were written
//   - log.go          reading a log
//   - openlog.go      the same, for who has not the directory open
//   - bound.go        what goes when nobody takes entries away
//   - unsupported.go  where there is no node
package ended

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

const (
	recordFile = "record.json"
	damagedDir = "damaged"
)

// Dir is a directory with entries. Its methods may be called from several goroutines, but only one process may have the
// directory open at a time.
type Dir struct {
	root  *os.Root
	path  string
	opts  Options
	added chan struct{}

	mu      sync.Mutex
	entries map[string]entry
	bytes   int64 // of all logs
	// What has been told to the user and still holds.
	toldRecords, toldLinks, toldDropped bool
}

// entry is what is remembered of an entry to keep order and bounds.
type entry struct {
	ended time.Time
	bytes int64 // of its log; 0 when that was dropped
}

// Open opens the directory at path, and makes it with mode 0700 if need be. It removes what interrupted calls left, and
// sets aside what cannot be read, once, with a warning. A *privatedir.NotOursError says that the directory is somebody
// else's.
func Open(path string, o Options) (*Dir, error) {
	path, err := privatedir.Resolve(path)
	if err != nil {
		return nil, err
	}
	made, err := privatedir.Make(path)
	if err != nil {
		return nil, err
	}
	defer made.Close()
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	if err := same(made, root); err != nil {
		root.Close()
		return nil, err
	}
	d := &Dir{root: root, path: path, opts: o.complete(diskSize(path)), added: make(chan struct{}, 1), entries: map[string]entry{}}
	if d.opts.free == nil {
		d.opts.free = diskFree
	}
	if err := d.load(); err != nil {
		root.Close()
		return nil, err
	}
	return d, nil
}

// diskSize is how many bytes the disk of a directory has; a very large one if that cannot be told.
func diskSize(path string) int64 {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return math.MaxInt64
	}
	return int64(st.Blocks) * int64(st.Bsize) //nolint:gosec,unconvert // disks are smaller; types differ between systems
}

// diskFree is how many bytes may still be written to the disk of a directory; 0 if that cannot be told.
func diskFree(path string) int64 {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0
	}
	return int64(st.Bavail) * int64(st.Bsize) //nolint:gosec,unconvert // disks are smaller; types differ between systems
}

// same makes sure that what was opened is what was checked.
func same(checked *privatedir.Dir, root *os.Root) error {
	a, err := checked.Stat()
	if err != nil {
		return err
	}
	b, err := root.Stat(".")
	if err == nil && !os.SameFile(a, b) {
		err = fmt.Errorf("%s was exchanged while it was opened", checked.Path())
	}
	return err
}

// load looks through what is there.
func (d *Dir) load() error {
	list, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	for _, e := range list {
		name := e.Name()
		switch {
		case strings.HasPrefix(name, "."):
			_ = d.root.RemoveAll(name) // tried again next time; it takes space, and nothing else
		case name == damagedDir:
		case !validID(name):
			d.setAside(name, errors.New("its name is not the ID of a container"))
		default:
			c, bytes, err := d.look(name)
			if err != nil {
				d.setAside(name, err)
				continue
			}
			d.entries[name] = entry{c.Ended, bytes}
			d.bytes += bytes
		}
	}
	d.trimDamaged()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keepBounds()
	if len(d.entries) > 0 {
		d.tell()
	}
	return nil
}

// look reads an entry and measures its log.
func (d *Dir) look(id string) (c Container, size int64, err error) {
	info, err := d.root.Lstat(id)
	if err != nil {
		return Container{}, 0, err
	}
	if !info.IsDir() {
		return Container{}, 0, errors.New("it is no directory")
	}
	if !ours(info) {
		return Container{}, 0, errors.New("it belongs to another user")
	}
	if c, err = d.Read(id); err != nil {
		return Container{}, 0, err
	}
	for _, name := range c.Logs {
		if info, err := d.root.Lstat(filepath.Join(id, name)); err == nil {
			size += info.Size()
		}
	}
	return c, size, nil
}

// ours tells whether a file belongs to whom this process is.
func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// Close lets go of the directory. Its entries stay.
func (d *Dir) Close() error { return d.root.Close() }

// Added has a token when there are entries that were not there the last time that one was taken: after Add, and after
// an Open that found some.
func (d *Dir) Added() <-chan struct{} { return d.added }

// tell puts the token there.
func (d *Dir) tell() {
	select {
	case d.added <- struct{}{}:
	default:
	}
}

// List gives the IDs of all entries in the order in which the containers ended. It reads nothing.
func (d *Dir) List() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	ids := make([]string, 0, len(d.entries))
	for id := range d.entries {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(d.entries[a].ended.Compare(d.entries[b].ended), cmp.Compare(a, b))
	})
	return ids
}

// Read reads the record of an entry. fs.ErrNotExist says that there is none.
func (d *Dir) Read(id string) (Container, error) {
	if !validID(id) {
		return Container{}, fmt.Errorf("%q is not the ID of a container: %w", id, fs.ErrNotExist)
	}
	f, info, err := d.open(id, recordFile)
	if err != nil {
		// An entry is never without its record, unless somebody took it.
		if _, lerr := d.root.Lstat(id); lerr == nil && errors.Is(err, fs.ErrNotExist) {
			return Container{}, fmt.Errorf("%s has no %s", filepath.Join(d.path, id), recordFile)
		}
		return Container{}, err
	}
	defer f.Close()
	if info.Size() > maxRecord {
		return Container{}, fmt.Errorf("%s has %d bytes, which it never should", f.Name(), info.Size())
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(io.LimitReader(f, maxRecord)); err != nil {
		return Container{}, err
	}
	return parse(b.Bytes(), id)
}

// Attempt reads an entry as an attempt of a run.
func (d *Dir) Attempt(id string) (run.Attempt, error) {
	c, err := d.Read(id)
	if err != nil {
		return run.Attempt{}, err
	}
	return c.Attempt(), nil
}

// open opens a regular file of ours in an entry.
func (d *Dir) open(id, name string) (*os.File, fs.FileInfo, error) {
	path := filepath.Join(id, name)
	info, err := d.root.Lstat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() || !ours(info) {
		return nil, nil, fmt.Errorf("%s is not a file of ours", filepath.Join(d.path, path))
	}
	f, err := d.root.Open(path)
	return f, info, err
}

// Remove takes an entry away, because it is in the journal. One that is not there is no error.
func (d *Dir) Remove(id string) error {
	if !validID(id) {
		return nil
	}
	gone := temporary(id)
	if err := d.root.Rename(id, gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d.forget(id)
	return d.root.RemoveAll(gone)
}

// SetAside takes an entry out of the list that was found damaged since Open, as Open does, and says why.
func (d *Dir) SetAside(id string, why error) {
	if validID(id) {
		d.setAside(id, why)
		d.forget(id)
	}
}

// setAside moves what cannot be read to where it is not in the way.
func (d *Dir) setAside(name string, why error) {
	err := d.root.Mkdir(damagedDir, 0o700)
	if err == nil || errors.Is(err, fs.ErrExist) {
		_ = d.root.RemoveAll(filepath.Join(damagedDir, name)) // an earlier one of that name
		err = d.root.Rename(name, filepath.Join(damagedDir, name))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		d.opts.Warn(fmt.Sprintf("what is left of an ended container cannot be read, nor set aside: %s: %v (%v)", filepath.Join(d.path, name), why, err))
	default:
		d.opts.Warn(fmt.Sprintf("what is left of an ended container cannot be read and was set aside: %s: %v", filepath.Join(d.path, damagedDir, name), why))
	}
}
