// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// confirmation is what is said before something is done, and how to do it.
type confirmation struct {
	Title   string
	Subject named
	// Version is what the viewer has seen, which must still be so when he decides.
	Version string
	// Will is what happens, and Not what does not and might be feared, a sentence each.
	Will, Not []string
	Warnings  []string
	// Refused says why the user may not do it, and Idle why there is nothing to do; "" if he may and there is. Instead
	// leads to what can be done instead.
	Refused, Idle string
	Instead       *link
	// Fault is why it was not done.
	Fault string
	// Request tells a wish from its repetition; "" where it does not matter.
	Request string
	// Choices are how it can be done; Until is the end of a suspension, nil if it cannot have one.
	Choices *choices
	Until   *field
	// Values are those that a run can be given.
	Values *values
	// Button does it. Danger: what it takes away does not come back.
	Button string
	Danger bool
	// Command does the same in a terminal; "" if no single one does.
	Command string
	// Manifest is what goes, for whoever wants it back. TooMuch is why it is not written here, and Save the command that
	// gives it; "" if it is.
	Manifest, TooMuch, Save string
}

// May tells whether there is anything to decide.
func (c *confirmation) May() bool { return c.Refused == "" && c.Idle == "" }

// HasValues tells whether a run can be given any.
func (c *confirmation) HasValues() bool { return c.Values != nil && len(c.Values.Groups) > 0 }

type link struct{ Text, URL string }

// choices are ways to do something, of which one is chosen.
type choices struct {
	Name, Legend string
	Options      []option
}

type option struct {
	Value, Text, Hint string
	Chosen            bool
}

// choose marks what was sent, or else the first.
func (c *choices) choose(sent string) *choices {
	i := max(0, slices.IndexFunc(c.Options, func(o option) bool { return o.Value == sent }))
	c.Options[i].Chosen = true
	return c
}

// reasonOf is what the API server says, field by field.
func reasonOf(err error) string {
	var causes []string
	for _, c := range causesOf(err) {
		causes = append(causes, strings.TrimPrefix(c.Field+": "+c.Message, ": "))
	}
	if len(causes) == 0 {
		return strings.TrimSuffix(err.Error(), ".")
	}
	return strings.Join(causes, "; ")
}

// causesOf are what the API server says of single fields.
func causesOf(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}

// theseRuns names runs in a sentence, the first few of them.
func theseRuns(runs []run.Run, now time.Time) string {
	const most = 3
	var names []string
	for i := range runs[:min(most, len(runs))] {
		names = append(names, runs[i].Name+" ("+started(&runs[i], now)+")")
	}
	if more := len(runs) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return list(names)
}

// list joins words as a sentence does.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func durationText(d time.Duration) string { return duration.Short(d) }

// goOn says that active runs are left alone.
func goOn(runs []run.Run, now time.Time) string {
	switch len(runs) {
	case 0:
		return "No run is active now, so none is stopped."
	case 1:
		return "The run that is active goes on: " + theseRuns(runs, now) + "."
	}
	return quantity.CountGrouped(len(runs), "run") + " that are active go on: " + theseRuns(runs, now) + "."
}

// upper begins a sentence, but leaves the names of fields as they are written.
func upper(text string) string {
	if text == "" {
		return ""
	}
	first, _, _ := strings.Cut(text, " ")
	if strings.ToLower(first) != first || strings.ContainsAny(first, ".:=\"") {
		return text
	}
	return paragraph.Capital(text)
}
