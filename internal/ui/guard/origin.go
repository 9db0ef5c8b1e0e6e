// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"net/http"
	"net/url"
	"strings"
)

// changes tells whether a request is of those that may change something.
func changes(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// checkMethod lets through what pages and forms send.
func checkMethod(r *http.Request) *refusal {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if r.ContentLength != 0 {
			return &refusal{http.StatusBadRequest, "Not understood", "A request that only reads has no body.", ""}
		}
		return nil
	case http.MethodPost:
		return nil
	}
	return &refusal{http.StatusMethodNotAllowed, "Not served", "The page knows GET, HEAD and POST.", ""}
}

// checkOrigin refuses what pages of other sites have a browser send. For a browser another port of this machine is the
// same site, whose requests have our cookie; so that counts as another one here. Only a link may come from elsewhere:
// it opens a page in a window of its own, which the other site cannot look into.
func checkOrigin(r *http.Request) *refusal {
	site := r.Header.Get("Sec-Fetch-Site")
	elsewhere := &refusal{http.StatusForbidden, "Not done", "Another site has sent this request.", "Open the page itself."}
	if !changes(r) {
		dest := r.Header.Get("Sec-Fetch-Dest")
		if (site == "cross-site" || site == "same-site") && (r.Header.Get("Sec-Fetch-Mode") != "navigate" || dest != "document" && dest != "") {
			return elsewhere
		}
		return nil
	}
	if site != "" && site != "same-origin" && site != "none" {
		return elsewhere
	}
	if origins := r.Header.Values("Origin"); len(origins) > 0 {
		u, err := url.Parse(origins[0])
		if err != nil || len(origins) > 1 || u.Scheme != "http" && u.Scheme != "https" || !strings.EqualFold(u.Host, r.Host) {
			return elsewhere
		}
		if r.TLS != nil && u.Scheme != "https" {
			return elsewhere
		}
	}
	return nil
}

// readsPages tells whether a person reads the answer, not a program or a script.
func readsPages(r *http.Request) bool {
	mode := r.Header.Get("Sec-Fetch-Mode")
	return strings.Contains(r.Header.Get("Accept"), "text/html") && r.Header.Get("HX-Request") == "" && (mode == "" || mode == "navigate")
}
