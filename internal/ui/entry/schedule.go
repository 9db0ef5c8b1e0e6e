// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/words"
	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// CronJob checks the expression of a CronJob. The error is a *schedule.ParseError, if it cannot be read.
func CronJob(expression string) error {
	_, err := words.Read(expression, words.Options{})
	return err
}

// NoZone checks that an expression names no zone: an API server refuses it where there is a field for that.
func NoZone(expression string) error {
	if !strings.Contains(expression, "TZ") {
		return nil
	}
	e, err := words.Read(expression, words.Options{})
	if err != nil || !e.HasZone {
		return errors.New("a zone (TZ=) has no place in the expression: write it into the field for the time zone")
	}
	_, rest, _ := strings.Cut(expression, " ")
	return fmt.Errorf("a zone has no place in the expression: write %s here, and %s into the field for the time zone", strings.TrimSpace(rest), e.Zone)
}

// Schedule is one of a Timetable: a cron expression, a period, or moments. One of the three is set.
type Schedule struct {
	Cron, Every string
	At          []string
}

// Line reads a schedule from a line: a cron expression, "every 6h", or "at 2027-03-01T14:00, 2027-04-01T09:00". It may
// be wrong still: Check tells.
func Line(text string) Schedule {
	if rest, ok := cutWord(text, "every"); ok {
		return Schedule{Every: rest}
	}
	if rest, ok := cutWord(text, "at"); ok {
		s := Schedule{}
		for moment := range strings.SplitSeq(rest, ",") {
			s.At = append(s.At, strings.TrimSpace(moment))
		}
		return s
	}
	return Schedule{Cron: text}
}

func cutWord(line, word string) (rest string, ok bool) {
	first, rest, _ := strings.Cut(line, " ")
	return strings.TrimSpace(rest), strings.EqualFold(strings.TrimSuffix(first, ":"), word)
}

// unnamed is the name under which it is read; that is not its own, and no error names it.
const unnamed = "main"

// Check tells what is wrong with it.
func (s Schedule) Check() error {
	if s.Cron != "" {
		_, err := words.Read(s.Cron, words.Options{Language: words.Timetable, Name: unnamed})
		if parse, ok := errors.AsType[*schedule.ParseError](err); ok {
			bare := *parse
			bare.Name = ""
			return &bare
		}
		return err
	}
	_, err := timeset.Compile(s.spec())
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "schedule "+unnamed+": "))
	}
	return nil
}

// Count is how many times it has in a span; 0 if something is wrong with it.
func (s Schedule) Count(from, to time.Time) int {
	set, err := timeset.Compile(s.spec())
	if err != nil {
		return 0
	}
	return set.Count(from, to)
}

func (s Schedule) spec() timeset.Spec {
	return timeset.Spec{Items: []timeset.Item{{Name: unnamed, Cron: s.Cron, Every: s.Every, At: s.At}}}
}
