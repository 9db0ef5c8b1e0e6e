// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// leftoverAge is how long downloads and layers are kept of which no image came, for the pull that goes on with them.
const leftoverAge = 24 * time.Hour

// Remove removes an image; if ref is one of several names of it, only that name. *InUseError says that a container uses
// it, *NotFoundError that it is not here.
func (s *Store) Remove(ref string) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	r, err := s.find(ref)
	if err != nil {
		return err
	}
	if r == nil {
		return &NotFoundError{Ref: ref}
	}
	if name, err := ParseName(ref); err == nil && len(r.Names) > 1 {
		if _, ok := r.Names[name.String()]; ok {
			return s.unname(ctx, r.ID, name.String())
		}
	}
	if err := s.removeRecord(ctx, r); err != nil {
		return err
	}
	// Whoever pulls now may need some of its layers, and removes them afterwards if not.
	gone, ok, err := s.tryUnpublish(func(all *census) []layer { return all.only(r) })
	if err != nil || !ok {
		return err
	}
	s.removeWorks(gone)
	return nil
}

// unname takes a name away from an image.
func (s *Store) unname(ctx context.Context, id, name string) error {
	held, err := s.lock(ctx, lockRecords, unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer held.unlock()
	r, err := s.record(id)
	if err != nil {
		return err
	}
	delete(r.Names, name)
	return s.writeRecord(r)
}

// removeRecord removes an image's record, unless a container uses the image. Its layers stay.
func (s *Store) removeRecord(ctx context.Context, r *record) error {
	alone, ok, err := s.tryLock(lockImage+hexOf(r.ID), unix.LOCK_EX)
	if err != nil {
		return err
	}
	if !ok {
		return &InUseError{Image: s.image(r)}
	}
	defer alone.drop()
	held, err := s.lock(ctx, lockRecords, unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer held.unlock()
	if err := s.images.Remove(hexOf(r.ID) + ".json"); err != nil {
		return err
	}
	// Or after a crash of the machine there is a record whose layers are not.
	err = syncDir(s.images.Path())
	failPoint("forgotten")
	return err
}

// census is what is in the store while nobody adds or removes layers.
type census struct {
	records []*record
	layers  map[string]layer // by chain ID
	users   map[string]int   // how many images have a layer
	keys    func(chain []string) []string
}

func (s *Store) census() (*census, error) {
	c := &census{layers: map[string]layer{}, users: map[string]int{}, keys: s.keys}
	var err error
	if c.records, err = s.records(); err != nil {
		return nil, err
	}
	for _, r := range c.records {
		c.count(r, 1)
	}
	numbers, err := s.layerNumbers()
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		l, err := s.readLayer(n)
		if err != nil {
			s.log(fmt.Sprintf("%s is not used: %v", s.layerDir(n), err))
			continue
		}
		c.layers[l.Chain] = l
	}
	return c, nil
}

func (c *census) count(r *record, by int) {
	for _, chain := range c.keys(r.Chain) {
		c.users[chain] += by
	}
}

// only are the layers of an image that no image has any more.
func (c *census) only(r *record) []layer {
	var list []layer
	for _, chain := range c.keys(r.Chain) {
		if l, ok := c.layers[chain]; ok && c.users[chain] == 0 {
			list = append(list, l)
		}
	}
	return list
}

// unused are the layers that no image has.
func (c *census) unused() []layer {
	var list []layer
	for chain, l := range c.layers {
		if c.users[chain] == 0 {
			list = append(list, l)
		}
	}
	return list
}

func (c *census) size() (total int64) {
	for _, l := range c.layers {
		total += l.Size
	}
	return total
}

// tryUnpublish takes the layers that choose names out of the store, if nobody adds any just now. The caller removes
// what it returns, which may take long.
func (s *Store) tryUnpublish(choose func(*census) []layer) (gone []*work, ok bool, err error) {
	held, ok, err := s.tryLock(lockStore, unix.LOCK_EX)
	if err != nil || !ok {
		return nil, false, err
	}
	defer held.unlock()
	all, err := s.census()
	if err != nil {
		return nil, false, err
	}
	for _, l := range choose(all) {
		w, err := s.unpublish(l)
		if err != nil {
			return gone, true, err
		}
		gone = append(gone, w)
	}
	return gone, true, nil
}

// unpublish takes a layer out of the store at once; its files are removed afterwards.
func (s *Store) unpublish(l layer) (*work, error) {
	w, err := s.newWork()
	if err != nil {
		return nil, err
	}
	if err := os.Rename(s.layerDir(l.number), filepath.Join(w.dir, strconv.Itoa(l.number))); err != nil {
		s.removeWork(w)
		return nil, err
	}
	failPoint("unpublished")
	return w, nil
}

func (s *Store) removeWorks(list []*work) {
	for _, w := range list {
		s.removeWork(w)
	}
}

// collect removes what is too much, after a pull of the image keep: leftovers that are old, and if the bound is passed
// all leftovers, then images, the least recently used first. While somebody else pulls it does nothing; he does it.
func (s *Store) collect(ctx context.Context, keep string) error {
	gone, ok, err := s.tryUnpublish(func(all *census) []layer {
		over := s.cacheBytes >= 0 && all.size() > s.cacheBytes
		age := leftoverAge
		if over {
			age = 0
		}
		list := s.leftovers(all, age)
		s.dropParts(age)
		if !over {
			return list
		}
		total := all.size()
		for _, l := range list {
			total -= l.Size
		}
		slices.SortFunc(all.records, func(a, b *record) int { return a.lastUsed.Compare(b.lastUsed) })
		for _, r := range all.records {
			if total <= s.cacheBytes || ctx.Err() != nil {
				break
			}
			if r.ID == keep {
				continue
			}
			if err := s.removeRecord(ctx, r); err != nil {
				if !errors.Is(err, ErrInUse) {
					s.log(fmt.Sprintf("image %s is not removed: %v", r.ID, err))
				}
				continue
			}
			all.count(r, -1)
			for _, l := range all.only(r) {
				total -= l.Size
				list = append(list, l)
			}
		}
		return list
	})
	if ok {
		s.sweepLocks()
	}
	s.removeWorks(gone)
	return err
}

// leftovers are the layers that no image has and that are older than age.
func (s *Store) leftovers(all *census, age time.Duration) []layer {
	return slices.DeleteFunc(all.unused(), func(l layer) bool {
		info, err := os.Stat(filepath.Join(s.layerDir(l.number), "layer.json"))
		return err != nil || s.now().Sub(info.ModTime()) < age
	})
}

// dropParts removes downloads that nobody went on with for so long. Nobody downloads just now.
func (s *Store) dropParts(age time.Duration) {
	entries, err := os.ReadDir(s.blobs.Path())
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && s.now().Sub(info.ModTime()) >= age {
			_ = s.blobs.Remove(e.Name()) // the next one to come by tries again
		}
	}
}

