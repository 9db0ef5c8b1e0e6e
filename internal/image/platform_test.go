// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"errors"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Of an index the image that fits best is taken, and one that would not run never.
func TestChoosePlatform(t *testing.T) {
	amd := platform{OS: "linux", Arch: "amd64", Variants: []string{"", "v1", "v2"}}
	arm := platform{OS: "linux", Arch: "arm", Variants: []string{"v7", "v6", "v5", ""}}
	arm64 := platform{OS: "linux", Arch: "arm64", Variants: []string{"v8", ""}}
	for _, tt := range []struct {
		machine platform
		index   string // platforms
		want    int    // which of them
	}{
		{amd, "linux/arm64 linux/amd64", 1},
		{amd, "linux/amd64/v3 linux/amd64/v2 linux/amd64", 2},
		{amd, "linux/amd64/v3 linux/amd64/v2", 1},
		{amd, "linux/amd64/v3", -1},
		{amd, "windows/amd64 linux/386", -1},
		{amd, "-", 0},
		{amd, "- -", -1},
		{amd, "unknown/unknown linux/amd64 unknown/unknown", 1},
		{amd, "", -1},
		{arm, "linux/arm/v5 linux/arm/v7 linux/arm/v6", 1},
		{arm, "linux/arm/v8 linux/arm/v6", 1},
		{arm, "linux/arm64/v8", -1},
		{arm64, "linux/arm/v7 linux/arm64", 1},
		{arm64, "linux/arm64 linux/arm64/v8", 1},
	} {
		index := &v1.IndexManifest{}
		for n, text := range strings.Fields(tt.index) {
			d := v1.Descriptor{MediaType: types.OCIManifestSchema1, Size: int64(n)}
			if part := strings.Split(text+"/", "/"); text != "-" {
				d.Platform = &v1.Platform{OS: part[0], Architecture: part[1], Variant: part[2]}
			}
			index.Manifests = append(index.Manifests, d)
		}
		got, err := tt.machine.choose(index)
		if tt.want < 0 {
			if !errors.Is(err, ErrNoPlatform) || !strings.Contains(err.Error(), tt.machine.String()) {
				t.Errorf("%s of %q: %v, %v", tt.machine, tt.index, got.Size, err)
			}
			continue
		}
		if err != nil || got.Size != int64(tt.want) {
			t.Errorf("%s of %q: number %d, %v", tt.machine, tt.index, got.Size, err)
		}
	}
	if p := thisPlatform(); p.rank(here) < 0 {
		t.Errorf("%+v does not run %+v", p, here)
	}
}

// What others wrote cannot disturb a terminal, or fill it.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{"a\x1b[2Jb\n": "a [2Jb", "\xff": "?", strings.Repeat("é", 200): strings.Repeat("é", 100) + "…"} {
		if got := printable(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
