// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/privatedir"
	"github.com/carillon-dev/carillon/internal/version"
)

// source is a part that is to be written.
type source struct {
	name string
	size int64
	open func() (io.ReadCloser, error)
}

// parts lists what the archive gets, the small ones first.
func (b *creation) parts(m *moment) ([]source, error) {
	var parts []source
	content := func(name string, data []byte) {
		parts = append(parts, source{name, int64(len(data)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }})
	}
	if name, err := privatedir.ReadFile(datadir.NodeName(b.dir), maxRecord); err == nil {
		content(nodeNamePart, name)
		b.made.Node = strings.TrimSpace(string(name))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range controlplane.EssentialFiles() {
		data, err := privatedir.ReadFile(filepath.Join(datadir.ControlPlane(b.dir), name), maxEssential)
		if err != nil {
			return nil, fmt.Errorf("a backup without it would be of no use: %w", err)
		}
		content(essentialPart(name), data)
	}
	for _, f := range m.ended.files() {
		parts = append(parts, source{f.part, f.size, func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(f.file, 0, f.size)), nil }})
	}
	copies := []struct{ name, file string }{{storePart, storeCopy}}
	if b.hasJournal {
		copies = append(copies, struct{ name, file string }{journalPart, journalCopy})
	}
	for _, c := range copies {
		info, err := os.Lstat(b.work.file(c.file))
		if err != nil {
			return nil, err
		}
		parts = append(parts, source{c.name, info.Size(), func() (io.ReadCloser, error) { return os.Open(b.work.file(c.file)) }})
	}
	return parts, nil
}

// describe fills in the manifest.
func (b *creation) describe(ctx context.Context, m *moment, parts []source) (err error) {
	made := &b.made.Manifest
	made.Format, made.FormatVersion = formatName, formatVersion
	made.Carillon, made.Kubernetes = version.String(), version.Kubernetes
	made.Created, made.EndedContainers = m.at, len(m.ended.found)
	b.made.Froze = m.froze
	for _, p := range parts {
		made.Bytes += p.size
	}
	b.o.Progress("counting", 0)
	if made.Objects, made.Revision, err = countObjects(b.work.file(storeCopy)); err != nil {
		return err
	}
	if !b.hasJournal {
		return nil
	}
	copied, err := journal.OpenReader(b.work.path)
	if err != nil {
		return fmt.Errorf("the copy of the journal: %w", err)
	}
	defer copied.Close() //nolint:errcheck // it is only read
	extent, err := copied.Extent(ctx)
	made.Runs, made.Attempts, made.Omissions = extent.Runs, extent.Attempts, extent.Omissions
	return err
}