// sweepLocks removes the lock files of what is not there, or is made by nobody.
func (s *Store) sweepLocks() {
	entries, err := os.ReadDir(s.locks.Path())
	if err != nil {
		return
	}
	for _, e := range entries {
		name := e.Name()
		if id, ok := strings.CutPrefix(name, lockImage); ok {
			if _, err := os.Lstat(filepath.Join(s.images.Path(), id+".json")); !errors.Is(err, fs.ErrNotExist) {
				continue
			}
		} else if !strings.HasPrefix(name, lockChain) && !strings.HasPrefix(name, lockBlob) {
			continue
		}
		if l, ok, err := s.tryLock(name, unix.LOCK_EX); err == nil && ok {
			l.drop()
		}
	}
}

// Prune removes the images that nothing has used since now-unusedFor, and the leftovers of pulls that are as old, and
// returns the images. Those in use stay.
func (s *Store) Prune(ctx context.Context, unusedFor time.Duration, now time.Time) ([]Image, error) {
	all, err := s.records()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *record) int {
		return cmp.Or(slices.Compare(slices.Sorted(maps.Keys(a.Names)), slices.Sorted(maps.Keys(b.Names))), cmp.Compare(a.ID, b.ID))
	})
	var removed []Image
	var gone []*record
	for _, r := range all {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		if r.lastUsed.After(now.Add(-unusedFor)) {
			continue
		}
		img := s.image(r)
		if err := s.removeRecord(ctx, r); errors.Is(err, ErrInUse) {
			continue
		} else if err != nil {
			return removed, err
		}
		removed, gone = append(removed, img), append(gone, r)
	}
	works, ok, err := s.tryUnpublish(func(all *census) []layer {
		s.dropParts(unusedFor)
		list := s.leftovers(all, unusedFor)
		for _, r := range gone {
			for _, l := range all.only(r) {
				if !slices.Contains(list, l) {
					list = append(list, l)
				}
			}
		}
		return list
	})
	if ok {
		s.sweepLocks()
	}
	s.removeWorks(works)
	return removed, err
}
