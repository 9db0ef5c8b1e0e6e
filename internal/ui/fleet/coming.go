// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/forecast"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// How a forecast is made, as carillon forecast does without flags.
const (
	comingLength = 24 * time.Hour
	assumedRun   = 5 * time.Minute
	triedJitter  = 15 * time.Minute
	fullest      = 10
)

// coming is the forecast of the next 24 hours.
type coming struct {
	Forecast *forecast.Forecast
	Summary  forecast.Summary
	// Advised is what the forecast would write in the place of an object's schedule, where that makes the fullest minute
	// less full.
	Advised map[*workload.Scheduled]string
	// Known is how many schedules there are.
	Known int
}

// forecast makes it. It reads the journal for how long runs take, and no API server.
func (f *fleet) forecast(ctx context.Context, c choice) (*coming, error) {
	all, err := f.site.Cache.Schedules(ctx)
	if err != nil {
		return nil, err
	}
	var chosen []*workload.Scheduled
	var owners []types.UID
	for _, s := range all {
		if c.takes(s) {
			chosen = append(chosen, s)
			owners = append(owners, s.Owner.UID)
		}
	}
	options := forecast.Options{From: f.site.Clock().Add(time.Minute - time.Nanosecond).UTC().Truncate(time.Minute), Length: comingLength,
		Duration: assumedRun, Jitter: triedJitter, Top: fullest, Progress: func() bool { return ctx.Err() == nil }}
	if len(owners) > 0 {
		// Without it all durations are assumed, and starts are the same.
		if usual, err := f.site.Source.Usual(ctx, owners); err == nil {
			for _, s := range chosen {
				if u, ok := usual[s.Owner.UID]; ok && s.Owner.UID != "" {
					options.Runs = append(options.Runs, forecast.Run{Kind: s.Kind.Info().Owner.Kind, Namespace: s.Owner.Namespace, Name: s.Owner.Name, Took: u.Median})
				}
			}
		}
	}
	made := forecast.Of(chosen, options)
	if made == nil {
		return nil, context.Cause(ctx)
	}
	known := &coming{Forecast: made, Summary: made.Summary(), Known: len(chosen), Advised: map[*workload.Scheduled]string{}}
	for i := range made.Changes {
		if change := &made.Changes[i]; change.ID == forecast.ChangeHash && change.Helps(known.Summary) {
			for _, e := range change.Edits {
				known.Advised[e.Object] = e.To
			}
		}
	}
	return known, nil
}
