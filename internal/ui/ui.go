// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ui is the page: what carillon ui serves to a browser. It reads the API server and the journal with the rights
// of the user who started it, and acts with these.
//
//   - ui.go          Handler: all pages together
//   - server.go      Server: the pages behind the guard, at an address
//   - listen.go      which address that may be
//   - certificate.go its certificate, if other machines may come
//   - opener.go      what the pages look at, opened again when a Carillon is stopped or started
//   - announce.go    where the page of a Carillon that runs can be found
//   - browser.go     opening it in a browser
//   - events.go      telling open pages that something has changed
//   - guard/         who may see and change anything
//   - login/         what a viewer sees who may not
//   - cache/         what is known at once: the schedules, and what goes on
//   - page/          what all pages share: layout, words, addresses, assets
//   - now/           what runs, failed, was missed, is paused and is due
//   - timeline/      schedules as rows, time as columns
//   - fleet/         all schedules together: herds, rates, durations, a calendar
//   - schedules/     all schedules as a list
//   - schedule/      one schedule
//   - why/           what became of a time of a schedule, and why
//   - run/           one run, and its output
//   - act/           what a user can do, each with a page that says what will happen
//   - simulate/      trying an expression
//   - terminal/      what terminals make of output: colours, and signs that nobody sees
//   - uitest/        a site of known objects and runs, for tests
package ui

import (
	"context"
	"net/http"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/ui/act"
	"github.com/carillon-dev/carillon/internal/ui/fleet"
	"github.com/carillon-dev/carillon/internal/ui/now"
	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/run"
	"github.com/carillon-dev/carillon/internal/ui/schedule"
	"github.com/carillon-dev/carillon/internal/ui/schedules"
	"github.com/carillon-dev/carillon/internal/ui/simulate"
	"github.com/carillon-dev/carillon/internal/ui/timeline"
	"github.com/carillon-dev/carillon/internal/ui/why"
)

// Handler gives all pages of a site. ctx ends what goes on beside requests; s.Beside waits for it.
func Handler(ctx context.Context, s *page.Site) http.Handler {
	s.Life = ctx
	s.Source = lookup.Confined(s.Source, s.Namespace)
	page.New(s)
	now.Register(s)
	timeline.Register(s)
	fleet.Register(s)
	schedule.Register(s)
	why.Register(s)
	schedules.Register(s)
	run.Register(s)
	simulate.Register(s)
	act.Register(s)
	s.Handle("GET /events", events(ctx, s))
	s.Handle("/", func(http.ResponseWriter, *http.Request) error {
		return page.NotFound("There is no such page.")
	})
	return s
}
