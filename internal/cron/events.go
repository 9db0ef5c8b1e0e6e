// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// One constructor per event (cronjob.md 5.1). Reasons and types are the kind's; the words are ours: they name the
// object and, where the user can do something about it, the cure. An event whose cause lasts has a key that names
// the cause, so that it is published once and not in every sync (B6).

func (r EventReason) event(key, format string, args ...any) Event {
	return Event{Type: r.Type, Reason: r.Reason, Message: fmt.Sprintf(format, args...), DedupKey: key}
}

// lasting makes an event whose cause stays until somebody mends it.
func (e Event) lasting() Event {
	e.Lasts = true
	return e
}

// dedupKey makes a key; the first part keeps causes apart that a kind reports under one reason.
func dedupKey(cause string, scope ...any) string {
	parts := []string{cause}
	for _, s := range scope {
		if t, ok := s.(time.Time); ok {
			s = t.UTC().Format(time.RFC3339)
		}
		parts = append(parts, fmt.Sprint(s))
	}
	return strings.Join(parts, "/")
}

func created(in *Input, name string, due time.Time) Event {
	return in.Traits.Events.Created.event("", "Created %s %s for %s", in.Traits.ChildKind, name, stamp(in, due))
}

func deleted(in *Input, c Child) Event {
	return in.Traits.Events.Deleted.event("", "Deleted %s %q", in.Traits.ChildKind, c.Name)
}

func completed(in *Input, c Child) Event {
	how := c.Phase.String()
	if c.Status != "" {
		how = c.Status
	}
	return in.Traits.Events.Completed.event(dedupKey("completed", c.UID),
		"%s %s has finished, condition: %s; it is no longer active", in.Traits.ChildKind, c.Name, how)
}

// missing is about an active reference; instead is the UID of the object that has its name now, if any.
func missing(in *Input, ref corev1.ObjectReference, instead types.UID) Event {
	key := dedupKey("missing", ref.UID)
	if instead != "" {
		return in.Traits.Events.Missing.event(key, "Active %s %s with UID %s is gone, another one with UID %s has its name; "+
			"it is no longer active", in.Traits.ChildKind, ref.Name, ref.UID, instead)
	}
	return in.Traits.Events.Missing.event(key, "Active %s %s with UID %s is gone: it was deleted by someone else; "+
		"it is no longer active and will not run again", in.Traits.ChildKind, ref.Name, ref.UID)
}

func unexpected(in *Input, c Child, adopted bool) Event {
	key := dedupKey("unexpected", c.UID)
	if adopted {
		return in.Traits.Events.Unexpected.event(key, "%s %s with UID %s is running and was not recorded as active, "+
			"because its start was interrupted; it is active now", in.Traits.ChildKind, c.Name, c.UID)
	}
	return in.Traits.Events.Unexpected.event(key, "%s %s with UID %s is running and was not started by the schedule, "+
		"but by hand or by someone else; Forbid waits for it, unless it is suspended, and Replace leaves it alone",
		in.Traits.ChildKind, c.Name, c.UID)
}

func forbidden(in *Input, blockers []Child, due time.Time) Event {
	c := blockers[0]
	state := "is not finished"
	if c.Status != "" {
		state += " (" + c.Status + ")"
	}
	if n := len(blockers) - 1; n > 0 {
		state += fmt.Sprintf(", nor are %d more", n)
	}
	return in.Traits.Events.Forbidden.event(dedupKey("forbidden", due), "Not starting the run of %s: %s %s %s and "+
		"concurrencyPolicy is Forbid; it starts late if that ends before the next run and within startingDeadlineSeconds",
		stamp(in, due), in.Traits.ChildKind, c.Name, state)
}

func replacing(in *Input, blockers []Child, due time.Time) Event {
	return in.Traits.Events.Replacing.event(dedupKey("replacing", due), "Replacing %s %s by the run of %s, because "+
		"concurrencyPolicy is Replace", in.Traits.ChildKind, namesOf(blockers), stamp(in, due))
}

func besideManual(in *Input, runs []Child, due time.Time) Event {
	return in.Traits.Events.ManualActive.event(dedupKey("manual", due), "Starting the run of %s beside %s %s, which was started by "+
		"hand: concurrencyPolicy Replace replaces only what the schedule started", stamp(in, due), in.Traits.ChildKind, namesOf(runs))
}

// maxNames is how many objects one event names.
const maxNames = 5

