// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/carillon-dev/carillon/internal/ui/terminal"
)

// checkHostile checks what a page has made of it.
func checkHostile(t *testing.T, target string, header http.Header, body string) {
	t.Helper()
	target = target[:min(len(target), 200)]
	for key, values := range header {
		if strings.ContainsFunc(strings.Join(values, ""), terminal.Hides) {
			t.Errorf("%s: the header %s is %q", target, key, values)
		}
	}
	kind, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	if len(body) > sane {
		t.Errorf("%s has %d bytes", target, len(body))
	}
	switch kind {
	case "text/html":
	case "text/plain": // an output, as it was written
		if header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: a browser may take it for something else", target)
		}
		return
	default:
		if !utf8.ValidString(body) {
			t.Errorf("%s is no UTF-8", target)
		}
		return
	}
	if !utf8.ValidString(body) {
		t.Errorf("%s is no UTF-8", target)
	}
	document := html.NewTokenizer(strings.NewReader(body))
	inside := ""
	for {
		switch document.Next() {
		case html.ErrorToken:
			if err := document.Err(); !errors.Is(err, io.EOF) {
				t.Errorf("%s cannot be read: %v", target, err)
			}
			return
		case html.TextToken:
			text := string(document.Text())
			if inside != "textarea" {
				checkSeen(t, target, text)
			}
			if inside == "script" && strings.TrimSpace(text) != "" {
				t.Errorf("%s has the script %.100q", target, text)
			}
		case html.CommentToken:
			t.Errorf("%s has the comment %.100q", target, document.Token().Data)
		case html.EndTagToken:
			inside = ""
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := document.Token()
			inside = tag.Data
			checkTag(t, target, &tag)
		default:
		}
	}
}

// checkTag checks that a tag is one of the page.
func checkTag(t *testing.T, target string, tag *html.Token) {
	t.Helper()
	if slices.Contains([]string{"style", "iframe", "object", "embed", "base", "img"}, tag.Data) {
		t.Errorf("%s has %.200s", target, tag)
	}
	for _, a := range tag.Attr {
		lower := strings.ToLower(strings.TrimSpace(a.Val))
		switch {
		case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc", a.Key == "zz", strings.ContainsAny(a.Key, `"'<>`):
			t.Errorf("%s has %.200s", target, tag)
		case slices.Contains([]string{"href", "src", "action", "formaction", "data", "poster"}, a.Key):
			if !strings.HasPrefix(lower, "/") && !strings.HasPrefix(lower, "#") && !strings.HasPrefix(lower, "?") || strings.HasPrefix(lower, "//") {
				t.Errorf("%s has %.200s", target, tag)
			}
		case tag.Data == "script" && a.Key == "src" && !strings.HasPrefix(lower, "/assets/"):
			t.Errorf("%s has %.200s", target, tag)
		}
		if a.Key != "value" && a.Key != "name" { // these go back as they are
			checkSeen(t, target, a.Val)
		}
	}
}

// checkSeen checks that nothing in a text hides.
func checkSeen(t *testing.T, target, text string) {
	t.Helper()
	if at := strings.IndexFunc(text, terminal.Hides); at >= 0 {
		t.Errorf("%s shows %.60q, of which something is not seen", target, text[at:])
	}
}
