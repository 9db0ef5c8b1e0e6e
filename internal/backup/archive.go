// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/carillon-dev/carillon/internal/controlplane"
)

// An archive is a tar, compressed by zstd. Its parts are regular files with these names and no others: first the
// manifest, last the checksums of all others.
const (
	manifestPart  = "manifest.json"
	checksumsPart = "checksums.json"
	storePart     = "control-plane/store.snapshot"
	journalPart   = "journal/runs.db"
	nodeNamePart  = "node-name"
	essentialDir  = "control-plane"
	endedDir      = "journal/ended"
)

// The largest sizes that parts may have. The store's quota is 8 GiB at most; a journal is bounded by its user.
const (
	maxManifest  = 1 << 20
	maxChecksums = 64 << 20
	maxEssential = 1 << 20
	maxStore     = 32 << 30
	maxJournal   = 1 << 40
	maxRecord    = 64 << 10
	maxEndedLog  = 64 << 30
	// maxParts is more than the node keeps of ended containers, with some rotated logs each.
	maxParts = 200_000
	// maxBytes is more than all parts together can have. Twice as many can still be counted.
	maxBytes = maxStore + maxJournal + maxParts*maxEndedLog
)

// part is what a name in an archive stands for.
type part struct {
	name string
	// max is how many bytes it may have.
	max int64
	// path is where it belongs in a data directory, slash-separated; empty for what is not kept as it is.
	path string
}

// partNamed tells which part has a name. Any other name is an error, and with it every way out of the directory.
func partNamed(name string) (part, error) {
	switch name {
	case manifestPart:
		return part{name: name, max: maxManifest}, nil
	case checksumsPart:
		return part{name: name, max: maxChecksums}, nil
	case storePart:
		return part{name: name, max: maxStore}, nil
	case journalPart:
		return part{name: name, max: maxJournal, path: name}, nil
	case nodeNamePart:
		return part{name: name, max: maxRecord, path: name}, nil
	}
	for _, file := range controlplane.EssentialFiles() {
		if name == essentialPart(file) {
			return part{name: name, max: maxEssential, path: name}, nil
		}
	}
	if id, file, ok := strings.Cut(strings.TrimPrefix(name, endedDir+"/"), "/"); ok && name == path.Join(endedDir, id, file) && validEndedID(id) {
		switch {
		case file == endedRecord:
			return part{name: name, max: maxRecord, path: name}, nil
		case validEndedLog(file):
			return part{name: name, max: maxEndedLog, path: name}, nil
		}
	}
	return part{}, fmt.Errorf("%q is no part of a backup", name)
}

// essentialPart names the part of a file in the control plane's directory.
func essentialPart(file string) string { return path.Join(essentialDir, filepath.ToSlash(file)) }

// checksums is the last part.
type checksums struct {
	Parts []checksum `json:"parts"`
}

type checksum struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}
