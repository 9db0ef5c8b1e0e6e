// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

// platform is a kind of machine, as an index names it.
type platform struct {
	OS, Arch string
	// Variants are the variants of the architecture that the machine runs, the best first. No variant is one too.
	Variants []string
}

// thisPlatform is this machine.
func thisPlatform() platform {
	p := platform{OS: runtime.GOOS, Arch: runtime.GOARCH, Variants: []string{""}}
	switch p.Arch {
	case "amd64":
		p.Variants = []string{"", "v1", "v2"}
		if cpu.X86.HasAVX2 && cpu.X86.HasBMI2 && cpu.X86.HasFMA {
			p.Variants = append(p.Variants, "v3")
		}
	case "arm64":
		p.Variants = []string{"v8", ""}
	case "arm":
		p.Variants = []string{"v6", "v5", ""}
		var u unix.Utsname
		if unix.Uname(&u) == nil && !strings.HasPrefix(unix.ByteSliceToString(u.Machine[:]), "armv6") {
			p.Variants = slices.Insert(p.Variants, 0, "v7")
		}
	}
	return p
}

func (p platform) String() string { return p.OS + "/" + p.Arch }

// rank says how well an image for another platform runs here: 0 is best, less than 0 is not at all.
func (p platform) rank(image v1.Platform) int {
	if image.OS != p.OS || image.Architecture != p.Arch {
		return -1
	}
	return slices.Index(p.Variants, image.Variant)
}

// choose picks the manifest of an index that is for this machine.
func (p platform) choose(index *v1.IndexManifest) (v1.Descriptor, error) {
	best := -1
	var have []string
	for i, d := range index.Manifests {
		if d.Platform == nil || d.Platform.OS == "unknown" {
			continue // an attestation, or the like
		}
		if name := platformName(*d.Platform); !slices.Contains(have, name) {
			have = append(have, name)
		}
		if !d.MediaType.IsImage() {
			continue
		}
		rank := p.rank(*d.Platform)
		if rank >= 0 && (best < 0 || rank < p.rank(*index.Manifests[best].Platform)) {
			best = i
		}
	}
	if best < 0 && len(have) == 0 && len(index.Manifests) == 1 && index.Manifests[0].MediaType.IsImage() {
		best = 0 // without platforms: the config says what it is for
	}
	if best < 0 {
		return v1.Descriptor{}, p.refuse(have)
	}
	return index.Manifests[best], nil
}

// accept refuses the config of an image that is for other machines. Old images do not say what they are for.
func (p platform) accept(config *v1.ConfigFile) error {
	is := v1.Platform{OS: config.OS, Architecture: config.Architecture, Variant: config.Variant}
	if is.OS == "" && is.Architecture == "" || p.rank(is) >= 0 {
		return nil
	}
	return p.refuse([]string{platformName(is)})
}

func (p platform) refuse(have []string) error {
	text := "no platform at all"
	if len(have) > 0 {
		const most = 20
		if len(have) > most {
			have = append(have[:most:most], "…")
		}
		text = strings.Join(have, ", ")
	}
	return fmt.Errorf("%w: this machine is %s, and the image is for %s", ErrNoPlatform, p, text)
}

func platformName(p v1.Platform) string {
	name := printable(p.OS) + "/" + printable(p.Architecture)
	if p.Variant != "" {
		name += "/" + printable(p.Variant)
	}
	return name
}

// printable shortens what others wrote, for a message.
func printable(text string) string {
	const most = 200
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.TrimSpace(text)
}
