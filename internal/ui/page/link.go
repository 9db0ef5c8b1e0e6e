// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"net/url"
	"strings"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// ScheduleURL is the address of a CronJob or Timetable. kind is the Kind of the object, or its word in references; of a
// kind that several API groups have, group says which: "" for batch.
func ScheduleURL(apiVersion, kind, namespace, name string) string {
	at := "/schedule/" + strings.ToLower(kind) + "/" + url.PathEscape(namespace) + "/" + url.PathEscape(name)
	if group, _, grouped := strings.Cut(apiVersion, "/"); grouped && strings.EqualFold(kind, "CronJob") && group != "batch" {
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
