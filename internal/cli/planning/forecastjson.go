// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"time"

	"github.com/carillon-dev/carillon/internal/plan/forecast"
)

// forecastDocument is what forecast writes with -o json.
type forecastDocument struct {
	document
	From    time.Time       `json:"from"`
	To      time.Time       `json:"to"`
	Zone    string          `json:"zone"`
	Objects forecastObjects `json:"objects"`
	Summary forecastSummary `json:"summary"`
	// Durations tell where those of runs come from, in objects.
	Durations forecastDurations `json:"durations"`
	// StartsPerMinute and RunningPerMinute have one number for each minute from From on.
	StartsPerMinute  []int64          `json:"startsPerMinute"`
	RunningPerMinute []int64          `json:"runningPerMinute"`
	WorstMinutes     []forecastMinute `json:"worstMinutes"`
	Changes          []forecastChange `json:"changes"`
}

type forecastObjects struct {
	Counted        int               `json:"counted"`
	Idle           int               `json:"idle"`
	Suspended      int               `json:"suspended"`
	SuspendedUntil int               `json:"suspendedUntil"`
	WithoutZone    int               `json:"withoutZone"`
	Unanchored     int               `json:"unanchored"`
	LeftOut        []forecastLeftOut `json:"leftOut"`
}

type forecastLeftOut struct {
	forecastObject
	Message string `json:"message"`
}

type forecastObject struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Source    string `json:"source,omitempty"`
}

type forecastSummary struct {
	Starts        int64        `json:"starts"`
	MeanPerMinute float64      `json:"meanPerMinute"`
	PeakToMean    float64      `json:"peakToMean"`
	EmptyMinutes  int          `json:"emptyMinutes"`
	Peak          forecastPeak `json:"peak"`
	PeakRunning   forecastPeak `json:"peakRunning"`
}

type forecastPeak struct {
	Time   time.Time `json:"time"`
	Number int64     `json:"number"`
}

type forecastDurations struct {
	Measured       int     `json:"measured"`
	Deadline       int     `json:"deadline"`
	Assumed        int     `json:"assumed"`
	AssumedSeconds float64 `json:"assumedSeconds"`
}

type forecastMinute struct {
	Time    time.Time       `json:"time"`
	Starts  int64           `json:"starts"`
	Running int64           `json:"running"`
	By      []forecastMaker `json:"by"`
}

type forecastMaker struct {
	Schedule string `json:"schedule"`
	Objects  int    `json:"objects"`
	Starts   int64  `json:"starts"`
	// Names are the first of them.
	Names []string `json:"names"`
}

type forecastChange struct {
	ID            string         `json:"id"`
	Helps         bool           `json:"helps"`
	Objects       int            `json:"objects"`
	CronJobs      int            `json:"cronJobs"`
	JitterSeconds float64        `json:"jitterSeconds,omitempty"`
	Schedule      string         `json:"schedule,omitempty"`
	Minute        string         `json:"minute,omitempty"`
	Peak          forecastPeak   `json:"peak"`
	PeakRunning   forecastPeak   `json:"peakRunning"`
	Edits         []forecastEdit `json:"edits"`
}

type forecastEdit struct {
	forecastObject
	From string `json:"from"`
	To   string `json:"to"`
}

// mostNames is how many names a maker has in JSON.
const mostNames = 100

func (c *forecastCommand) document(made *forecast.Forecast, options forecast.Options, zone *time.Location) forecastDocument {
	s, o := made.Summary(), made.Objects
	peak := func(p forecast.Peak) forecastPeak { return forecastPeak{p.At.In(zone), p.Number} }
	d := forecastDocument{
		document: newDocument("Forecast"), From: made.From.In(zone), To: made.Until().In(zone), Zone: zone.String(),
		Objects: forecastObjects{Counted: o.Counted, Idle: o.Idle, Suspended: o.Suspended, SuspendedUntil: o.SuspendedUntil,
			WithoutZone: o.WithoutZone, Unanchored: o.Unanchored, LeftOut: []forecastLeftOut{}},
		Summary: forecastSummary{Starts: s.Total, MeanPerMinute: s.Mean, PeakToMean: peakToMean(s), EmptyMinutes: s.Empty,
			Peak: peak(s.Starts), PeakRunning: peak(s.Running)},
		Durations:       forecastDurations{made.Durations.Measured, made.Durations.Deadline, made.Durations.Assumed, options.Duration.Seconds()},
		StartsPerMinute: made.Starts, RunningPerMinute: made.Running, WorstMinutes: []forecastMinute{}, Changes: []forecastChange{},
	}
	for _, l := range o.LeftOut {
		d.Objects.LeftOut = append(d.Objects.LeftOut, forecastLeftOut{forecastObjectOf(l.Object), l.Why})
	}
	for _, w := range made.Worst {
		minute := forecastMinute{Time: w.At.In(zone), Starts: w.Starts, Running: w.Running, By: []forecastMaker{}}
		for _, m := range w.By {
			minute.By = append(minute.By, forecastMaker{m.Schedule, m.Objects, m.Starts, m.Names[:min(len(m.Names), mostNames)]})
		}
		d.WorstMinutes = append(d.WorstMinutes, minute)
	}
	for _, change := range made.Changes {
		j := forecastChange{ID: string(change.ID), Helps: change.Helps(s), Objects: change.Objects, CronJobs: change.CronJobs,
			Schedule: change.Schedule, Minute: change.Minute, Peak: peak(change.Starts), PeakRunning: peak(change.Running), Edits: []forecastEdit{}}
		if change.ID == forecast.ChangeJitter {
			j.JitterSeconds = options.Jitter.Seconds()
		}
		for _, e := range change.Edits {
			j.Edits = append(j.Edits, forecastEdit{forecastObjectOf(e.Object), e.From, e.To})
		}
		d.Changes = append(d.Changes, j)
	}
	return d
}

// peakToMean is how many times the mean the fullest minute has; 0 where there are no starts.
func peakToMean(s forecast.Summary) float64 {
	if s.Total == 0 {
		return 0
	}
	return float64(s.Starts.Number) / s.Mean
}
