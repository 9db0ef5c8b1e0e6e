// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

// timetableSpecEdits are what users change in the spec of a Timetable; arg is a number from 0 to 20.
var timetableSpecEdits = map[string]func(s *timetableWorld, spec *v1alpha1.TimetableSpec, arg int){
	"schedules": func(s *timetableWorld, spec *v1alpha1.TimetableSpec, arg int) {
		spec.Schedules = timetableSchedules[arg%len(timetableSchedules)](s.plan.begins)
	},
	"zone": func(_ *timetableWorld, spec *v1alpha1.TimetableSpec, arg int) { spec.TimeZone = timetableZones[arg%3] },
	"window": func(s *timetableWorld, spec *v1alpha1.TimetableSpec, arg int) {
		at := func(after time.Duration) *metav1.Time { return new(metav1.NewTime(s.plan.begins.Add(after))) }
		spec.Window = []*v1alpha1.Window{nil, {NotBefore: at(3 * time.Minute)}, {NotAfter: at(4*time.Minute + 10*time.Second)},
			{NotBefore: at(time.Minute), NotAfter: at(5 * time.Minute)}}[arg%4]
	},
	"exclude": func(s *timetableWorld, spec *v1alpha1.TimetableSpec, arg int) {
		spec.Exclude = nil
		if arg%3 > 0 {
			from := s.server.Clock.Now().Truncate(time.Minute).Add(time.Duration(arg%5-2) * time.Minute).In(zoneOf(spec))
			spec.Exclude = append(spec.Exclude, v1alpha1.Exclusion{Period: new(periodOf(from, time.Duration(1+arg%4)*time.Minute))})
		}
		if arg%4 > 1 {
			spec.Exclude = append(spec.Exclude, v1alpha1.Exclusion{Calendar: new("holidays")})
		}
	},
	"jitter": func(_ *timetableWorld, spec *v1alpha1.TimetableSpec, arg int) {
		spec.Jitter = durationOf([]string{"", "20s", "45s"}[arg%3])
	},
	"policy": func(_ *timetableWorld, spec *v1alpha1.TimetableSpec, arg int) {
		setRoom(spec, timetableRooms[arg%len(timetableRooms)])
	},
	"catch up": func(_ *timetableWorld, spec *v1alpha1.TimetableSpec, arg int) {
		setCatchUp(spec, timetableCatchUps[arg%len(timetableCatchUps)])
	},
	"deadline": func(_ *timetableWorld, spec *v1alpha1.TimetableSpec, arg int) {
		spec.StartingDeadline = durationOf([]string{"", "1s", "15s", "90s"}[arg%4])
	},
	"suspend": func(_ *timetableWorld, spec *v1alpha1.TimetableSpec, _ int) {
		spec.Suspend, spec.SuspendUntil = true, nil
	},
	"resume": func(_ *timetableWorld, spec *v1alpha1.TimetableSpec, _ int) {
		spec.Suspend, spec.SuspendUntil = false, nil
	},
	"suspend until": func(s *timetableWorld, spec *v1alpha1.TimetableSpec, arg int) {
		spec.Suspend = false
		spec.SuspendUntil = new(metav1.NewTime(s.server.Clock.Now().Truncate(time.Second).Add(time.Duration(10*arg) * time.Second)))
	},
	"pause limit": func(_ *timetableWorld, spec *v1alpha1.TimetableSpec, arg int) {
		spec.PauseAfterFailures = []*int32{nil, new(int32(1)), new(int32(2))}[arg%3]
	},
	"retry": func(_ *timetableWorld, spec *v1alpha1.TimetableSpec, arg int) {
		spec.Retry = timetableRetries[arg%len(timetableRetries)]
	},
	"timeout": func(_ *timetableWorld, spec *v1alpha1.TimetableSpec, arg int) {
		spec.Timeout = durationOf([]string{"", "5s", "25s"}[arg%3])
	},
	"history": func(_ *timetableWorld, spec *v1alpha1.TimetableSpec, arg int) {
		spec.History.Succeeded.Limit, spec.History.Failed.Limit = new(int32(arg%3)), new(int32(arg%2))
	},
	"on resume": func(_ *timetableWorld, spec *v1alpha1.TimetableSpec, arg int) {
		spec.OnResume = []v1alpha1.ResumePolicy{v1alpha1.SkipOnResume, v1alpha1.CatchUpOnResume}[arg%2]
	},
	"template": func(s *timetableWorld, spec *v1alpha1.TimetableSpec, _ int) {
		spec.Template.Metadata.Labels = map[string]v1alpha1.LabelValue{"edit": v1alpha1.LabelValue(s.world.Now().String())}
	},
	"kind": func(_ *timetableWorld, spec *v1alpha1.TimetableSpec, arg int) {
		setKind(spec, timetableKinds[1+arg%(len(timetableKinds)-1)])
	},
	"break the schedule": func(s *timetableWorld, spec *v1alpha1.TimetableSpec, arg int) {
		spec.Schedules = cronOf([]string{"61 * * * *", "0 0 30 2 *", "*/5 * * * * *"}[arg%3])(s.plan.begins)
	},
	"break the template": func(_ *timetableWorld, spec *v1alpha1.TimetableSpec, _ int) {
		spec.Template.Metadata.Labels = map[string]v1alpha1.LabelValue{"edit": "$(carillon.nonsense)"}
	},
}

