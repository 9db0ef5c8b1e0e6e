// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind"
)

// Origin is what an object tells of why its schedule made it.
type Origin struct {
	// Trigger is Manual if somebody made it and no schedule; "" if it does not tell.
	Trigger Trigger
	// ScheduledTime is the time that it was made for, UTC; zero if it was made by hand, or does not tell. TimeFrom is
	// what tells it, in words: "annotation NAME" or "its name".
	ScheduledTime time.Time
	TimeFrom      string
	// Retry counts the runs of one scheduled time, from 1; 0 if it does not tell.
	Retry int
}

// instantiate is the annotation that kubectl sets on a Job that it makes from a CronJob.
const instantiate = "cronjob.kubernetes.io/instantiate"

// OriginOf reads the origin of an object that an owner of that kind and name controls.
func OriginOf(k kind.Kind, owner string, object metav1.Object) Origin {
	if madeByHand(k, owner, object) {
		return Origin{Trigger: Manual}
	}
	var origin Origin
	origin.ScheduledTime, origin.TimeFrom = scheduledTimeOf(k, owner, object)
	if !origin.ScheduledTime.IsZero() {
		origin.Trigger = Schedule
	}
	if object.GetLabels()[v1alpha1.LabelTrigger] == "catch-up" {
		origin.Trigger = CatchUp
	}
	if n, err := strconv.Atoi(object.GetAnnotations()[v1alpha1.AnnotationAttempt]); err == nil && n > 0 {
		origin.Retry = n
	}
	return origin
}

// madeByHand tells whether nobody's schedule made an object: it says so, or it says nothing and has not the name that a
// schedule gives.
func madeByHand(k kind.Kind, owner string, object metav1.Object) bool {
	annotations, labels := object.GetAnnotations(), object.GetLabels()
	if annotations[instantiate] != "" || labels[v1alpha1.LabelTrigger] == "manual" {
		return true
	}
	if _, timetable := k.(kind.Timetable); timetable || annotations[k.Info().StampAnnotation] != "" {
		return false
	}
	_, named := TimeInName(k, owner, object.GetName())
	return !named
}

// scheduledTimeOf is the time that an object was made for: as its annotation says, or its name.
func scheduledTimeOf(k kind.Kind, owner string, object metav1.Object) (t time.Time, from string) {
	annotation := k.Info().StampAnnotation
	if t, err := time.Parse(time.RFC3339, object.GetAnnotations()[annotation]); err == nil {
		return t.UTC(), "annotation " + annotation
	}
	if t, ok := TimeInName(k, owner, object.GetName()); ok {
		return t, "its name"
	}
	return time.Time{}, ""
}

// runNameTime is how the names of a Timetable's runs write their time.
const runNameTime = "20060102-150405"

// TimeInName reads the scheduled time out of the name that an owner of that kind and name gives what it starts. Names
// of CronJobs have no seconds.
func TimeInName(k kind.Kind, owner, name string) (time.Time, bool) {
	traits := k.Info().Traits
	if traits.RunName != nil {
		base, retry, found := cutLast(name, "-r")
		if _, err := strconv.Atoi(retry); !found || err != nil {
			base = name
		}
		if len(base) < len(runNameTime) {
			return time.Time{}, false
		}
		t, err := time.Parse(runNameTime, base[len(base)-len(runNameTime):])
		return t, err == nil && traits.RunName(owner, t) == base
	}
	number, found := strings.CutPrefix(name, owner+"-")
	n, err := strconv.ParseInt(number, 10, 64)
	unit := int64(max(traits.NameUnit, time.Second) / time.Second)
	const latest = 1 << 35 // seconds, after the year 3000: another number is none of ours
	if !found || err != nil || n <= 0 || n > latest/unit {
		return time.Time{}, false
	}
	if t := time.Unix(n*unit, 0).UTC(); t.Year() >= 2000 {
		return t, true
	}
	return time.Time{}, false
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// kindOf is the kind of CronJob or Timetable that a reference is to, in any version of its API; nil if it is to
// anything else.
func kindOf(ref *metav1.OwnerReference) kind.Kind {
	if ref == nil {
		return nil
	}
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil
	}
	for _, k := range kind.Owners {
		if owner := k.Info().Owner; owner.Kind == ref.Kind && owner.Group == version.Group {
			return k
		}
	}
	return nil
}

// KindOfOwner is the kind of an owner of runs; nil if it is none that this program knows.
func KindOfOwner(o Owner) kind.Kind {
	return kindOf(&metav1.OwnerReference{APIVersion: o.APIVersion, Kind: o.Kind})
}
