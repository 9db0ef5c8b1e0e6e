// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// SummaryDocument is a summary for programs. docs/history.md has its fields.
type SummaryDocument struct {
	Runs      int `json:"runs"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
	Unknown   int `json:"unknown"`
	Active    int `json:"active"`
	// Tries counts each try of a scheduled time, Retries the runs that needed more than one.
	Tries int `json:"tries"`
	// SuccessRate is left out where no run succeeded or failed.
	SuccessRate *float64 `json:"successRate,omitempty"`
	Missed      int64    `json:"missed"`
	Skipped     int64    `json:"skipped"`
	// Durations is left out where none is known, Trend where there is none.
	Durations       *DurationsDocument `json:"durations,omitempty"`
	Trend           *TrendDocument     `json:"trend,omitempty"`
	FailureReasons  []ReasonDocument   `json:"failureReasons"`
	Late            int                `json:"late"`
	LatestSeconds   float64            `json:"latestSeconds"`
	Retries         int                `json:"retries"`
	Restarted       int                `json:"restarted"`
	MemoryPeakBytes *int64             `json:"memoryPeakBytes,omitempty"`
	CPUSeconds      *float64           `json:"cpuSeconds,omitempty"`
	OutputBytes     *int64             `json:"outputBytes,omitempty"`
}

// DurationsDocument is Durations for programs.
type DurationsDocument struct {
	Runs int `json:"runs"`
	// Of says which runs they are of: "Succeeded", or "Ended" where none succeeded.
	Of                  string    `json:"of"`
	MedianSeconds       float64   `json:"medianSeconds"`
	Percentile95Seconds float64   `json:"percentile95Seconds"`
	ShortestSeconds     float64   `json:"shortestSeconds"`
	LongestSeconds      float64   `json:"longestSeconds"`
	LongestTime         time.Time `json:"longestTime"`
}

// TrendDocument is Trend for programs.
type TrendDocument struct {
	BeforeSeconds float64 `json:"beforeSeconds"`
	NowSeconds    float64 `json:"nowSeconds"`
	SpanSeconds   float64 `json:"spanSeconds"`
	// Change is 0.35 for 35 % longer.
	Change float64 `json:"change"`
}

// ReasonDocument is Reason for programs.
type ReasonDocument struct {
	Reason   string `json:"reason"`
	ExitCode *int32 `json:"exitCode,omitempty"`
	Runs     int    `json:"runs"`
}

// LineDocument is a Line for programs.
type LineDocument struct {
	Namespace string           `json:"namespace"`
	Kind      string           `json:"kind"`
	Name      string           `json:"name"`
	Summary   SummaryDocument  `json:"summary"`
	Newest    *run.RunDocument `json:"newest,omitempty"`
}

// Document is the summary for programs.
func (s *Summary) Document() SummaryDocument {
	d := SummaryDocument{
		Runs: s.Runs, Succeeded: s.Succeeded, Failed: s.Failed, Cancelled: s.Cancelled, Unknown: s.Unknown, Active: s.Active, Tries: s.Tries,
		Missed: s.Missed, Skipped: s.Skipped, FailureReasons: []ReasonDocument{}, Late: s.Late, LatestSeconds: s.Latest.Seconds(),
		Retries: s.Retries, Restarted: s.Restarted, MemoryPeakBytes: positive(s.MemoryPeak), OutputBytes: positive(s.OutputBytes),
	}
	if rate, ok := s.SuccessRate(); ok {
		d.SuccessRate = &rate
	}
	if s.CPU > 0 {
		d.CPUSeconds = new(s.CPU.Seconds())
	}
	if s.Took.Runs > 0 {
		of := "Succeeded"
		if s.AllEnded {
			of = "Ended"
		}
		d.Durations = &DurationsDocument{
			Runs: s.Took.Runs, Of: of, MedianSeconds: s.Took.Median.Seconds(), Percentile95Seconds: s.Took.Percentile95.Seconds(),
			ShortestSeconds: s.Took.Shortest.Seconds(), LongestSeconds: s.Took.Longest.Seconds(), LongestTime: s.Took.LongestAt.UTC(),
		}
	}
	if t := s.Trend; t != nil {
		d.Trend = &TrendDocument{BeforeSeconds: t.Before.Seconds(), NowSeconds: t.Now.Seconds(), SpanSeconds: t.Span.Seconds(), Change: t.Change()}
	}
	for _, r := range s.Reasons {
		d.FailureReasons = append(d.FailureReasons, ReasonDocument(r))
	}
	return d
}

// Document is the line for programs, at that time.
func (l *Line) Document(now time.Time) LineDocument {
	d := LineDocument{Namespace: l.Namespace, Kind: l.Kind, Name: l.Name, Summary: l.Summary.Document()}
	if l.Newest != nil {
		d.Newest = new(run.Document(*l.Newest, now))
	}
	return d
}

func positive(n int64) *int64 {
	if n <= 0 {
		return nil
	}
	return &n
}