func namesOf(children []Child) string {
	var names []string
	for _, c := range children[:min(maxNames, len(children))] {
		names = append(names, c.Name)
	}
	text := strings.Join(names, ", ")
	if more := len(children) - maxNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// reasonText says why scheduled times did not start, and what to do about it.
var reasonText = map[Reason]string{
	NotStartedOutage: "nobody looked before the next one was due, because no controller ran or the machine slept (or, before a restart, " +
		"because it was suspended or Forbid held it up)",
	NotStartedDeadline: "they were found too late for .spec.startingDeadlineSeconds; raise it if they should start late",
	NotStartedFailed: "the API server failed or refused what their start needed until the next one was due, or gave no answer, and what " +
		"became of it could not be read; other events tell its answer",
	NotStartedForeign: "an object of someone else had the name",
	NotStartedTooMany: "more than 100 were missed before; set or decrease .spec.startingDeadlineSeconds",
	NotStartedEdit: ".spec.schedule or .spec.timeZone was changed before they could start, at a time that nothing tells exactly; " +
		"start them by hand if they are needed",
}

// notStarted reports what was missed, in one event whatever the reasons are.
func notStarted(in *Input, list []missed) Event {
	var all passed
	var whys []string
	var reasons strings.Builder
	for _, m := range list {
		all = all.and(m.passed)
		whys = append(whys, string(m.reason))
		reasons.WriteString(", reason " + in.Traits.reasonWord(m.reason))
		if len(list) > 1 {
			fmt.Fprintf(&reasons, " for %d", m.count)
		}
		if text := cmp.Or(in.Traits.ReasonTexts[m.reason], reasonText[m.reason]); text != "" {
			reasons.WriteString(": " + text)
		}
	}
	what := fmt.Sprintf("The scheduled time %s was not started", stamp(in, all.last))
	if all.count > 1 {
		what = fmt.Sprintf("%d scheduled times from %s to %s were not started", all.count, stamp(in, all.first), stamp(in, all.last))
	}
	return in.Traits.Events.NotStarted.event(dedupKey("not started", strings.Join(whys, "+"), all.last), "%s%s", what, reasons.String())
}

func tooManyMissed(in *Input, tm timing) Event {
	return in.Traits.Events.TooManyMissed.event(dedupKey("missed", tm.base), "Too many scheduled times were missed since %s; "+
		"only the latest one runs. Set or decrease .spec.startingDeadlineSeconds, or check the clock", stamp(in, tm.base))
}

const manyRefusedText = "Nothing starts any more, because more than 100 scheduled times were missed. Set or decrease " +
	".spec.startingDeadlineSeconds, so that fewer of them count"

func manyRefused(in *Input, tm timing) Event {
	return in.Traits.Events.TooManyMissed.event(dedupKey("refused", tm.base), manyRefusedText).lasting()
}

func failedGet(in *Input, c Child, due time.Time, err error) Event {
	return in.Traits.Events.FailedGet.event(dedupKey("get", c.UID, due), "%s %s is to be replaced and cannot be read: %v",
		in.Traits.ChildKind, c.Name, err)
}

func failedDelete(in *Input, c Child, err error) Event {
	return in.Traits.Events.FailedDelete.event(dedupKey("delete", c.UID), "%s %q cannot be deleted: %v",
		in.Traits.ChildKind, c.Name, err)
}

func failedCreate(in *Input, start Start, err error) Event {
	return in.Traits.Events.FailedCreate.event(dedupKey("create", start.Time), "%s %s cannot be created: %v%s",
		in.Traits.ChildKind, start.Name, err, cure(in, err)).lasting()
}

// cure says what to do about a create that failed, where it is the template that has to change, or a quota.
func cure(in *Input, err error) string {
	switch {
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return ". Correct " + templateField(in) + "; until the next scheduled time the start is tried again"
	case apierrors.IsForbidden(err):
		if quota, ok := exceededQuota(err); ok {
			return fmt.Sprintf(". To have the run start by itself, raise the quota %s, or delete what counts for it; "+
				"lower history limits keep fewer finished ones", quota)
		}
	}
	return ""
}

// exceededQuota is the name of the quota that an error tells of. So the API server words it: CheckRequest of the admission
// plugin resourcequota, k8s.io/apiserver.
func exceededQuota(err error) (name string, ok bool) {
	_, name, ok = strings.Cut(err.Error(), "exceeded quota: ")
	name, _, _ = strings.Cut(name, ",")
	return name, ok
}

func templateField(in *Input) string {
	return ".spec." + cmp.Or(in.Traits.TemplateField, "jobTemplate")
}

// createMessage says what to do about a create that failed, and then what the API said: a status has little room.
func createMessage(in *Input, result CreateResult) string {
	err, what := result.Err, ""
	quota, overQuota := exceededQuota(err)
	switch {
	case result.Outcome == CreateNamespaceTerminating:
		return "the namespace is being deleted"
	case result.Outcome == CreateUnconfirmed:
		what = "no answer, tried again"
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		what = "correct " + templateField(in)
	case apierrors.IsForbidden(err) && overQuota:
		what = "raise quota " + quota + " or delete what counts for it"
	case apierrors.IsForbidden(err):
		what = "mend what forbids it"
	default:
		what = "refused, tried again"
	}
	text := err.Error()
	for _, verb := range []string{`" is forbidden: `, `" is invalid: `} { // what is before that names the child
		if _, why, found := strings.Cut(text, verb); found {
			text = why
		}
	}
	return what + ": " + text
}

func namespaceTerminating(in *Input) Event {
	return in.Traits.Events.NamespaceTerminating.event(dedupKey("namespace"), "Nothing can be created: namespace %s is being "+
		"deleted", in.Owner.Namespace)
}

func foreignHolder(in *Input, c Child, due time.Time) Event {
	owner := "none"
	if ref := c.Controller; ref != nil {
		owner = fmt.Sprintf("%s %s with UID %s", ref.Kind, ref.Name, ref.UID)
	}
	return in.Traits.Events.Foreign.event(dedupKey("foreign", due), "%s %s cannot be created: one of that name exists and "+
		"is not ours, its controller is %s. The run of %s is lost unless it is deleted or renamed before the next",
		in.Traits.ChildKind, c.Name, owner, stamp(in, due)).lasting()
}

func clockWentBack(in *Input) Event {
	return in.Traits.Events.ClockWentBack.event(dedupKey("clock", *in.Stored.Cursor), "All times until %s are decided, and the clock is far behind "+
		"that: they count from now on. Check the clocks of the machines that the controller runs on", stamp(in, *in.Stored.Cursor))
}
