// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"context"
	"errors"
)

var errNotYet = errors.New("layers cannot be applied yet")

// Main is the entry of the processes that the store starts from this program's own file. A program's main, and TestMain,
// call it first, and end if it reports true.
func Main() (handled bool) { return false }

type helper struct{}

func (helper) probe(context.Context, string) (form, error)          { return form{}, errNotYet }
func (helper) apply(context.Context, applyRequest) (applied, error) { return applied{}, errNotYet }
func (helper) remove(string) error                                  { return errNotYet }
