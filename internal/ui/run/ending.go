// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// ending is how a run ended, for somebody who has never heard of its words.
type ending struct {
	// Class is that of the notice: "bad", "warns" or "".
	Class, Icon string
	// Text says it in sentences, Cure what can be done about it; "" if nothing is known to help.
	Text, Cure string
	// Reason and Message are what its object tells, as it tells it; "" if they say no more than Text.
	Reason, Message string
}

// endingOf explains the end of a run; nil if there is nothing to explain.
func endingOf(k *known) *ending {
	r := &k.run
	switch r.Outcome {
	case run.Failed:
		return failure(k)
	case run.Cancelled:
		return &ending{Icon: "stop", Text: "It was stopped before it ended by itself: it was deleted, or made way for the run after it.", Reason: r.Reason, Message: r.Message}
	case run.Unknown:
		return &ending{Class: "warns", Icon: "question", Text: "It is gone, and nobody saw how it ended: Carillon did not run then, or its object was deleted."}
	case run.Active, "":
		if k.stopped {
			return &ending{Class: "warns", Icon: "warning", Text: "It had not ended when Carillon stopped. What became of it is not known until Carillon runs again."}
		}
		if !k.stopping.IsZero() {
			return k.stoppingText()
		}
		if r.Suspended {
			return &ending{Class: "warns", Icon: "pause", Text: "It is suspended: it has no Pods until somebody resumes it."}
		}
		return waiting(k)
	}
	return nil
}

// waiting says what a run waits for that has not ended; nil if it works.
func waiting(k *known) *ending {
	stuck := 0
	var first string
	for i := range k.pods {
		p := &k.pods[i]
		if p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded {
			continue
		}
		state := diagnosis.StateOf(p)
		if !state.Stuck {
			return nil
		}
		if stuck++; first == "" {
			first = fmt.Sprintf("It does not go on: its Pod %s %s.", p.Name, strings.TrimRight(state.Text, "."))
		}
	}
	switch {
	case stuck > 0:
		return &ending{Class: "warns", Icon: "warning", Text: first}
	case k.job != nil && k.job.Status.Failed > 0 && k.job.Status.Active == 0:
		return &ending{Class: "warns", Icon: "retry", Text: fmt.Sprintf("It waits to be tried again after %s: the delay doubles each time.", quantity.Count(int(k.job.Status.Failed), "failed Pod"))}
	}
	return nil
}

func failure(k *known) *ending {
	r := &k.run
	e := &ending{Class: "bad", Icon: "cross", Reason: r.Reason, Message: r.Message}
	told := k.telling()
	parts := []string{reasonSentence(k)}
	tooLong := r.Reason == batchv1.JobReasonDeadlineExceeded
	if told != nil && told.Failed() && (!tooLong || !told.Stopped()) {
		sentence, cure := k.attemptEnding(told)
		parts, e.Cure = append(parts, sentence), cure
	}
	if r.Retrying {
		e.Class, e.Icon = "warns", "retry"
	}
	if again := k.triedAgain(); again != "" {
		parts = append(parts, again)
	}
	e.Text = strings.Join(parts, " ")
	if tooLong && e.Cure == "" {
		e.Cure = "If it may take longer, raise activeDeadlineSeconds; if it hangs, its output shows where."
	}
	return e
}

// reasonSentence says why the run failed, in the words of its reason.
func reasonSentence(k *known) string {
	r := &k.run
	switch r.Reason {
	case batchv1.JobReasonBackoffLimitExceeded:
		if limit := k.backoffLimit(); limit == 0 {
			return "It failed. Its Pods were not tried again (backoffLimit 0)."
		} else if limit > 0 {
			return fmt.Sprintf("It failed. Its Pods were not tried once more: its backoffLimit allows %s.", quantity.Count(limit, "failure"))
		}
		return "It failed. Its Pods were not tried once more: its backoffLimit allows no more failures."
	case batchv1.JobReasonDeadlineExceeded:
		if k.job != nil && k.job.Spec.ActiveDeadlineSeconds != nil {
			return fmt.Sprintf("It took longer than the %s that it may (activeDeadlineSeconds), and was stopped.", duration.Short(seconds(*k.job.Spec.ActiveDeadlineSeconds)))
		}
		return "It took longer than it may (activeDeadlineSeconds), and was stopped."
	case batchv1.JobReasonPodFailurePolicy:
		return "It failed in a way that must not be tried again: a rule of its podFailurePolicy says so."
	case "OOMKilled":
		return "It failed."
	}
	if text := diagnosis.FailureText(r.Reason); text != "" {
		return "It failed: " + text + "."
	}
	return "It failed."
}

