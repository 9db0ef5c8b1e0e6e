// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kind lists the kinds of CronJob that Carillon serves. To add one, write an adapter in a folder of its own,
// let it pass the suite in kindtest, and add it to All; nothing registers itself. CONTRIBUTING.md has the steps.
package kind

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/batchv1"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/kind/tutorial"
	"github.com/carillon-dev/carillon/internal/kind/volcano"
)

// The words of the adapters, so that users need only this package.
type (
	Kind         = adapter.Kind
	Info         = adapter.Info
	Object       = adapter.Object
	CronJobPatch = adapter.CronJobPatch
	ReadOptions  = adapter.ReadOptions
	// Timetable is Carillon's own kind. It is none of the kinds of CronJob: it has a controller of its own among those
	// that users choose, and on a cluster it takes nothing over.
	Timetable = timetable.Kind
)

// All are the kinds of CronJob, in the order in which they are set up.
var All = []Kind{
	batchv1.Kind{},
	volcano.Kind{},
	tutorial.Kind{},
}

// Owners are everything that starts children by a schedule: the kinds of CronJob, and Timetable.
var Owners = append(slices.Clone(All), Timetable{})

// Default are the kinds that are served on a cluster when none are named: what else is installed there has a controller
// of its own, which is not to be taken over unasked.
var Default = []string{"batch"}

// Names are the words by which users choose kinds, sorted.
func Names() []string {
	var names []string
	for _, k := range All {
		names = append(names, k.Info().ShortName)
	}
	slices.Sort(names)
	return names
}

// Select gives the kinds of these names, each once, in the order of All.
func Select(names []string) ([]Kind, error) {
	var unknown []string
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			unknown = append(unknown, strconv.Quote(name))
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("no kind of CronJob is called %s; there are: %s", strings.Join(unknown, ", "), strings.Join(Names(), ", "))
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no kind of CronJob is named; there are: %s", strings.Join(Names(), ", "))
	}
	var kinds []Kind
	for _, k := range All {
		if slices.Contains(names, k.Info().ShortName) {
			kinds = append(kinds, k)
		}
	}
	return kinds, nil
}
