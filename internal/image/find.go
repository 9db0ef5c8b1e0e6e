// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"cmp"
	"slices"
	"strings"
)

// Find looks an image up by a name, short or full, with tag or digest, by its ID, or by a part of the ID's beginning
// that no other has; more than one is an *AmbiguousError. false is that it is not here.
func (s *Store) Find(ref string) (Image, bool, error) {
	r, err := s.find(ref)
	if err != nil || r == nil {
		return Image{}, false, err
	}
	return s.image(r), true, nil
}

// find is Find of a record, or nil.
func (s *Store) find(ref string) (*record, error) {
	all, err := s.records()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r *record) bool { return !s.whole(r) })
	var found []*record
	if name, err := ParseName(ref); err == nil {
		for _, r := range all {
			if _, ok := r.Names[name.String()]; ok {
				return r, nil
			}
			if d := name.Digest(); d != "" && slices.Contains(r.Digests, name.Repository()+"@"+d) {
				return r, nil
			}
		}
	}
	if start := hexOf(ref); start != "" && isHex(start) {
		for _, r := range all {
			if strings.HasPrefix(hexOf(r.ID), start) {
				found = append(found, r)
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	e := &AmbiguousError{Ref: ref}
	for _, r := range found {
		e.IDs = append(e.IDs, r.ID)
	}
	return nil, e
}

// List gives all images, by name.
func (s *Store) List() ([]Image, error) {
	all, err := s.records()
	if err != nil {
		return nil, err
	}
	var images []Image
	for _, r := range all {
		if s.whole(r) {
			images = append(images, s.image(r))
		}
	}
	slices.SortFunc(images, func(a, b Image) int {
		return cmp.Or(slices.Compare(a.Names, b.Names), cmp.Compare(a.ID, b.ID))
	})
	return images, nil
}