// backoffLimit is how many failures are allowed; -1 if that is not known.
func (k *known) backoffLimit() int {
	if k.job == nil || k.job.Spec.BackoffLimit == nil {
		return -1
	}
	return int(*k.job.Spec.BackoffLimit)
}

// telling is the attempt that tells how the run ended; nil if none has.
func (k *known) telling() *run.Attempt {
	var told *run.Attempt
	for i := range k.attempts {
		a := &k.attempts[i]
		if !a.Ended.IsZero() && (told == nil || a.Weight() > told.Weight() || a.Weight() == told.Weight() && !a.Ended.Before(told.Ended)) {
			told = a
		}
	}
	return told
}

// attemptEnding says in a sentence how an attempt failed, and what helps.
func (k *known) attemptEnding(a *run.Attempt) (text, cure string) {
	who := "Container " + a.Container
	switch a.Reason {
	case "OOMKilled":
		return who + k.memoryText(a), "Raise its memory limit (resources.limits.memory), or let it use less."
	case "DeadlineExceeded", "Evicted":
		return fmt.Sprintf("%s was ended from outside (%s).", who, a.Reason), ""
	case "ContainerCannotRun", "StartError":
		return fmt.Sprintf("%s could not be started (%s): its command, or the user it runs as, is not in its image.", who, a.Reason), "Look at command and args of the container."
	}
	took := ""
	if !a.Started.IsZero() {
		took = " after " + short(a.Ended.Sub(a.Started))
	}
	meaning, cure := exitMeaning(a)
	text = fmt.Sprintf("%s ended with exit code %d%s", who, a.ExitCode, took)
	if meaning != "" {
		text += ": " + meaning
	}
	return text + ".", cure
}

func (k *known) memoryText(a *run.Attempt) string {
	limit := k.limits[a.Container]
	text := " needed more memory than it may have, and was killed"
	switch {
	case limit > 0 && k.limitsNow:
		text += fmt.Sprintf(": its limit is now %s", quantity.Bytes(limit))
	case limit > 0:
		text += fmt.Sprintf(": its limit is %s", quantity.Bytes(limit))
	case k.limits != nil && !k.limitsNow:
		text += ": it has no limit of its own, so the machine, or its Pod, had no more"
	}
	if a.MemoryPeak > 0 {
		text += fmt.Sprintf("; it had %s at its peak", quantity.Bytes(a.MemoryPeak))
	}
	return text + fmt.Sprintf(" (OOMKilled, exit code %d).", a.ExitCode)
}

// exitMeaning says what an exit code means to those who have never seen it, and what helps.
func exitMeaning(a *run.Attempt) (meaning, cure string) {
	switch code := a.ExitCode; {
	case code == 1:
		return "the program says that something went wrong; its output says what", ""
	case code == 2:
		return "programs say so of arguments that they do not understand, shells of a script with a mistake", ""
	case code == 126:
		return "the command was found, and cannot be executed", "Look at its permissions, and whether the image is for this machine's processor."
	case code == 127:
		return "the command was not found in its image", "Look at its spelling and at PATH."
	case code == 137:
		return "it was killed (137 is 128 + 9, SIGKILL), as happens to what does not end in time when it is asked to, or when the machine runs out of memory", ""
	case code == 143:
		return "it was asked to end (143 is 128 + 15, SIGTERM), as happens when a run is stopped or its machine shut down", ""
	case diagnosis.ExitText(code) != "":
		return diagnosis.ExitText(code), ""
	case 128 < code && code < 160:
		return fmt.Sprintf("signal %d ended it", code-128), ""
	}
	return "", ""
}

// ended says in a few words how an attempt ended.
func ended(a *run.Attempt) (class, icon, text string) {
	switch {
	case a.Ended.IsZero():
		return "active", "play", "running"
	case !a.Failed():
		return "succeeded", "check", "succeeded"
	case a.Reason == "OOMKilled":
		return "failed", "cross", "out of memory"
	case a.Stopped():
		return "cancelled", "stop", "stopped"
	}
	return "failed", "cross", "failed"
}
