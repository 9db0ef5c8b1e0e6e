// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/paragraph"
)

// Verdict is an answer in one word.
type Verdict string

// The verdicts about a scheduled time, and about the present of a CronJob or Timetable.
const (
	RanOnTime     Verdict = "RanOnTime"
	RanLate       Verdict = "RanLate"
	RanByHand     Verdict = "RanByHand"     // nothing is scheduled then, and somebody started a run
	Ran           Verdict = "Ran"           // that it started is shown, and nothing shows when
	Skipped       Verdict = "Skipped"       // not started, as the spec asks
	Missed        Verdict = "Missed"        // should have started, and did not
	Excluded      Verdict = "Excluded"      // taken out by spec.exclude
	OutsideWindow Verdict = "OutsideWindow" // outside spec.window
	NotScheduled  Verdict = "NotScheduled"  // no schedule names the time
	NotDue        Verdict = "NotDue"        // the time is to come
	Waits         Verdict = "Waits"         // the time has come, and may still start
	Suspended     Verdict = "Suspended"     // nothing starts because spec.suspend or spec.suspendUntil says so; also of a Job
	Paused        Verdict = "Paused"        // nothing starts after too many failures
	NotReady      Verdict = "NotReady"      // what is written cannot be served
	Completed     Verdict = "Completed"     // no time will ever come again
	Gone          Verdict = "Gone"          // there is no such object any more, as a journal tells
	Deleting      Verdict = "Deleting"      // the object or its namespace is being deleted
	NotServed     Verdict = "NotServed"     // no controller does what is to be done
	CannotTell    Verdict = "CannotTell"    // the evidence is gone, or was not read
)

// The verdicts about a Job, beside Suspended, Deleting and NotServed.
const (
	Succeeded Verdict = "Succeeded"
	Failed    Verdict = "Failed"
	Cancelled Verdict = "Cancelled" // it did not end by itself, as a journal tells
	Running   Verdict = "Running"
	Pending   Verdict = "Pending" // it is active, and nothing of it runs
)

// verdictWords are the verdicts for people.
var verdictWords = map[Verdict]string{
	RanOnTime: "ran on time", RanLate: "ran late", RanByHand: "ran by hand", Ran: "ran", Skipped: "was skipped", Missed: "was missed",
	Excluded: "is excluded", OutsideWindow: "is outside the window", NotScheduled: "not a scheduled time", NotDue: "not due yet", Waits: "waits",
	Suspended: "is suspended", Paused: "is paused", NotReady: "cannot be served", Completed: "is completed", Deleting: "is being deleted", Gone: "is gone",
	NotServed: "is not served", CannotTell: "cannot be told", Succeeded: "succeeded", Failed: "failed", Cancelled: "was cancelled", Running: "is running",
	Pending: "is pending",
}

// Answer is what was found out.
type Answer struct {
	// Object is what was asked about, and Asked the time; nil if the question was about the present.
	Object Object     `json:"object"`
	Asked  *time.Time `json:"asked,omitempty"`
	// Now is the present, and Zone the zone in which times are told.
	Now  time.Time `json:"now"`
	Zone string    `json:"zone"`
	// Verdict is the answer in one word. Reason says why in one word, such as Forbid or ImagePullBackOff; "" if there
	// is none. Summary is one line.
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
	Summary string  `json:"summary"`
	// Inferred: no single piece of evidence shows the verdict, it follows from several.
	Inferred bool `json:"inferred"`
	// ScheduledTime is the scheduled time that the answer is about, PreviousTime and NextTime are the ones beside it,
	// or beside the time that was asked about. Nil if there is none, or it is not known.
	ScheduledTime *time.Time `json:"scheduledTime,omitempty"`
	PreviousTime  *time.Time `json:"previousTime,omitempty"`
	NextTime      *time.Time `json:"nextTime,omitempty"`
	// Run is the run that the answer is about; nil if there is none.
	Run *RunFacts `json:"run,omitempty"`
	// Sentences explain the verdict. Evidence is what they rest on. Missing is what would have told more.
	Sentences []Sentence `json:"sentences"`
	Evidence  []Proof    `json:"evidence"`
	Missing   []string   `json:"missing"`
	// Next are commands that help on.
	Next []Step `json:"next"`

	zone *time.Location
}

// Object names an API object.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// RunFacts are what is known of a run.
type RunFacts struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Trigger is Schedule, CatchUp or Manual, "" if it is not known.
	Trigger string `json:"trigger,omitempty"`
	// Attempt is the number of the attempt, from 1; 0 if it is not known.
	Attempt int `json:"attempt,omitempty"`
	// ScheduledTime and StartTime are nil if they are not known, EndTime also while it has not ended.
	ScheduledTime *time.Time `json:"scheduledTime,omitempty"`
	StartTime     *time.Time `json:"startTime,omitempty"`
	EndTime       *time.Time `json:"endTime,omitempty"`
	// LateSeconds is how long after its scheduled time it started; nil if that is not known.
	LateSeconds *float64 `json:"lateSeconds,omitempty"`
	// Result is Succeeded, Failed, Cancelled or Active; "" if it is not known.
	Result string `json:"result,omitempty"`
}

