// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import "github.com/carillon-dev/carillon/internal/cron"

// A Reason in words: a word for a table and for documents, and a sentence that says what it means and what to do.
type reasonText struct{ word, text string }

// reasons are those why a scheduled time does not start or a run does not succeed. The words are those that the status
// and the metrics of Timetables use, so that what is read here is found there.
var reasons = map[cron.Reason]reasonText{
	cron.NotStartedForbidden:    {"Overlap", "an earlier run had not ended, and a newer time took its place; concurrencyPolicy Forbid starts nothing beside it"},
	cron.NotStartedSuspended:    {"Suspended", "it was suspended at that time"},
	cron.NotStartedPaused:       {"Paused", "too many runs had failed in a row (pauseAfterFailures)"},
	cron.NotStartedExcluded:     {"Excluded", "spec.exclude takes it out"},
	cron.NotStartedNotReady:     {"NotReady", "something was wrong with the object, and a newer time took its place"},
	cron.NotStartedStopping:     {"Stopping", "a run was being stopped for it when a newer time took its place"},
	cron.NotStartedSuperseded:   {"Superseded", "it waited for room, and a newer time took its place"},
	cron.NotStartedQueueFull:    {"QueueFull", "as many times waited as concurrency.queueLimit allows"},
	cron.NotStartedEdited:       {"Edited", "an edit changed the schedule: what the new one names before the edit starts nothing, nor what waited for the old one"},
	cron.NotStartedCatchUpLimit: {"CatchUpLimit", "no controller looked, and more times were found than catchUp.limit makes up for"},
	cron.NotStartedSharedName:   {"SharedName", "the schedule fires more often than Jobs can be named, once a minute: it has the name of an earlier time's Job"},
	cron.NotStartedOutage:       {"Outage", "no controller looked when it was due, and a later time starts in its place"},
	cron.NotStartedDeadline:     {"Deadline", "it could not start within its deadline (startingDeadlineSeconds, startingDeadline)"},
	cron.NotStartedFailed:       {"CreateFailed", "its run could not be made"},
	cron.NotStartedForeign:      {"NameTaken", "an object of someone else had the name of its run"},
	cron.NotStartedTooMany:      {"TooManyMissed", "more than 100 times were missed, and this kind starts nothing after that until startingDeadlineSeconds leaves 100 or fewer of them"},
	cron.NotStartedEdit:         {"Edited", "the schedule was changed before it could start"},
	cron.RunChildFailed:         {"RunFailed", "its last attempt failed"},
	cron.RunTimeout:             {"Timeout", "it had not ended in the time that it may take"},
	cron.RunReplaced:            {"Replaced", "it was stopped for a later one"},
	cron.RunDeleted:             {"Deleted", "its child was deleted"},
}

// ReasonWord is a reason in one word, the same that a Timetable's status has for it.
func ReasonWord(reason cron.Reason) string {
	if known, ok := reasons[reason]; ok {
		return known.word
	}
	return string(reason)
}

// ReasonText says a reason in words.
func ReasonText(reason cron.Reason) string {
	if known, ok := reasons[reason]; ok {
		return known.text
	}
	return "for the reason " + string(reason)
}
