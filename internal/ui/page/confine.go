// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
)

// The longest names of the API.
const (
	longestNamespace = 63
	longestName      = 253
)

// confine refuses an address that names an object which cannot be, or a namespace that is not shown.
func (s *Site) confine(r *http.Request) error {
	query := r.URL.Query()
	namespaces := []string{r.PathValue("namespace")}
	names := []string{}
	if !strings.HasPrefix(r.Pattern, "GET /assets/") {
		names = append(names, r.PathValue("name"))
	}
	filters := query["namespace"]
	if query.Has("name") { // the address of an act; elsewhere it is what a list is looked through for
		namespaces, names = append(namespaces, filters...), append(names, query["name"]...)
	}
	for _, of := range query["of"] { // KIND/NAMESPACE/NAME
		if parts := strings.SplitN(of, "/", 3); len(parts) == 3 {
			filters = append(filters, parts[1])
		}
	}
	for _, namespace := range namespaces {
		if len(namespace) > longestNamespace || len(content.IsPathSegmentName(namespace)) > 0 {
			return NotFound("No namespace can have this name.")
		}
	}
	for _, name := range names {
		if len(name) > longestName || len(content.IsPathSegmentName(name)) > 0 {
			return NotFound("No object can have this name.")
		}
	}
	for _, namespace := range append(namespaces, filters...) {
		namespace = strings.TrimSpace(namespace)
		if s.Namespace != "" && namespace != "" && namespace != s.Namespace {
			return NotFound("This page shows the namespace %s only.", s.Namespace)
		}
	}
	return nil
}
