// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// functions are those of all templates that need no View.
var functions = template.FuncMap{
	"bytes":    quantity.Bytes,
	"grouped":  func(n int) string { return quantity.Grouped(n) },
	"count":    quantity.CountGrouped,
	"duration": duration.Short,
	"asset":    func(name string) (string, error) { return assetURL(name) },
	"icon":     icon,
	"outcome":  OutcomeOf,
	"ending":   endingOf,
	"dict":     dict,
	"left":     func() string { return run.LeftWords },
}

// dict gives a template more than one value.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict needs pairs, and has %d values", len(pairs))
	}
	d := make(map[string]any, len(pairs)/2)
	for n := 0; n < len(pairs); n += 2 {
		key, ok := pairs[n].(string)
		if !ok {
			return nil, fmt.Errorf("%v is no key", pairs[n])
		}
		d[key] = pairs[n+1]
	}
	return d, nil
}

// Outcome is how a run stands, as a badge shows it.
type Outcome struct {
	// Class is that of the style sheet: "succeeded", "failed", "active", "waiting", "cancelled", "unknown".
	Class, Icon, Text string
}

// OutcomeOf gives the badge of a run.
func OutcomeOf(r *run.Run) Outcome {
	switch {
	case r.Outcome == run.Succeeded:
		return Outcome{"succeeded", "check", "succeeded"}
	case r.Outcome == run.Failed && r.Retrying:
		return Outcome{"waiting", "retry", "failed, tried again"}
	case r.Outcome == run.Failed:
		return Outcome{"failed", "cross", "failed"}
	case r.Outcome == run.Cancelled:
		return Outcome{"cancelled", "stop", "cancelled"}
	case r.Outcome == run.Unknown:
		return Outcome{"unknown", "question", "unknown"}
	case r.Left:
		return Outcome{"unknown", "question", run.LeftWords}
	case r.Suspended:
		return Outcome{"waiting", "pause", "suspended"}
	case r.Started.IsZero():
		return Outcome{"waiting", "clock", "waiting"}
	}
	return Outcome{"active", "play", "running"}
}

// Ending says why a run did not succeed, in words: "its Pods failed more often than spec.backoffLimit allows"; "" if
// nobody told. told is what its object says itself, "BackoffLimitExceeded: …"; "" if it says nothing. Both are "" of
// one that succeeded.
func Ending(r *run.Run) (words, told string) {
	if r.Outcome == run.Succeeded {
		return "", ""
	}
	told = strings.Join(slices.DeleteFunc([]string{r.Reason, r.Message}, func(s string) bool { return s == "" }), ": ")
	return strings.TrimSuffix(cmp.Or(diagnosis.FailureWords(r.Reason), r.Message, r.Reason), "."), told
}

// endingOf is Ending for templates.
func endingOf(r *run.Run) map[string]string {
	words, told := Ending(r)
	return map[string]string{"Words": words, "Told": told}
}

// Time writes a time in the zone of the viewer, as short as it is clear on this day; the whole of it appears when one
// points at it. A zero time is a dash.
func (v *View) Time(t time.Time) template.HTML { return v.TimeIn(t, v.Zone) }

// TimeIn writes a time in another zone.
func (v *View) TimeIn(t time.Time, zone *time.Location) template.HTML {
	if t.IsZero() {
		return `<span class="none">–</span>`
	}
	return v.element(t, zone, v.Short(t, zone))
}

// Full writes a time with its date, seconds and zone.
func (v *View) Full(t time.Time) template.HTML {
	if t.IsZero() {
		return `<span class="none">–</span>`
	}
	return v.element(t, v.Zone, t.In(v.Zone).Format("Mon 2 Jan 2006 15:04:05 MST"))
}

// Relative writes a time as its distance from now: "in 5m", "2h ago".
func (v *View) Relative(t time.Time) template.HTML {
	if t.IsZero() {
		return `<span class="none">–</span>`
	}
	return v.element(t, v.Zone, duration.FromNow(t, v.Now))
}

func (v *View) element(t time.Time, zone *time.Location, text string) template.HTML {
	local := t.In(zone)
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, t.UTC().Format(time.RFC3339),
		template.HTMLEscapeString(local.Format("Mon 2 Jan 2006 15:04:05 MST")+" ("+zone.String()+")"), template.HTMLEscapeString(text)))
}

// Short gives a time as text: the hour alone if it is of this day, the weekday if it is near.
func (v *View) Short(t time.Time, zone *time.Location) string {
	local, now := t.In(zone), v.Now.In(zone)
	clock := "15:04"
	if local.Second() != 0 {
		clock = "15:04:05"
	}
	switch days := local.Sub(now).Hours() / 24; {
	case local.YearDay() == now.YearDay() && local.Year() == now.Year():
		return local.Format(clock)
	case days > -6 && days < 6:
		return local.Format("Mon " + clock)
	case local.Year() == now.Year():
		return local.Format("2 Jan " + clock)
	}
	return local.Format("2 Jan 2006 " + clock)
}
