// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"net/url"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// ScheduleURL is the address of a CronJob or Timetable. kind is the Kind of the object, or its word in references; of a
// kind that several API groups have, group says which: "" for batch.
func ScheduleURL(apiVersion, kind, namespace, name string) string {
	at := "/schedule/" + strings.ToLower(kind) + "/" + url.PathEscape(namespace) + "/" + url.PathEscape(name)
	if group := ambiguousGroup(apiVersion, kind); group != "" {
		at += "?group=" + url.QueryEscape(group)
	}
	return at
}

// OwnerURL is the address of the CronJob or Timetable that a run belongs to; "" if it belongs to none.
func OwnerURL(r *run.Run) string {
	if r.Owner.Name == "" {
		return ""
	}
	return ScheduleURL(r.Owner.APIVersion, r.Owner.Kind, r.Namespace, r.Owner.Name)
}

// RunURL is the address of a run.
func RunURL(r *run.Run) string {
	return "/run/" + url.PathEscape(r.Namespace) + "/" + url.PathEscape(r.Name) + "?uid=" + url.QueryEscape(string(r.UID))
}

// ReferenceURL is the address of what a reference in a namespace names: "cronjob/backup", "job/import".
func ReferenceURL(namespace, reference string) string {
	kind, name, _ := strings.Cut(reference, "/")
	if strings.EqualFold(kind, "job") {
		return "/run/" + url.PathEscape(namespace) + "/" + url.PathEscape(name)
	}
	return ScheduleURL("", kind, namespace, name)
}

// ScheduleURL is ScheduleURL, for templates.
func (v *View) ScheduleURL(apiVersion, kind, namespace, name string) string {
	return ScheduleURL(apiVersion, kind, namespace, name)
}

// RunURL is RunURL, for templates.
func (v *View) RunURL(r *run.Run) string { return RunURL(r) }

// OwnerURL is OwnerURL, for templates.
func (v *View) OwnerURL(r *run.Run) string { return OwnerURL(r) }

// ReferenceURL is ReferenceURL, for templates.
func (v *View) ReferenceURL(namespace, reference string) string {
	return ReferenceURL(namespace, reference)
}

// ActURL is the address of the page that says what an act ("run-now", "suspend", "resume", "edit", "delete", "stop",
// "retry") on an object will do, and asks. kind is the Kind of the object, or its word in references; the group of
// apiVersion is named where several API groups have such a kind, and "" is that of batch.
func ActURL(act, apiVersion, kind, namespace, name string) string {
	to := "/act/" + url.PathEscape(act) + "?kind=" + url.QueryEscape(strings.ToLower(kind)) +
		"&namespace=" + url.QueryEscape(namespace) + "&name=" + url.QueryEscape(name)
	if group := ambiguousGroup(apiVersion, kind); group != "" {
		to += "&group=" + url.QueryEscape(group)
	}
	return to
}

// ambiguousGroup is the API group that an address must name: of a CronJob or Job that is none of batch.
func ambiguousGroup(apiVersion, kind string) string {
	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped || group == "batch" || !strings.EqualFold(kind, "CronJob") && !strings.EqualFold(kind, "Job") {
		return ""
	}
	return group
}

// WhyURL is the address of the page that says what became of a time of a CronJob or Timetable; without a time ("") of
// its newest one that had no run. at is in the language of carillon why --at, and a time in RFC 3339.
func WhyURL(kind, namespace, name, at string) string {
	to := "/why/" + strings.ToLower(kind) + "/" + url.PathEscape(namespace) + "/" + url.PathEscape(name)
	if at != "" {
		to += "?at=" + url.QueryEscape(at)
	}
	return to
}

// ActURL is ActURL, for templates.
func (v *View) ActURL(act, apiVersion, kind, namespace, name string) string {
	return ActURL(act, apiVersion, kind, namespace, name)
}

// WhyURL is WhyURL, for templates. A zero time asks for the newest one that had no run.
func (v *View) WhyURL(kind, namespace, name string, at time.Time) string {
	if at.IsZero() {
		return WhyURL(kind, namespace, name, "")
	}
	return WhyURL(kind, namespace, name, at.UTC().Format(time.RFC3339))
}
