// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import "testing"

func TestLayers(t *testing.T) {
	forms(t, func(t *testing.T, g *rig) {
		dirs, err := g.apply(
			layerOf(t, dir("run", 0), dir("var", 0o750), link("var/run", "../run"), file("etc/a", "a"), dir("etc/ro", 0o555), moded("etc/ro/f", "x", modeZero), dir("opq", 0), file("opq/old", "o")),
			layerOf(t, file("var/run/foo", "foo"), hidden("etc/a"), opaqueDir("opq"), file("opq/new", "n"), file("etc/ro/g", "g"), file("../../escape", "e")),
		)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range g.view(dirs) {
			t.Log(line)
		}
	})
}
