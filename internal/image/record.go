// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// record is an image as images/<id>.json has it. The file's modification time is when the image was last used.
type record struct {
	ID string `json:"id"`
	// Names are the full names with tags, each with the time when this image got it: a crash may leave a name in two
	// records, and then the later one counts.
	Names map[string]time.Time `json:"names,omitempty"`
	// Digests are names with digests.
	Digests []string `json:"digests,omitempty"`
	// Chain are the chain IDs of the layers, from the bottom up.
	Chain  []string  `json:"chain"`
	Config Config    `json:"config"`
	Pulled time.Time `json:"pulled"`

	lastUsed time.Time
}

// maxRecord bounds a record and what it is made of.
const maxRecord = 8 << 20

// readRecord reads the text of a record, and believes nothing in it that would lead out of the store.
func readRecord(data []byte) (*record, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	for _, d := range append([]string{r.ID}, r.Chain...) {
		if !isDigest(d) {
			return nil, fmt.Errorf("%q is no digest", d)
		}
	}
	if len(r.Chain) == 0 {
		return nil, errors.New("it has no layers")
	}
	return &r, nil
}

// isDigest reports whether text is sha256: and 64 hexadecimal digits in lower case.
func isDigest(text string) bool {
	hex, ok := strings.CutPrefix(text, "sha256:")
	return ok && len(hex) == 64 && isHex(hex)
}

func isHex(text string) bool {
	return strings.Trim(text, "0123456789abcdef") == ""
}

func hexOf(digest string) string { return strings.TrimPrefix(digest, "sha256:") }

// records reads all records, each name only in the one that got it last. One that cannot be read is as if it were not
// there: the image is pulled again.
func (s *Store) records() ([]*record, error) {
	entries, err := os.ReadDir(s.images.Path())
	if err != nil {
		return nil, err
	}
	var all []*record
	for _, e := range entries {
		hex, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !isDigest("sha256:"+hex) {
			continue
		}
		r, err := s.record("sha256:" + hex)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			s.log(fmt.Sprintf("%s is not used: %v", filepath.Join(s.images.Path(), e.Name()), err))
			continue
		}
		all = append(all, r)
	}
	latest := map[string]time.Time{}
	for _, r := range all {
		for name, at := range r.Names {
			if at.After(latest[name]) {
				latest[name] = at
			}
		}
	}
	for _, r := range all {
		maps.DeleteFunc(r.Names, func(name string, at time.Time) bool { return at.Before(latest[name]) })
	}
	return all, nil
}

// record reads one record.
func (s *Store) record(id string) (*record, error) {
	f, err := s.images.OpenFile(hexOf(id)+".json", os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data, err := readBounded(f, maxRecord)
	if err != nil {
		return nil, err
	}
	r, err := readRecord(data)
	if err != nil {
		return nil, err
	}
	if r.ID != id {
		return nil, fmt.Errorf("it is the record of %s", r.ID)
	}
	r.lastUsed = info.ModTime()
	return r, nil
}

// writeRecord replaces a record and keeps its last use, unless that is zero, which means now.
func (s *Store) writeRecord(r *record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	name := hexOf(r.ID) + ".json"
	if err := s.images.WriteFile(name, append(data, '\n')); err != nil {
		return err
	}
	if !r.lastUsed.IsZero() {
		return os.Chtimes(filepath.Join(s.images.Path(), name), time.Time{}, r.lastUsed)
	}
	return nil
}

// keep makes a record of an image that is whole in the store, or adds the names to the one that is there. Other images
// lose the names.
func (s *Store) keep(ctx context.Context, r *record, names, digests []string) (Image, error) {
	l, err := s.lock(ctx, lockRecords, unix.LOCK_EX)
	if err != nil {
		return Image{}, err
	}
	defer l.unlock()
	all, err := s.records()
	if err != nil {
		return Image{}, err
	}
	now := s.now()
	r.Names, r.Pulled, r.lastUsed = map[string]time.Time{}, now, time.Time{}
	for _, other := range all {
		if other.ID == r.ID {
			r.Names, r.Digests, r.Pulled = other.Names, other.Digests, other.Pulled
			if r.Names == nil {
				r.Names = map[string]time.Time{}
			}
		}
	}
	for _, name := range names {
		r.Names[name] = now
	}
	for _, d := range digests {
		if !slices.Contains(r.Digests, d) {
			r.Digests = append(r.Digests, d)
		}
	}
	if err := s.writeRecord(r); err != nil {
		return Image{}, err
	}
	failPoint("recorded")
	// A crash here leaves the names in two records, of which the one just written counts.
	for _, other := range all {
		if other.ID == r.ID {
			continue
		}
		had := len(other.Names)
		maps.DeleteFunc(other.Names, func(name string, _ time.Time) bool { return slices.Contains(names, name) })
		if len(other.Names) != had {
			if err := s.writeRecord(other); err != nil {
				return Image{}, err
			}
		}
	}
	if r, err = s.record(r.ID); err != nil {
		return Image{}, err
	}
	return s.image(r), nil
}

// image is what callers learn of a record.
func (s *Store) image(r *record) Image {
	img := Image{
		ID: r.ID, Names: slices.Sorted(maps.Keys(r.Names)), Digests: slices.Clone(r.Digests), Config: r.Config,
		Pulled: r.Pulled, LastUsed: r.lastUsed,
	}
	for _, chain := range s.keys(r.Chain) {
		if l, ok := s.layer(chain); ok {
			img.Size += l.Size
		}
	}
	return img
}
