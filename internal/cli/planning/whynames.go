// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"cmp"
	"context"
	"slices"

	"github.com/carillon-dev/carillon/internal/client/evidence"
	"github.com/carillon-dev/carillon/internal/client/reference"
)

// names are the names of all objects of a kind, for completion and for messages.
func (w *why) names(ctx context.Context, kindWord string) ([]string, error) {
	if len(w.input.files) > 0 {
		objects, err := w.input.fromFiles(ctx, w.streams, func(string) {})
		if err != nil {
			return nil, err
		}
		var names []string
		for _, o := range objects {
			if slices.Contains(reference.KindsOf(kindWord), o.Content.GroupVersionKind()) {
				names = append(names, o.Content.GetName())
			}
		}
		return names, nil
	}
	remembered := w.rememberedNames(ctx, kindWord)
	if w.journal != "" && !w.input.cluster.Named() {
		return remembered, nil
	}
	server, err := w.input.cluster.Connect()
	if err != nil {
		if len(remembered) > 0 {
			return remembered, nil
		}
		return nil, err
	}
	names, err := server.Names(ctx, reference.KindsOf(kindWord))
	names = append(names, remembered...)
	slices.Sort(names)
	return slices.Compact(names), err
}

// rememberedNames are those that a journal has; none where none can be read: completion goes without.
func (w *why) rememberedNames(ctx context.Context, kindWord string) []string {
	reader, err := w.openJournal()
	if err != nil || reader == nil {
		return nil
	}
	defer func() { _ = reader.Close() }() // it was only read
	names, err := evidence.Names(ctx, reader, cmp.Or(w.input.cluster.Namespace, "default"), kindWord)
	if err != nil {
		return nil
	}
	return names
}
