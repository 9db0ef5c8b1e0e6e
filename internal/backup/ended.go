// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// What the node tells of a container that has ended is a directory of its ID with a record and the files of its log;
// one whose name begins with a dot is being made or removed.
const (
	endedRecord  = "record.json"
	endedDamaged = "damaged"
)

// validEndedID tells whether a name is the ID of a container.
func validEndedID(id string) bool {
	return id != "" && len(id) <= 128 && id != endedDamaged && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	})
}

// validEndedLog tells whether a name is that of a file of a log: "0.log", "0.log.20260102-030405.gz".
func validEndedLog(name string) bool {
	return strings.Contains(name, ".log") && name[0] != '.' && len(name) <= 255 && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '/' || r == '\\'
	})
}

// endedFile is an open file of a container that has ended. Open, it can be read also when the journal has taken the
// container in and removed it.
type endedFile struct {
	part string
	size int64
	file *os.File
}

// endedContainers collects what there is of containers that have ended.
type endedContainers struct {
	root  *os.Root // nil: there is no such directory
	found map[string][]endedFile
}

// openEnded opens the directory, of which nothing else need be there.
func openEnded(dir string) (*endedContainers, error) {
	e := &endedContainers{found: map[string][]endedFile{}}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	e.root = root
	return e, err
}

// look adds what was not there at the last look.
func (e *endedContainers) look() error {
	if e.root == nil {
		return nil
	}
	list, err := fs.ReadDir(e.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, entry := range list {
		id := entry.Name()
		if _, known := e.found[id]; known || !entry.IsDir() || !validEndedID(id) {
			continue
		}
		files, err := e.open(id)
		if err != nil {
			closeAll(files)
			if errors.Is(err, syscall.EMFILE) {
				err = errors.New("too many ended containers wait for the journal to be copied while Carillon runs: see in its log what keeps the journal from taking them in, or stop Carillon and make the backup then")
			}
			return err
		}
		if files != nil {
			e.found[id] = files
		}
	}
	return nil
}

// open opens the files of one container; nil says that it is gone, into the journal.
func (e *endedContainers) open(id string) (files []endedFile, err error) {
	list, err := fs.ReadDir(e.root.FS(), id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, entry := range list {
		if entry.Name() != endedRecord && !validEndedLog(entry.Name()) {
			continue
		}
		name := filepath.Join(id, entry.Name())
		info, err := e.root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // dropped, or gone with all
		}
		if err != nil {
			return files, err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !info.Mode().IsRegular() || !ok || int(st.Uid) != os.Geteuid() {
			return files, fmt.Errorf("%s is not a file of ours", filepath.Join(e.root.Name(), name))
		}
		f, err := e.root.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return files, err
		}
		files = append(files, endedFile{path.Join(endedDir, id, entry.Name()), info.Size(), f})
	}
	if _, err := e.root.Lstat(filepath.Join(id, endedRecord)); errors.Is(err, fs.ErrNotExist) {
		closeAll(files)
		return nil, nil
	}
	return files, nil
}

// files are all that were found, by name.
func (e *endedContainers) files() []endedFile {
	var all []endedFile
	for _, files := range e.found {
		all = append(all, files...)
	}
	slices.SortFunc(all, func(a, b endedFile) int { return strings.Compare(a.part, b.part) })
	return all
}

func (e *endedContainers) close() {
	for _, files := range e.found {
		closeAll(files)
	}
	if e.root != nil {
		e.root.Close()
	}
}

func closeAll(files []endedFile) {
	for _, f := range files {
		f.file.Close()
	}
}
