// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/privatedir"
)

// layer is a published layer, as layers/<number>/layer.json has it. Its files are in layers/<number>/fs.
type layer struct {
	// Chain is the chain ID: it names the layer's content together with that of all layers below, which it was applied on.
	Chain string `json:"chain"`
	// Size is how many bytes the files hold, Inodes how many files they are.
	Size   int64  `json:"size"`
	Inodes uint64 `json:"inodes"`

	number int
}

// chainIDs computes the chain IDs of layers from the digests of their uncompressed content, from the bottom up, as the
// OCI image specification defines them.
func chainIDs(diffIDs []string) []string {
	chain := make([]string, len(diffIDs))
	for i, diff := range diffIDs {
		if i == 0 {
			chain[0] = diff
			continue
		}
		sum := sha256.Sum256([]byte(chain[i-1] + " " + diff))
		chain[i] = "sha256:" + hex.EncodeToString(sum[:])
	}
	return chain
}

// keys are the chain IDs under which the layers of an image are published: each, or in the flat form the last alone,
// whose directory has all files.
func (s *Store) keys(chain []string) []string {
	if s.form.Flat {
		return chain[len(chain)-1:]
	}
	return chain
}

// layer looks up a published layer.
func (s *Store) layer(chain string) (layer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, ok := s.numbers[chain]; ok {
		if l, err := s.readLayer(n); err == nil && l.Chain == chain {
			return l, true
		}
	}
	// Whatever is known may be of the past: numbers of layers that were removed are given again.
	clear(s.numbers)
	numbers, err := s.layerNumbers()
	if err != nil {
		return layer{}, false
	}
	var found layer
	for _, n := range numbers {
		if l, err := s.readLayer(n); err == nil {
			s.numbers[l.Chain] = n
			if l.Chain == chain {
				found = l
			}
		}
	}
	return found, found.number != 0
}

// layerNumbers lists the directories of published layers.
func (s *Store) layerNumbers() ([]int, error) {
	entries, err := os.ReadDir(s.layers.Path())
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

func (s *Store) layerDir(n int) string { return filepath.Join(s.layers.Path(), strconv.Itoa(n)) }

func (s *Store) readLayer(n int) (layer, error) {
	data, err := privatedir.ReadFile(filepath.Join(s.layerDir(n), "layer.json"), maxRecord)
	if err != nil {
		return layer{}, err
	}
	l := layer{number: n}
	if err := json.Unmarshal(data, &l); err != nil {
		return layer{}, err
	}
	if !isDigest(l.Chain) {
		return layer{}, fmt.Errorf("%q is no digest", l.Chain)
	}
	return l, nil
}

// work is a directory below which a layer is made. Whatever is not published is removed with it, by us or, if we do not
// come to it, by whoever opens the store next.
type work struct {
	dir  string
	lock *os.File
}

// newWork makes a directory for work.
func (s *Store) newWork() (*work, error) {
	for {
		dir, err := os.MkdirTemp(s.dir, tmpPrefix)
		if err != nil {
			return nil, err
		}
		f, err := os.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // swept before we came to lock it
		}
		if err != nil {
			return nil, err
		}
		err = flock(f, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && (&lock{file: f, path: dir}).current() {
			failPoint("work")
			return &work{dir: dir, lock: f}, nil
		}
		f.Close()
		if err != nil && !errors.Is(err, unix.EWOULDBLOCK) { // or it is just swept
			return nil, &os.PathError{Op: "lock", Path: dir, Err: err}
		}
	}
}

// remove removes what is left of the work.
func (s *Store) removeWork(w *work) {
	if err := s.applier.remove(w.dir); err != nil {
		s.log(fmt.Sprintf("%s is left behind: %v", w.dir, err))
	}
	w.lock.Close()
}

// publish makes the directories that were made in the works, dir/layer/fs, layers of the store, and sets their numbers.
// After a crash at any point each layer is there whole or not at all. Synchronising the filesystem takes the most time,
// so it is done once for all.
func (s *Store) publish(works []*work, layers []*layer) error {
	if len(works) == 0 {
		return nil
	}
	for i, w := range works {
		if err := privatedir.WriteFile(filepath.Join(w.dir, "layer", "layer.json"), mustJSON(layers[i])); err != nil {
			return err
		}
	}
	failPoint("described")
	// The files' data has to be on disk before their directory has its name.
	if err := syncFilesystem(s.dir); err != nil {
		return err
	}
	failPoint("synced")
	numbers, err := s.layerNumbers()
	if err != nil {
		return err
	}
	n := 1
	for _, other := range numbers {
		n = max(n, other+1)
	}
	for i, w := range works {
		dir := filepath.Join(w.dir, "layer")
		for ; ; n++ {
			err := unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, s.layerDir(n), unix.RENAME_NOREPLACE)
			if err == nil {
				break
			}
			if !errors.Is(err, unix.EEXIST) { // which is that somebody else published one just now
				return &os.LinkError{Op: "rename", Old: dir, New: s.layerDir(n), Err: err}
			}
		}
		layers[i].number = n
		failPoint("renamed")
	}
	return syncDir(s.layers.Path())
}

// lockLayer waits until nobody else makes the layer, and reports it if somebody did.
func (s *Store) lockLayer(ctx context.Context, chain string) (*lock, layer, bool, error) {
	held, err := s.lock(ctx, lockChain+hexOf(chain), unix.LOCK_EX)
	if err != nil {
		return nil, layer{}, false, err
	}
	if l, ok := s.layer(chain); ok {
		held.drop()
		return nil, l, true, nil
	}
	return held, layer{}, false, nil
}

func syncFilesystem(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return &os.PathError{Op: "sync", Path: path, Err: err}
	}
	return nil
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain data of ours
	}
	return append(data, '\n')
}
