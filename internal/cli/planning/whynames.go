// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"slices"

	"github.com/carillon-dev/carillon/internal/cli/reference"
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
	server, err := w.input.cluster.Connect()
	if err != nil {
		return nil, err
	}
	return server.Names(ctx, reference.KindsOf(kindWord))
}
