// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cron decides what a CronJob of any kind needs now.
//
// Decide takes everything that is known (the clock, the policy, the stored status, the children) and returns a
// Plan: what is left to do, on the assumption that all of it goes well. It is total, deterministic and silent; it
// knows no client, no clock and no logger. The shell carries the plan out one step at a time, tells the Input how
// each step went, and asks again:
//
//	for {
//		plan := cron.Decide(in)
//		switch plan.NextStep() {
//		case cron.StepRead:    // read live what plan.Read names;   in.AddReadOwnerResult, in.AddReadChildResult
//		case cron.StepStop:    // delete plan.Stop;                 in.AddStopResult
//		case cron.StepStart:   // create the children of plan.Starts; in.AddStartResult
//		case cron.StepCheckTemplate: // dry run of the create of plan.CheckTemplate; in.AddTemplateCheckResult
//		case cron.StepWriteStatus:  // write plan.StatusWrite;                in.AddStatusWriteResult
//		case cron.StepPrune:   // delete plan.Prune;                in.AddPruneResult
//		case cron.StepPublish: // nothing is left: publish plan.Events, arm plan.Wake, return plan.Err
//		}
//	}
//
// So all judgement is here, also about what went wrong: a create that meets AlreadyExists makes the next plan read
// the object that holds the name, and the plan after that adopts it, reports it or gives up. Decide never asks
// twice for the same thing, so the loop ends. plan.Carried goes into the Input of the next sync.
//
// The order (read, stop, start, record, prune, publish) makes a crash after any step harmless:
//
//   - the child's name is a function of the CronJob and the scheduled time, so it is the lock: a second start of the
//     same scheduled time meets AlreadyExists;
//   - a start waits for no status write (cronjob.md B4);
//   - status.lastScheduleTime is written before the finished child that proves the scheduled time is pruned (B3);
//   - events are published after the write that they report.
//
// What a CronJob asks for is a special value of Policy: the latest time starts, one may wait, one run is active or any
// number. What its status holds is a part of Memory (KindTraits.Durable); elsewhere lastScheduleTime is the cursor, and
// a time that waits is one that is later. How the kinds differ beyond that, in names, event reasons and a few rules, is
// data too, in KindTraits; no rule asks which kind it serves. Read Decide first (decide.go), then one file per rule, in
// the order in which they run:
//
//	policy.go         what the user asks for; the times of it, or the obstacle that keeps it from having any
//	served.go         the timing that was served last
//	edit.go           a changed timing starts nothing for the time before the change
//	startchecks.go    deletion, suspension, obstacles: what keeps a CronJob from starting anything
//	livereads.go      what has to be read live before anything can be said
//	children.go       which objects are ours, and which scheduled time each one proves
//	observed.go       the active list, lastScheduleTime and lastSuccessfulTime, from what the children show;
//	                  what counts as unfinished, for Forbid and Replace
//	timing.go         startingDeadlineSeconds, the scheduled time that is due, how many were missed, the next one
//	pause.go          whether a suspension or too many failures keep scheduled times from starting
//	pasttimes.go      which scheduled times a sync decides where the status holds a cursor: not those that are still to
//	                  start, nor those that an edit took out; those that passed in a pause, or while something was wrong
//	due.go            the scheduled times that have come: those that wait, and those of the new ones that are chosen
//	wait.go           how many of them may wait, and which are turned away
//	start.go          the ordered rules about each of them: start, skip, replace, adopt
//	elsewhere.go      the times that an earlier sync has given a result that is not recorded yet
//	room.go           how many runs may be active, and which are stopped for others
//	attempts.go       an attempt that failed is repeated, one that has not ended in time is stopped
//	createresult.go   what the answer to a create means
//	unconfirmed.go    a create whose answer got lost
//	templatecheck.go  what a dry run tells of what the template makes
//	manual.go         which children somebody started by hand, and what the policies make of them
//	outcomes.go       the outcome of each scheduled time, for whoever counts; counted from what is recorded
//	decided.go        the same where the status remembers what is decided
//	runs.go           how runs end, the ledger and the counts, where the status holds them
//	lastresults.go    what the newest outcomes were; late.go: since when times wait
//	statusevents.go   what is told of runs and conditions; childremarks.go: of how children were read
//	missed.go         scheduled times that did not start: reported once
//	misconfigured.go  what somebody has to mend, in one word
//	repeatevents.go   what lasts: reported again from time to time
//	facts.go          what was found out, for status.conditions of the kind that has them
//	record.go         what of the status is written, and which deletes wait for that
//	history.go        which finished children go, and when they may
//	events.go         the events, a constructor each
//	memory.go         what is remembered from one sync to the next: what the kind's status holds, and what rides
//
// The contract is docs/contract/cronjob.md, where the ids that comments cite (K20, B1, Q4, CJ-117, …) are found; the
// numbered guarantees and the table of words are in docs/concepts.md.
package cron