// Sentence is a part of the explanation.
type Sentence struct {
	Text string `json:"text"`
	// Inferred: nothing shows it, it follows from something that is shown.
	Inferred bool `json:"inferred"`
}

// Proof is one piece of evidence.
type Proof struct {
	// Source names what shows it: "journal", "Job backup-29412345", "event JobAlreadyActive",
	// "status.lastScheduleTime", "managedFields", "schedule", "decision".
	Source string `json:"source"`
	Text   string `json:"text"`
	// Time is when it was so; nil if that is not known.
	Time *time.Time `json:"time,omitempty"`
}

// Step is a command to run next.
type Step struct {
	Command string `json:"command"`
	Why     string `json:"why"`
	// Destructive: it ends or deletes something.
	Destructive bool `json:"destructive,omitempty"`
}

// builder collects an answer.
type builder struct {
	*Evidence
	answer Answer
}

func newBuilder(e *Evidence) *builder {
	b := &builder{Evidence: e, answer: Answer{
		Object: e.object(), Now: e.Now, zone: e.Zone(), Sentences: []Sentence{}, Evidence: []Proof{}, Missing: []string{}, Next: []Step{},
	}}
	b.answer.Zone = b.answer.zone.String()
	return b
}

func (b *builder) done() Answer {
	for _, what := range b.Unread {
		b.lack("%s", what)
	}
	if len(b.answer.Next) == 0 && b.Scheduled != nil && b.Job == nil {
		b.next("get "+b.resource()+" -o yaml", "the object with its status")
	}
	return b.answer
}

// conclude sets the verdict; the summary ends the sentence that begins with the object and the verdict.
func (b *builder) conclude(v Verdict, reason, format string, args ...any) {
	b.answer.Verdict, b.answer.Reason = v, reason
	b.answer.Summary = verdictWords[v]
	switch what := sprintf(format, args); {
	case strings.HasPrefix(what, "at "), strings.HasPrefix(what, "since "), strings.HasPrefix(what, "with "), strings.HasPrefix(what, "by "):
		b.answer.Summary += " " + what
	case what != "":
		b.answer.Summary += ": " + what
	}
}

// inferred says that the verdict is shown by nothing single.
func (b *builder) inferred() { b.answer.Inferred = true }

func (b *builder) say(format string, args ...any) { b.tell(Sentence{Text: sprintf(format, args)}) }

func (b *builder) infer(format string, args ...any) {
	b.tell(Sentence{Text: sprintf(format, args), Inferred: true})
}

// tell adds a sentence, each once.
func (b *builder) tell(s Sentence) {
	if !slices.Contains(b.answer.Sentences, s) {
		b.answer.Sentences = append(b.answer.Sentences, s)
	}
}

// quote says what an object or event says.
func (b *builder) quote(message string) {
	if line := firstLine(message); line != "" {
		b.say("%s.", paragraph.Capital(line))
	}
}

// show adds evidence, each once.
func (b *builder) show(source string, at time.Time, format string, args ...any) {
	proof := Proof{Source: source, Text: sprintf(format, args), Time: optional(at)}
	if !slices.ContainsFunc(b.answer.Evidence, func(p Proof) bool { return p.Source == proof.Source && p.Text == proof.Text }) {
		b.answer.Evidence = append(b.answer.Evidence, proof)
	}
}

func (b *builder) lack(format string, args ...any) {
	if what := sprintf(format, args); !slices.Contains(b.answer.Missing, what) {
		b.answer.Missing = append(b.answer.Missing, what)
	}
}

// Quoted is a word as shells take it: names in saved files may be anything.
func Quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:@+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// next suggests a command of kubectl in the object's namespace. Names in it are quoted by whoever writes it.
func (b *builder) next(command, why string) {
	step := Step{Command: fmt.Sprintf("%s -n %s %s", b.kubectl(), Quoted(b.answer.Object.Namespace), command), Why: why, Destructive: strings.HasPrefix(command, "delete ")}
	if !slices.Contains(b.answer.Next, step) {
		b.answer.Next = append(b.answer.Next, step)
	}
}

func sprintf(format string, args []any) string {
	if len(args) == 0 {
		return strings.ReplaceAll(format, "%%", "%")
	}
	return fmt.Sprintf(format, args...)
}

// optional is nil for the zero time.
func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
