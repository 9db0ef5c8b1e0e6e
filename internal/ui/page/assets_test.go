// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

var assetLink = regexp.MustCompile(`"(/assets/[0-9a-f]+/([^"]+))"`)

// What a page refers to is served for ever under an address that has its sum, and under no other.
func TestAssets(t *testing.T) {
	s := uitest.Site(t, uitest.World{})
	_, body := uitest.Get(t, s, "/settings")
	types := map[string]string{"style.css": "text/css", "icon.svg": "image/svg+xml", "app.js": "text/javascript",
		"vendor/htmx.min.js": "text/javascript", "vendor/idiomorph-ext.min.js": "text/javascript"}
	for _, link := range assetLink.FindAllStringSubmatch(body, -1) {
		address, name := link[1], link[2]
		answer := ask(t, s, address, nil)
		kind := answer.Header.Get("Content-Type")
		if types[name] == "" || answer.StatusCode != http.StatusOK || !strings.HasPrefix(kind, types[name]) || !strings.Contains(answer.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d, %q, %v", address, answer.StatusCode, kind, answer.Header)
		}
		delete(types, name)
		content, err := os.ReadFile("assets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(content); !strings.Contains(address, "/"+hex.EncodeToString(sum[:6])+"/") {
			t.Errorf("%s is not under its sum %x", address, sum[:6])
		}
		wrong := strings.Replace(address, "/assets/", "/assets/0", 1)
		if answer := ask(t, s, wrong, nil); answer.StatusCode != http.StatusNotFound || strings.Contains(answer.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", wrong, answer.StatusCode, answer.Header)
		}
	}
	for name := range types {
		t.Errorf("the page does not refer to %s", name)
	}
	for _, address := range []string{"/assets/x/style.css", "/assets//style.css", "/assets/000000000000/nothing.js", "/assets/000000000000/..%2Fpage.go", "/assets/000000000000/vendor/README.md", "/assets/000000000000/"} {
		if answer := ask(t, s, address, nil); answer.StatusCode >= http.StatusInternalServerError || answer.StatusCode == http.StatusOK {
			t.Errorf("%s: %d", address, answer.StatusCode)
		}
	}
}
