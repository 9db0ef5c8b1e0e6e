// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/duration"
)

// clock writes an instant in the zone of the answer, with its offset.
func (b *builder) clock(t time.Time) string { return clockIn(t, b.answer.zone) }

func clockIn(t time.Time, zone *time.Location) string {
	t = t.In(zone)
	layout := "2006-01-02 15:04 -07:00"
	if t.Second() != 0 {
		layout = "2006-01-02 15:04:05 -07:00"
	}
	text := t.Format(layout)
	if strings.HasSuffix(text, " +00:00") {
		return strings.TrimSuffix(text, " +00:00") + " UTC"
	}
	return text
}

// when writes an instant and how far away it is.
func (b *builder) when(t time.Time) string {
	return b.clock(t) + " (" + duration.FromNow(t, b.Now) + ")"
}

// firstLine is the first line of a message, without a full stop at its end.
func firstLine(message string) string {
	message, _, _ = strings.Cut(strings.TrimSpace(message), "\n")
	return strings.TrimRight(strings.TrimSpace(message), ".")
}

// listed joins the first of some names.
func listed(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
