// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package timetable holds what an API server needs beside the definitions of deploy/crds to serve Timetables safely,
// for an API server that is Carillon's own. On other clusters people apply the same files.
package timetable

import (
	_ "embed"

	"github.com/carillon-dev/carillon/deploy/crds"
)

var (
	//go:embed admission.yaml
	admission []byte
	//go:embed users.yaml
	users []byte
)

// Manifests gives, as YAML and in the order in which they are to be applied: the definitions of Timetable and Calendar,
// the admission policy that compares a Timetable with the rights of its author, and the roles of users. The roles of a
// manager are not among them.
func Manifests() [][]byte {
	var all [][]byte
	for _, name := range []string{"timetables.batch.carillon.dev", "calendars.batch.carillon.dev"} {
		if _, definition, found := crds.Find(name); found {
			all = append(all, definition)
		}
	}
	return append(all, admission, users)
}
