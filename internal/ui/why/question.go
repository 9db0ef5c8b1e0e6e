// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"net/http"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// mostWritten is how long a time may be that somebody writes.
const mostWritten = 60

// page reads the question, and prepares what does not depend on the answer. zone is that of the viewer.
func (k *known) page(r *http.Request, zone *time.Location) *content {
	c := &content{
		Subject: k.subject, There: k.scheduled != nil, Absent: k.absent, Origin: k.origin, Zone: k.zone().String(), Yours: nameOf(zone, k.now),
		At: strings.TrimSpace(r.URL.Query().Get("at")), InYours: r.URL.Query().Get("zone") == "yours",
	}
	c.Same = alike(k.zone(), zone, k.now)
	c.InYours = c.InYours && !c.Same
	c.Recent, c.Without = recentOf(k), withoutOf(k)
	if c.At == "" {
		c.Chosen = true
		at := newestWithout(c.Recent, c.Without)
		if c.Present = at.IsZero(); !c.Present {
			c.At = at.UTC().Format(time.RFC3339)
		}
	}
	if c.Present {
		return c
	}
	at, err := k.parse(c.At, k.where(c, zone))
	switch {
	case len(c.At) > mostWritten:
		c.At, c.Fault = "", "That is too long for a time."
	case err != nil:
		c.Fault = paragraph.Sentence(err.Error())
	default:
		c.read = at
		c.At = written(c.At, at.From, k.where(c, zone), k.now)
	}
	return c
}

// where is the zone in which a time is read.
func (k *known) where(c *content, yours *time.Location) *time.Location {
	if c.InYours {
		return yours
	}
	return k.zone()
}

// parse reads a time in the language of carillon why --at.
func (k *known) parse(text string, zone *time.Location) (diagnosis.At, error) {
	return diagnosis.ParseAt(text, k.now, zone)
}

// written is a time of a link as people write it, if that names no other time; anything else as it was written.
func written(text string, at time.Time, zone *time.Location, now time.Time) string {
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		return text
	}
	local := at.In(zone).Format("2006-01-02 15:04")
	if at.Second() != 0 {
		local += at.In(zone).Format(":05")
	}
	if again, err := diagnosis.ParseAt(local, now, zone); err != nil || !again.From.Equal(at) || !again.Second.IsZero() {
		return text
	}
	return local
}

// alike tells whether clocks of two zones show the same now and in half a year.
func alike(a, b *time.Location, now time.Time) bool {
	for _, t := range []time.Time{now, now.AddDate(0, 6, 0)} {
		_, one := t.In(a).Zone()
		if _, other := t.In(b).Zone(); one != other {
			return false
		}
	}
	return true
}

// nameOf names the zone of the viewer.
func nameOf(zone *time.Location, now time.Time) string {
	return (&page.View{Zone: zone, Now: now}).ZoneName()
}
