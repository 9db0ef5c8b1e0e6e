// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/image/unpack"
)

// Use is the right to the layers of an image: as long as File, or a copy of it that a child inherited, is open, the
// image is not removed.
type Use struct {
	// Image is what is used.
	Image Image
	// File holds the lock. A container's supervisor inherits it, so that the lock ends with the container and not with us.
	File *os.File
	// Layers are the directories of the layers, the topmost first, as an overlay's lowerdir has them. There is at least
	// one.
	Layers []string
	// Form is how they are mounted: as an overlay, or, if it is flat, there is one directory with all files of the image.
	Form unpack.Form
}

// lockTimeout bounds the wait for locks that are held for a moment only.
const lockTimeout = 10 * time.Second

// Use locks an image for a container. A *NotFoundError says that it is not here, or not any more.
func (s *Store) Use(ref string) (*Use, error) {
	r, err := s.find(ref)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, &NotFoundError{Ref: ref}
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	held, err := s.lock(ctx, lockImage+hexOf(r.ID), unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	// It may have gone before it was locked.
	if r, err = s.record(r.ID); err != nil || !s.whole(r) {
		held.unlock()
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = &NotFoundError{Ref: ref}
		}
		return nil, err
	}
	now := s.now()
	if err := os.Chtimes(filepath.Join(s.images.Path(), hexOf(r.ID)+".json"), time.Time{}, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		held.unlock()
		return nil, err
	}
	r.lastUsed = now
	u := &Use{Image: s.image(r), File: held.file, Form: s.form}
	for _, chain := range slices.Backward(s.keys(r.Chain)) {
		l, ok := s.layer(chain)
		if !ok {
			held.unlock()
			return nil, &NotFoundError{Ref: ref}
		}
		u.Layers = append(u.Layers, filepath.Join(s.layers.Path(), strconv.Itoa(l.number), "fs"))
	}
	return u, nil
}

// Close lets go of the lock, as far as this process holds it: a child that inherited File keeps it.
func (u *Use) Close() error { return u.File.Close() }
