// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed assets
var embedded embed.FS

// asset is a file that pages refer to, by an address that changes with its content, so that browsers keep it for ever.
type asset struct {
	content []byte
	sum     string
}

// assets are all of them by name: those of this package, and those that pages add.
var assets = func() map[string]asset {
	all := map[string]asset{}
	err := fs.WalkDir(embedded, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".LICENSE") {
			return err
		}
		content, err := embedded.ReadFile(name)
		if err == nil {
			all[strings.TrimPrefix(name, "assets/")] = newAsset(content)
		}
		return err
	})
	if err != nil {
		panic(err) // it is part of the program
	}
	return all
}()

func newAsset(content []byte) asset {
	sum := sha256.Sum256(content)
	return asset{content, hex.EncodeToString(sum[:6])}
}

// AddAssets makes the files of a page available under their base names ("fleet.js"). It is for variables of packages.
func AddAssets(files fs.FS, names ...string) struct{} {
	for _, name := range names {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err) // it is part of the program
		}
		if _, taken := assets[path.Base(name)]; taken {
			panic("two assets are called " + name)
		}
		assets[path.Base(name)] = newAsset(content)
	}
	return struct{}{}
}

func assetURL(name string) (string, error) {
	a, ok := assets[name]
	if !ok {
		return "", fmt.Errorf("there is no asset %s", name)
	}
	return "/assets/" + a.sum + "/" + name, nil
}

// assets serves them. They hold nothing secret, and the page that asks for the token needs them.
func (s *Site) assets() {
	s.Handle("GET /assets/{sum}/{name...}", func(w http.ResponseWriter, r *http.Request) error {
		a, ok := assets[r.PathValue("name")]
		if !ok || a.sum != r.PathValue("sum") {
			return NotFound("There is no such file.")
		}
		w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(r.PathValue("name"))))
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		_, _ = w.Write(a.content) // a viewer who has gone sees nothing
		return nil
	})
}

// icon is a small picture beside words; readers of screens skip it.
func icon(name string) template.HTML {
	shape, ok := icons[name]
	if !ok {
		shape = icons["question"]
	}
	return template.HTML(`<svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">` + shape + `</svg>`)
}

// icons are drawn with lines of the colour of the text, on a grid of 16.
var icons = map[string]string{
	"check":    `<path d="M3 8.5l3.2 3.2L13 4.8"/>`,
	"cross":    `<path d="M4 4l8 8M12 4l-8 8"/>`,
	"play":     `<path d="M5 3.5v9l7-4.5z"/>`,
	"pause":    `<path d="M5.5 3.5v9M10.5 3.5v9"/>`,
	"stop":     `<path d="M4.5 4.5h7v7h-7z"/>`,
	"clock":    `<circle cx="8" cy="8" r="5.5"/><path d="M8 5v3.2l2 1.3"/>`,
	"retry":    `<path d="M12.5 8a4.5 4.5 0 1 1-1.4-3.2M12.5 2.5v3h-3"/>`,
	"question": `<path d="M6 6a2 2 0 1 1 2.6 1.9c-.4.2-.6.5-.6 1V9.500M8 12v.2"/>`,
	"warning":  `<path d="M8 2.8l5.8 10.400H2.200zM8 6.800v3M8 11.600v.1"/>`,
	"skip":     `<path d="M3.500 4v8l5-4zM8.500 4v8l5-4z"/>`,
	"search":   `<circle cx="7" cy="7" r="4"/><path d="M10 10l3.500 3.500"/>`,
	"download": `<path d="M8 3v7M5 7.500l3 3 3-3M3.500 13h9"/>`,
	"edit":     `<path d="M3 13l.7-3L10.500 3.200l2.300 2.300L6 12.300z"/>`,
	"trash":    `<path d="M3.500 4.500h9M6.500 4.500v-1.500h3v1.500M5 4.500l.5 8.500h5l.5-8.500"/>`,
	"gear":     `<circle cx="8" cy="8" r="2"/><path d="M8 2v2M8 12v2M2 8h2M12 8h2M3.800 3.800l1.400 1.400M10.800 10.800l1.400 1.400M12.200 3.800l-1.400 1.400M5.200 10.800l-1.400 1.400"/>`,
	"calendar": `<path d="M3 4h10v9H3zM3 7h10M6 2.500V5M10 2.500V5"/>`,
	"next":     `<path d="M6 3.500L10.500 8 6 12.500"/>`,
	"previous": `<path d="M10 3.500L5.500 8l4.500 4.500"/>`,
}
