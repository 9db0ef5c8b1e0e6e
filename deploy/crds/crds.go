// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crds holds the CustomResourceDefinitions that Carillon ships, for the commands that need one where it is not
// installed.
package crds

import (
	"embed"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Find gives the definition of a resource and group ("cronjobs.batch.tutorial.kubebuilder.io") as YAML, and its file
// here, which is named GROUP_RESOURCE.yaml; false if there is none.
func Find(name string) (file string, definition []byte, found bool) {
	resource, group, _ := strings.Cut(name, ".")
	file = group + "_" + resource + ".yaml"
	definition, err := files.ReadFile(file)
	return file, definition, err == nil
}