func zoneOf(spec *v1alpha1.TimetableSpec) *time.Location {
	zone, err := time.LoadLocation(spec.TimeZone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// edit is what a user does to a Timetable, to the Calendar, or to a child.
func (s *timetableWorld) edit(e timetableEdit) {
	planned := &s.plan.timetables[e.timetable]
	name := planned.obj.Name
	switch {
	case s.calm:
		return
	case e.what == "calendar":
		s.writeCalendar(e.arg)
		return
	case e.what == "no calendar":
		_ = s.server.Delete("user", "Calendar", ns, "holidays", sim.Deletion{})
		return
	case planned.quiet:
		return
	case e.what == "recreate":
		s.make(e.timetable)
		return
	}
	tt, _ := s.server.Get("Timetable", ns, name).(*timetable.Object)
	if tt == nil {
		return
	}
	if edit := timetableSpecEdits[e.what]; edit != nil {
		s.change(name, e.what, func(tt *timetable.Object) { edit(s, &tt.Spec, e.arg) })
		return
	}
	switch e.what {
	case "resume token", "annotate":
		key := map[bool]string{true: v1alpha1.AnnotationResume, false: "example.com/note"}[e.what == "resume token"]
		s.change(name, e.what, func(tt *timetable.Object) {
			metav1.SetMetaDataAnnotation(&tt.ObjectMeta, key, s.world.Now().String())
		})
	case "delete":
		_ = s.server.Delete("user", "Timetable", ns, name, sim.Deletion{Propagation: propagations[e.arg%3]})
		s.world.After(time.Duration(e.arg)*time.Second, func() { s.make(e.timetable) })
	case "squat":
		at := s.server.Clock.Now().Truncate(time.Minute).Add(time.Duration(1+e.arg%3) * time.Minute)
		squatter := &unstructured.Unstructured{}
		squatter.SetGroupVersionKind(schema.FromAPIVersionAndKind(tt.Spec.Template.APIVersion, tt.Spec.Template.Kind))
		squatter.SetNamespace(ns)
		squatter.SetName(timetable.RunName(name, at))
		_ = s.server.Create("stranger", squatter)
	default:
		s.touchChild(e, tt)
	}
}

func (s *timetableWorld) writeCalendar(arg int) {
	calendar := calendarOf(s.plan.begins, s.server.Clock.Now().UTC(), arg)
	s.world.Story.Tell("user", "the Calendar will be %s", jsonOf(calendar.Spec))
	if s.server.Create("user", calendar.DeepCopy()) != nil {
		sim.Edit(s.server, "user", "calendar", ns, "holidays", func(c *v1alpha1.Calendar) { c.Spec = calendar.Spec })
	}
}

var propagations = []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}

// touchChild is what a user does to one of the children of a Timetable.
func (s *timetableWorld) touchChild(e timetableEdit, tt *timetable.Object) {
	var all []*childTruth
	for _, c := range s.truth.children {
		if c.owner == tt.UID && !c.gone {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortFunc(all, func(a, b *childTruth) int { return int(a.made - b.made) })
	c := all[e.arg%len(all)]
	s.truth.owners[tt.UID].touched = s.world.Now()
	switch e.what {
	case "delete the latest child":
		c = all[len(all)-1]
		fallthrough
	case "delete a child":
		c.meddled = true
		_ = s.server.Delete("user", c.kind, ns, c.name, sim.Deletion{Propagation: propagations[e.arg%2]})
	case "orphan a child":
		c.meddled = true
		sim.EditKind(s.server, "user", e.what, c.kind, ns, c.name, func(obj clientObject) { obj.SetOwnerReferences(nil) })
	}
}
