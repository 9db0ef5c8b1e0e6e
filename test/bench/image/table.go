// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// results are the figures of one round: for each of the sides and each thing that was measured, one of each repetition.
type results struct {
	sides, things []string
	of            map[[2]string][]float64
}

func (r *results) add(side, thing string, value float64) {
	if r.of == nil {
		r.of = map[[2]string][]float64{}
	}
	if !slices.Contains(r.things, thing) {
		r.things = append(r.things, thing)
	}
	r.of[[2]string{side, thing}] = append(r.of[[2]string{side, thing}], value)
}

func (r *results) addTime(side, thing string, took time.Duration) {
	r.add(side, thing+", ms", float64(took.Microseconds())/1000)
}

// print shows medians, and in brackets the lowest and the highest.
func (r *results) print(out io.Writer, title string) error {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(table, "%s\t%s\n", title, strings.Join(r.things, "\t"))
	for _, side := range r.sides {
		cells := []string{side}
		for _, thing := range r.things {
			cells = append(cells, summary(r.of[[2]string{side, thing}]))
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	fmt.Fprintln(table)
	return table.Flush()
}

func summary(values []float64) string {
	if len(values) == 0 {
		return "–"
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := sorted[len(sorted)/2]
	if len(sorted)%2 == 0 {
		middle = (middle + sorted[len(sorted)/2-1]) / 2
	}
	return fmt.Sprintf("%s (%s–%s)", short(middle), short(sorted[0]), short(sorted[len(sorted)-1]))
}

func short(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
