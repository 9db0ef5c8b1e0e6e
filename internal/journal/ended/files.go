// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ended

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The kubelet lets a container write to N.log, N being how often it was restarted. When that gets too long it becomes
// N.log.DATE, and later N.log.DATE.gz; while it is packed there is a N.log.DATE.tmp, which is not whole.
const (
	logSuffix     = ".log"
	packedSuffix  = ".gz"
	packingSuffix = ".tmp"
)

// logFile is one file of a log.
type logFile struct {
	name string
	info fs.FileInfo
}

// logFiles are the files of the log with the given name, all regular, the oldest first. changed says that one got
// another name, or was removed, while they were looked for.
func logFiles(dir *os.File, name string) (found []logFile, changed bool, err error) {
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return nil, false, err
	}
	list, err := dir.ReadDir(-1)
	if err != nil {
		return nil, false, err
	}
	for _, e := range list {
		if e.Name() != name && !isRotated(e.Name(), name) {
			continue
		}
		info, err := e.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			changed = true
		case err != nil:
			return nil, false, err
		case info.Mode().IsRegular():
			found = append(found, logFile{e.Name(), info})
		}
	}
	// One that was packed a moment ago is there twice.
	found = slices.DeleteFunc(found, func(f logFile) bool {
		plain, packed := strings.CutSuffix(f.name, packedSuffix)
		return packed && slices.ContainsFunc(found, func(o logFile) bool { return o.name == plain })
	})
	slices.SortFunc(found, func(a, b logFile) int { return compareLogs(a.name, b.name) })
	return found, changed, nil
}

// isRotated tells whether a file belongs to the log with the given name, and was written before it.
func isRotated(file, name string) bool {
	date, ok := strings.CutPrefix(file, name+".")
	return ok && date != "" && !strings.HasSuffix(date, packingSuffix)
}

// isLogName tells whether a name can be that of a file of a log.
func isLogName(name string) bool {
	return filepath.Base(name) == name && name != recordFile && !strings.ContainsRune(name, 0) &&
		(strings.HasSuffix(name, logSuffix) || strings.Contains(name, logSuffix+"."))
}

// compareLogs orders files of one log by when they were written: dates are in their names, and the last one has none.
func compareLogs(a, b string) int {
	rotated := func(name string) int {
		if strings.HasSuffix(name, logSuffix) {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rotated(a), rotated(b)), cmp.Compare(strings.TrimSuffix(a, packedSuffix), strings.TrimSuffix(b, packedSuffix)))
}
