// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package diagnosis tells why a CronJob, a Timetable or a Job did what it did: from what an API server, or a file, has
// of it. Explain gives the Answer to a Question, and says of each thing whether it is shown by something or inferred.
//
//	diagnosis.go   Explain
//	evidence.go    Evidence: all that is known; gather.go finds it among objects
//	runs.go        what a CronJob or Timetable has started
//	events.go      events, and what they say of a scheduled time
//	remembered.go  what a journal has that the API server has forgotten
//	rememberedschedule.go  … and what it tells of a schedule on its own
//	author.go      who wrote a field, and when
//	question.go    Question: the time that somebody asks about
//	answer.go      Answer: verdict, sentences, evidence, what is missing, what to do next
//	attime.go      a question about a time
//	ran.go         … which has a run: how late, and why
//	notstarted.go  … which has none, of a CronJob: what kept it
//	history.go     … what follows from the runs that are kept
//	ledger.go      … of a Timetable, whose status tells
//	unscheduled.go … which is no scheduled time
//	now.go         a question about the present
//	waiting.go     … while a time that has come does not start
//	controller.go  … whether a controller is at work at all
//	decision.go    what Carillon would do now
//	job.go         a question about a Job
//	pods.go        what the Pods of a Job show
//	words.go       times and durations in words
//	text.go        the answer for people
//
// Nothing here reads a file, a clock or an API server.
package diagnosis

// Explain answers a question. It claims that something ran only if an object, a status or an event shows it.
func Explain(e *Evidence, q Question) Answer {
	b := newBuilder(e)
	switch {
	case e.Journal.Gone != nil:
		b.explainGone(e.Journal.Gone)
	case e.Journal.Only != nil:
		b.explainRemembered(q.At)
	case e.Job != nil:
		b.explainJob()
	case e.Scheduled == nil:
		b.conclude(CannotTell, "", "nothing is known of it")
	case q.At != nil:
		b.explainTime(*q.At)
	default:
		b.explainNow()
	}
	return b.done()
}
