// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// damagedPrefix begins the names of files that were set aside; the time follows, and what SQLite appends.
	damagedPrefix = fileName + ".damaged-"
	// keptDamaged is how many of them are kept: enough to look for a cause, not enough to fill a disk.
	keptDamaged = 3
)

// companions are what SQLite appends to the name of a database for the files beside it. The database itself goes first:
// what is found beside no database is removed by SQLite, and never taken for that of a new one.
var companions = [...]string{"", "-wal", "-shm"}

// setAside renames a damaged database, with its companions, and tells the user.
func (w *writer) setAside(why error) error {
	if w.d != nil {
		_ = w.d.close() // it is damaged anyway
		w.d = nil
	}
	base := damagedPrefix + w.o.Now().UTC().Format("20060102T150405.000Z")
	name := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(filepath.Join(w.files.path, name)); errors.Is(err, fs.ErrNotExist) {
			break
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
	for _, c := range companions {
		err := w.limits.rename(filepath.Join(w.files.path, fileName+c), filepath.Join(w.files.path, name+c))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	w.o.Warn(fmt.Sprintf("The journal of runs was damaged (%s). It is kept as %s, and a new one is begun: what ran before is not "+
		"remembered. carillon restore brings back what a backup has.", why, filepath.Join(w.files.path, name)))
	w.removeOldDamaged()
	return nil
}

// removeOldDamaged removes all but the last few files that were set aside.
func (w *writer) removeOldDamaged() {
	entries, err := os.ReadDir(w.files.path)
	if err != nil {
		return // they are removed another time
	}
	var bases []string
	for _, e := range entries {
		if base, ok := damagedBase(e.Name()); ok && !slices.Contains(bases, base) {
			bases = append(bases, base)
		}
	}
	slices.Sort(bases) // by time
	for _, base := range bases[:max(0, len(bases)-keptDamaged)] {
		for _, c := range companions {
			_ = os.Remove(filepath.Join(w.files.path, base+c)) // another time
		}
	}
}

func damagedBase(name string) (string, bool) {
	if !strings.HasPrefix(name, damagedPrefix) {
		return "", false
	}
	for _, c := range companions[1:] {
		name = strings.TrimSuffix(name, c)
	}
	return name, true
}

// followFile lets go of a database whose file was removed, or has another in its place: what is written to it would be
// nowhere. SQLite notices, too, and writes nothing more.
func (w *writer) followFile() {
	if w.d == nil {
		return
	}
	info, err := os.Lstat(w.files.database())
	if err == nil && os.SameFile(info, w.info[0]) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
	_ = w.d.close() // it is nobody's any more
	w.d = nil
	// What lies beside belongs to the file that is gone: SQLite would take it for the other's.
	for i, c := range companions {
		if info, err := os.Lstat(w.files.database() + c); i > 0 && err == nil && os.SameFile(info, w.info[i]) {
			_ = os.Remove(w.files.database() + c) // what is wrong with it is found when it is opened
		}
	}
	w.o.Warn(fmt.Sprintf("The file of the journal of runs, %s, was removed or replaced while it was written to; what is recorded from "+
		"now on goes to the one that is there now, or to a new one.", w.files.database()))
}
