// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/carillon-dev/carillon/internal/kind"
)

// Subject is the CronJob or Timetable that an address names.
type Subject struct {
	Kind            kind.Kind
	Namespace, Name string
}

// SubjectOf reads the path values "kind", "namespace" and "name" of a request, and "group" of its query. The error is
// for the viewer.
func SubjectOf(r *http.Request) (Subject, error) {
	word, group := r.PathValue("kind"), r.URL.Query().Get("group")
	for _, k := range kind.Owners {
		owner := k.Info().Owner
		if strings.ToLower(owner.Kind) == word && (group == "" || owner.Group == group) {
			return Subject{k, r.PathValue("namespace"), r.PathValue("name")}, nil
		}
	}
	if group != "" {
		return Subject{}, NotFound("Carillon serves no %s of the API group %s.", word, group)
	}
	return Subject{}, NotFound("%s is no kind of schedule: there are cronjob and timetable.", word)
}

// Word is the word for its kind in references: "cronjob" or "timetable".
func (s Subject) Word() string { return strings.ToLower(s.OwnerKind()) }

// OwnerKind is its Kind in the API: "CronJob" or "Timetable".
func (s Subject) OwnerKind() string { return s.Kind.Info().Owner.Kind }

// APIVersion is that of the object.
func (s Subject) APIVersion() string { return s.Kind.Info().Owner.GroupVersion().String() }

// Resource is its kind as kubectl takes it: "cronjob", or "cronjob.batch.volcano.sh" where the word alone may mean
// another.
func (s Subject) Resource() string {
	if group := s.Group(); group != "" {
		return s.Word() + "." + group
	}
	return s.Word()
}

// URL is the address of its page.
func (s Subject) URL() string { return ScheduleURL(s.APIVersion(), s.OwnerKind(), s.Namespace, s.Name) }

// Path is the address of its page without a query.
func (s Subject) Path() string {
	path, _, _ := strings.Cut(s.URL(), "?")
	return path
}

// WhyPath is the address of the page that says what became of its times, without a query.
func (s Subject) WhyPath() string { return WhyURL(s.OwnerKind(), s.Namespace, s.Name, "") }

// Group is the API group, if an address must name it; "" otherwise.
func (s Subject) Group() string {
	if !strings.Contains(s.URL(), "?") {
		return ""
	}
	return s.Kind.Info().Owner.Group
}

// TimelineURL is the address of the timeline, with it alone.
func (s Subject) TimelineURL() string { return "/timeline?q=" + url.QueryEscape(s.Name) }

// SimulateURL is the address of the page on which its schedule can be tried.
func (s Subject) SimulateURL() string {
	return "/simulate?of=" + url.QueryEscape(s.Resource()+"/"+s.Namespace+"/"+s.Name)
}

// ActURL is the address of the page of an act on it.
func (s Subject) ActURL(act string) string {
	return ActURL(act, s.APIVersion(), s.OwnerKind(), s.Namespace, s.Name)
}

// WhyURL is the address of the page that says what became of one of its times; at may be "".
func (s Subject) WhyURL(at string) string {
	to := WhyURL(s.OwnerKind(), s.Namespace, s.Name, at)
	_, group, grouped := strings.Cut(s.URL(), "?")
	switch {
	case grouped && at != "":
		return to + "&" + group
	case grouped:
		return to + "?" + group
	}
	return to
}
