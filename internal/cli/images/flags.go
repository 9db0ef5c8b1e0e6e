// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Names of the flags.
const (
	DirFlag       = "image-dir"
	CacheSizeFlag = "image-cache-size"
	MirrorFlag    = "registry-mirror"
)

// Flags are the choices about the store of images that several commands have.
type Flags struct {
	// Dir is the store; empty is the user's own.
	Dir string
	// CacheSize bounds what images take on disk.
	CacheSize CacheSize
	// Mirrors are the endpoints to ask before a registry, by its name.
	Mirrors Mirrors
}

// AddDir adds --image-dir.
func (f *Flags) AddDir(flags *pflag.FlagSet) {
	flags.StringVar(&f.Dir, DirFlag, "", "where images are kept, for all that this user runs (default: carillon/images below $XDG_CACHE_HOME or ~/.cache; for root /var/cache/carillon/images)")
}

// AddCacheSize adds --image-cache-size.
func (f *Flags) AddCacheSize(flags *pflag.FlagSet) {
	f.CacheSize = defaultCacheSize
	flags.Var(&f.CacheSize, CacheSizeFlag, "how much of the disk images may take: after a pull, those that nothing has used for longest go until it is less; those in use stay; -1 is no bound")
}

// AddMirrors adds --registry-mirror.
func (f *Flags) AddMirrors(flags *pflag.FlagSet) {
	flags.Var(&f.Mirrors, MirrorFlag, "a URL to ask for images before the registry itself, as docker.io=https://mirror.example; a URL alone is for docker.io; may be repeated")
}

// CacheSize is a flag: a quantity of bytes, -1 for any.
type CacheSize int64

// defaultCacheSize is 20Gi.
const defaultCacheSize CacheSize = 20 << 30

var _ pflag.Value = (*CacheSize)(nil)

// Set implements pflag.Value.
func (s *CacheSize) Set(text string) error {
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() < 0 && q.Value() != -1 {
		return errors.New("must be a quantity of bytes such as 20Gi, or -1 for no bound")
	}
	*s = CacheSize(q.Value())
	return nil
}

// String implements pflag.Value.
func (s *CacheSize) String() string {
	if *s < 0 {
		return "-1"
	}
	return resource.NewQuantity(int64(*s), resource.BinarySI).String()
}

// Type implements pflag.Value.
func (s *CacheSize) Type() string { return "quantity" }

// Bytes is the bound as the store wants it: never 0, which would be the store's own default, and -1 for none.
func (s *CacheSize) Bytes() int64 {
	if *s == 0 {
		return 1
	}
	return int64(*s)
}

// Mirrors is a flag that may be repeated: the endpoints to ask before a registry, by its name.
type Mirrors map[string][]string

var _ pflag.Value = (*Mirrors)(nil)

// Set implements pflag.Value.
func (m *Mirrors) Set(text string) error {
	registry, endpoint, err := parseMirror(text)
	if err != nil {
		return err
	}
	if *m == nil {
		*m = Mirrors{}
	}
	(*m)[registry] = append((*m)[registry], endpoint)
	return nil
}

// String implements pflag.Value.
func (m *Mirrors) String() string {
	var all []string
	for registry, endpoints := range *m {
		for _, endpoint := range endpoints {
			all = append(all, fmt.Sprintf("%s=%s", registry, endpoint))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// Type implements pflag.Value.
func (m *Mirrors) Type() string { return "[REGISTRY=]URL" }
