// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/plan/words"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// A subject is what is explained.
type subject struct {
	now, until time.Time

	object    *Object
	scheduled *workload.Scheduled // nil for a bare expression
	timetable *v1alpha1.Timetable // nil for all but a Timetable
	spec      map[string]any      // of the object, as it was written
	remark    string
	obstacle  string

	// asTimetable tells that it is in the language of Timetables.
	asTimetable bool
	items       []item
	// times are its times; nil if there are none to ask for.
	times       cron.Times
	zone        *time.Location
	zoneAssumed bool
	// all are the times of all items that hang on the wall clock; nil if there are none.
	all *onWall
	// notBefore and notAfter are the window; zero is none.
	notBefore, notAfter time.Time
	// usual is the smallest distance of two times between which the clock does not change; 0 if there are none.
	usual time.Duration
}

// An item is one of the schedules of a subject.
type item struct {
	name       string
	text       string
	expression *words.Expression // nil for those that have no cron text, or one that cannot be read
	spec       timeset.Item      // of a Timetable
	onWall     *onWall           // its times that hang on the wall clock; nil if it has none
	readable   bool              // it can be said in words, even if it names no time
}

// OfExpression explains an expression: in the language of CronJobs or, if only a Timetable takes it, in that one. zone
// is where the wall clock hangs; nil if nobody has said, which means UTC. The error is that of package schedule.
func OfExpression(text string, zone *time.Location, now time.Time) (*Explanation, error) {
	s := &subject{zone: zone, zoneAssumed: zone == nil}
	if zone == nil {
		s.zone = time.UTC
	}
	read, err := words.Read(text, words.Options{})
	if err == nil {
		s.items = []item{{text: text, expression: read, readable: true}}
		if err := s.readCronJob(text); err != nil {
			return nil, err
		}
		return explain(s, now), nil
	}
	const name = "main"
	asItem, refused := words.Read(text, words.Options{Language: words.Timetable, Name: name})
	if refused != nil {
		return nil, words.Refusal(text, err, refused)
	}
	s.asTimetable = true
	s.remark = "Only a Timetable takes this schedule. A CronJob has no fields for seconds and years, and no L, W, #, H, ranges that wrap, or 7 for Sunday."
	spec := timeset.Spec{Items: []timeset.Item{{Name: name, Cron: text}}, TimeZone: s.zone.String()}
	s.items = []item{{text: text, expression: asItem, spec: spec.Items[0], readable: true}}
	s.readTiming(spec)
	set, err := timeset.Compile(spec)
	if err != nil {
		s.obstacle = err.Error()
	} else {
		s.times = set
	}
	return explain(s, now), nil
}

// OfObject explains a CronJob or a Timetable. zone is that in which its CronJobs were read that name none
// (workload.Options); nil means UTC.
func OfObject(o *workload.Scheduled, zone *time.Location, now time.Time) *Explanation {
	if zone == nil {
		zone = time.UTC
	}
	written := o.Written()
	gvk := written.GroupVersionKind()
	s := &subject{
		object:    &Object{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: o.Owner.Namespace, Name: o.Owner.Name, Source: o.Source},
		scheduled: o, timetable: o.Timetable(), obstacle: o.Obstacle(), zone: zone,
		times: o.Policy.Timing.Times,
	}
	s.object.Namespace = cmp.Or(s.object.Namespace, o.Typed.GetNamespace())
	s.object.Name = cmp.Or(s.object.Name, o.Typed.GetName())
	s.spec, _, _ = unstructured.NestedMap(written.Object, "spec")
	if o.Unreadable != nil {
		return explain(s, now)
	}
	if s.timetable != nil {
		s.asTimetable = true
		spec, _ := timetable.Timing(o.Typed, &s.timetable.Spec, calendarsOf(o), 0)
		for _, i := range spec.Items {
			s.items = append(s.items, readItem(i, spec.Hash))
		}
		if asked, err := schedule.LoadZone(spec.TimeZone); err == nil {
			s.zone = asked
			s.readTiming(spec)
		}
		return explain(s, now)
	}
	text := stringAt(s.spec, "schedule")
	read, err := words.Read(text, words.Options{})
	s.items = []item{{text: text, expression: read, readable: err == nil}}
	name, named := s.spec["timeZone"].(string)
	s.zoneAssumed = !named
	if named {
		asked, err := schedule.LoadZone(name)
		if err != nil {
			return explain(s, now) // the obstacle tells it
		}
		s.zone = asked
	}
	_ = s.readCronJob(text) // the obstacle tells that, too
	return explain(s, now)
}

