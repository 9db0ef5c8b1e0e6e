// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"os"
	"path/filepath"
)

// Stamp tells two states of a journal apart; they are compared with ==. The zero Stamp is that of one that is not
// there.
type Stamp struct{ database, log fileStamp }

type fileStamp struct{ size, modified int64 }

// Stamp is another one whenever something was written since the last one was taken. It costs next to nothing, and may
// be another one although nothing that can be read is.
func (r *Reader) Stamp() Stamp {
	path := filepath.Join(r.files.path, fileName)
	return Stamp{stampOf(path), stampOf(path + "-wal")}
}

func stampOf(path string) fileStamp {
	info, err := os.Stat(path)
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{info.Size(), info.ModTime().UnixNano()}
}
