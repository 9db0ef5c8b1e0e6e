// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package upcoming

import "time"

// A Document is a List for programs. What there is none of is left out, but for lists.
type Document struct {
	Name            string   `json:"name"`
	Namespace       string   `json:"namespace,omitempty"`
	Source          string   `json:"source,omitempty"`
	Language        Language `json:"language"`
	Schedules       []string `json:"schedules"`
	TimeZone        string   `json:"timeZone,omitempty"`
	TimeZoneAssumed bool     `json:"timeZoneAssumed"`
	EverySeconds    float64  `json:"everySeconds,omitempty"`
	JitterSeconds   float64  `json:"jitterSeconds,omitempty"`
	// JitterOffsetSeconds is by how much jitter puts off the starts of this Timetable.
	JitterOffsetSeconds float64           `json:"jitterOffsetSeconds,omitempty"`
	NotBefore           *time.Time        `json:"notBefore,omitempty"`
	NotAfter            *time.Time        `json:"notAfter,omitempty"`
	Suspended           bool              `json:"suspended"`
	SuspendedUntil      *time.Time        `json:"suspendedUntil,omitempty"`
	Paused              bool              `json:"paused"`
	Notes               []string          `json:"notes"`
	Obstacle            string            `json:"obstacle,omitempty"`
	Times               []TimeDocument    `json:"times"`
	Omitted             []OmittedDocument `json:"omitted"`
	End                 End               `json:"end,omitempty"`
	LastTime            *time.Time        `json:"lastTime,omitempty"`
}

// A TimeDocument is a Time for programs.
type TimeDocument struct {
	Time            time.Time  `json:"time"`
	UTC             time.Time  `json:"utc"`
	DistanceSeconds float64    `json:"distanceSeconds"`
	Schedules       []string   `json:"schedules"`
	PlannedStart    *time.Time `json:"plannedStart,omitempty"`
	ShiftedFrom     *WallSpan  `json:"shiftedFrom,omitempty"`
	Twice           Showing    `json:"twice,omitempty"`
	OtherOmitted    bool       `json:"otherOmitted"`
	Suspended       bool       `json:"suspended"`
}

// A WallSpan is some wall clock times, which have no offset from UTC.
type WallSpan struct {
	First string `json:"first"`
	Last  string `json:"last"`
	Count int    `json:"count"`
}

// An OmittedDocument is an Omission for programs. First and last are wall clock times if the reason is Gap, otherwise
// instants.
type OmittedDocument struct {
	Reason    Reason              `json:"reason"`
	First     string              `json:"first"`
	Last      string              `json:"last"`
	Count     int                 `json:"count"`
	By        []ExclusionDocument `json:"by"`
	Schedules []string            `json:"schedules"`
}

// An ExclusionDocument is an Exclusion for programs.
type ExclusionDocument struct {
	Period   string `json:"period"`
	Calendar string `json:"calendar,omitempty"`
	Name     string `json:"name,omitempty"`
}

const wallLayout = "2006-01-02T15:04:05"

// Document gives the list for programs. Distances are from now.
func (l *List) Document(now time.Time) Document {
	s := l.Source
	d := Document{
		Name: s.Title, Namespace: s.Namespace, Source: s.Written, Language: s.Language, Schedules: orEmpty(s.Schedules),
		TimeZone: s.ZoneName, TimeZoneAssumed: s.ZoneAssumed, EverySeconds: s.Every.Seconds(), JitterSeconds: s.Jitter.Seconds(), JitterOffsetSeconds: s.offset.Seconds(),
		NotBefore: unlessZero(s.NotBefore), NotAfter: unlessZero(s.NotAfter), Suspended: s.Suspended, SuspendedUntil: unlessZero(s.SuspendedUntil),
		Paused: s.Paused, Notes: orEmpty(s.remarks(now)), Obstacle: s.Obstacle, Times: []TimeDocument{}, Omitted: []OmittedDocument{}, End: l.End,
		LastTime: unlessZero(l.Last),
	}
	if !s.SuspendedUntil.After(now) {
		d.SuspendedUntil = nil
	}
	for _, t := range l.Times {
		times := TimeDocument{Time: t.At, UTC: t.At.UTC(), DistanceSeconds: float64(t.At.Unix() - now.Unix()), Schedules: orEmpty(t.Names),
			PlannedStart: unlessZero(t.PlannedStart), Twice: t.Twice, OtherOmitted: t.OtherOmitted, Suspended: t.Suspended}
		if from := t.ShiftedFrom; from != nil {
			times.ShiftedFrom = &WallSpan{from.First.Format(wallLayout), from.Last.Format(wallLayout), from.Count}
		}
		d.Times = append(d.Times, times)
	}
	for _, o := range l.Omissions {
		layout := time.RFC3339
		if o.Reason == Gap {
			layout = wallLayout
		}
		omitted := OmittedDocument{Reason: o.Reason, First: o.First.Format(layout), Last: o.Last.Format(layout), Count: o.Count,
			By: []ExclusionDocument{}, Schedules: orEmpty(o.Names)}
		for _, e := range o.By {
			omitted.By = append(omitted.By, ExclusionDocument(e))
		}
		d.Omitted = append(d.Omitted, omitted)
	}
	return d
}

func unlessZero(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
