// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package images

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/image"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// document is an image for programs. The names of its fields are a promise.
type document struct {
	ID       string       `json:"id"`
	Names    []string     `json:"names"`
	Digests  []string     `json:"digests"`
	Size     int64        `json:"size"` // in bytes
	Pulled   time.Time    `json:"pulled"`
	LastUsed time.Time    `json:"lastUsed"`
	Config   image.Config `json:"config"`
}

func (c *commands) encode(img image.Image) error {
	doc := document{ID: img.ID, Names: img.Names, Digests: img.Digests, Size: img.Size, Pulled: img.Pulled, LastUsed: img.LastUsed, Config: img.Config}
	if doc.Names == nil {
		doc.Names = []string{}
	}
	if doc.Digests == nil {
		doc.Digests = []string{}
	}
	return json.NewEncoder(c.Out).Encode(doc)
}

// tell says in a line what was done with an image, by the name that the user knows.
func (c *commands) tell(img image.Image, name, verb string) error {
	switch {
	case c.quiet:
		return nil
	case c.format == console.JSON:
		return c.encode(img)
	}
	_, err := fmt.Fprintf(c.Out, "%s  %s  %s  %s\n", console.EscapeControls(name), verb, quantity.Bytes(img.Size), shortID(img.ID))
	return err
}

// shortID is enough of an ID to find the image by.
func shortID(id string) string {
	const enough = 12
	_, hex, ok := strings.Cut(id, ":")
	if !ok {
		hex = id
	}
	return hex[:min(enough, len(hex))]
}

// titles are the names of an image as people write them; those without a tag have one by a digest, and the others their
// ID.
func titles(img image.Image) []string {
	if len(img.Names) == 0 && len(img.Digests) > 0 {
		return []string{short(img.Digests[0])}
	}
	if len(img.Names) == 0 {
		return []string{shortID(img.ID)}
	}
	var all []string
	for _, name := range img.Names {
		all = append(all, short(name))
	}
	return all
}

func short(name string) string {
	parsed, err := image.ParseName(name)
	if err != nil {
		return name
	}
	return parsed.Short()
}