// readCronJob reads the text of a CronJob as times on the wall clock.
func (s *subject) readCronJob(text string) error {
	fields := text
	if e := s.items[0].expression; e != nil && e.HasZone {
		zone, err := schedule.LoadZone(e.Zone)
		if err != nil {
			return err
		}
		s.zone, s.zoneAssumed = zone, false
		_, fields, _ = strings.Cut(text, " ")
		fields = strings.TrimSpace(fields)
	}
	placed, err := schedule.Parse(fields, s.zone)
	if err != nil {
		return err
	}
	if s.scheduled == nil {
		s.times = placed
		if !placed.Satisfiable() {
			s.times, s.obstacle = nil, "it names no date that exists, so it never runs"
		}
	}
	if _, every := placed.Every(); every || !placed.Satisfiable() {
		return nil
	}
	wall, err := schedule.Parse(fields, time.UTC)
	if err != nil {
		return err
	}
	s.all = &onWall{placed, wall, placed, wall}
	s.items[0].onWall = s.all
	return nil
}

// readItem reads a schedule of a Timetable.
func readItem(i timeset.Item, hash schedule.Hash) item {
	const main = "main"
	i.Name = cmp.Or(i.Name, main)
	got := item{name: i.Name, text: i.Cron, spec: i}
	switch {
	case i.Cron != "":
		got.expression, _ = words.Read(i.Cron, words.Options{Language: words.Timetable, DayRule: i.DayRule, Hash: hash, Name: i.Name})
	case i.Every != "":
		got.text = "every: " + i.Every
	default:
		got.text = "at: [" + strings.Join(i.At, ", ") + "]"
	}
	_, err := timeset.Compile(timeset.Spec{Items: []timeset.Item{i}})
	obstacle, _ := errors.AsType[*timeset.Obstacle](err)
	got.readable = err == nil || obstacle != nil && obstacle.Reason != timeset.InvalidSchedule
	return got
}

func (s *subject) language() string {
	if s.asTimetable {
		return "Timetable"
	}
	return "CronJob"
}

func (s *subject) zoneName() string { return s.zone.String() }

// onWallClock tells that some of the times hang on a wall clock.
func (s *subject) onWallClock() bool { return s.all != nil }

// group is the API group of the object, "" for a bare expression.
func (s *subject) group() string {
	if s.object == nil {
		return ""
	}
	return s.scheduled.Kind.Info().Owner.Group
}

func stringAt(content map[string]any, path ...string) string {
	text, _, _ := unstructured.NestedString(content, path...)
	return text
}

// numberAt is a whole number; ok is false if there is none.
func numberAt(content map[string]any, path ...string) (n int64, ok bool) {
	value, found, err := unstructured.NestedFieldNoCopy(content, path...)
	if !found || err != nil {
		return 0, false
	}
	switch value := value.(type) {
	case int64:
		return value, true
	case float64:
		return int64(value), true
	}
	return 0, false
}

// jobSpec is the spec of the Jobs that it starts; empty if they are of another kind.
func (s *subject) jobSpec() map[string]any {
	path := []string{"jobTemplate", "spec"}
	if s.timetable != nil {
		t := s.timetable.Spec.Template
		if cmp.Or(t.Kind, "Job") != "Job" {
			return nil
		}
		path = []string{"template", "spec"}
	}
	found, _, _ := unstructured.NestedMap(s.spec, path...)
	return found
}
