// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/carillon-dev/carillon/internal/plan/document"
	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

const (
	longestCronJob = 52
	// keptByTimetable is how many runs of each outcome a Timetable keeps by default.
	keptByTimetable = 3
	// clockYears is for how many years changes of the clock are looked for.
	clockYears = 5
)

// unsayable are fields of a Timetable that a CronJob has nothing for, each with what to do.
var unsayable = []struct{ field, cure string }{
	{"window", "a CronJob runs until it is suspended or deleted"},
	{"exclude", "let the command look at the date"},
	{"jitter", "choose another minute for each CronJob"},
	{"suspendUntil", "a CronJob has suspend: true, until somebody takes it away"},
	{"pauseAfterFailures", "watch the CronJob, and suspend it by hand"},
	{"retry", "write backoffLimit in the Job's spec"},
	{"timeout", "write activeDeadlineSeconds in the Job's spec"},
	{"lateAfter", "watch lastScheduleTime"},
	{"parameters", "write the values into the template"},
	{"outcome", "a CronJob starts Jobs alone"},
}

// toCronJob makes a CronJob of a Timetable that says nothing which a CronJob cannot.
func toCronJob(object *yaml.Node, o Options) (Result, error) {
	c := &toCronJobs{options: o, spec: newBuilder()}
	c.result = Result{Changed: true, Reference: "cronjob/" + nameOf(object)}
	old := "timetable/" + nameOf(object)
	if err := c.result.metadata(object, longestCronJob, true); err != nil {
		return Result{}, err
	}
	spec := value(object, "spec")
	if spec == nil || spec.Kind != yaml.MappingNode {
		return Result{}, fmt.Errorf("spec is missing")
	}
	c.from = &fields{"spec", spec}
	for _, field := range unsayable {
		if key, content := c.from.take(field.field); key != nil && (field.field != "lateAfter" || content.Value != "10m") {
			c.lose(field.field, field.cure)
		}
	}
	for _, step := range []func() error{c.schedule, c.catchUp, c.concurrency, c.history, c.template} {
		if err := step(); err != nil {
			return Result{}, err
		}
	}
	if left := c.from.left(); left != "" {
		return Result{}, fmt.Errorf("%s is no field of a Timetable", left)
	}
	if len(c.lost) > 0 {
		return Result{}, &Loss{Reference: old, Lost: c.lost}
	}
	value(object, "apiVersion").Value = "batch/v1"
	value(object, "kind").Value = "CronJob"
	whole := fields{"", object}
	whole.take("status")
	object.Content[index(object, "spec")+1] = c.spec.mapping
	c.result.Content = object
	c.result.Reference = "cronjob/" + nameOf(object)
	return c.result, nil
}

// toCronJobs is the work on one Timetable.
type toCronJobs struct {
	options Options
	result  Result
	from    *fields
	spec    builder
	lost    []string
}

func (c *toCronJobs) lose(field, cure string) { c.lost = append(c.lost, "spec."+field+": "+cure) }

// hashed finds the H that stands for a value chosen by the object's name, which those of THU and MARCH do not.
var hashed = regexp.MustCompile(`(?i)\bH\b`)

// schedule takes schedules, timeZone and dst.
func (c *toCronJobs) schedule() error {
	key, list := c.from.take("schedules")
	zoneKey, zone := c.from.text("timeZone")
	_, dst := c.from.take("dst")
	zone = cmp.Or(zone, "UTC")
	location, err := schedule.LoadZone(zone)
	if err != nil {
		return fmt.Errorf("spec.timeZone: %w", err)
	}
	if key == nil || list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
		return fmt.Errorf("spec.schedules is missing")
	}
	if n := len(list.Content); n > 1 {
		c.lose("schedules", fmt.Sprintf("there are %d, and a CronJob has one: write %d CronJobs", n, n))
		return nil
	}
	item := list.Content[0]
	cron := textOf(item, "cron")
	for _, field := range []struct{ name, cure string }{
		{"everyWeeks", "let the command look at the week"},
		{"every", "a CronJob has @every, which counts from its last run and moves with each; a schedule such as */10 * * * * does not"},
		{"at", "a CronJob comes again each year"},
	} {
		if value(item, field.name) != nil {
			c.lose("schedules[0]."+field.name, field.cure)
		}
	}
	if cron == "" {
		return nil
	}
	read, err := schedule.Parse(cron, location)
	if err != nil || hashed.MatchString(cron) {
		c.lose("schedules[0].cron", fmt.Sprintf("%q is more than the five fields of a CronJob can say", cron))
		return nil
	}
	c.days(item, cron, read, location)
	c.clock(cron, read, location, dst)
	if at := index(item, "cron"); at >= 0 {
		key.LineComment = cmp.Or(item.Content[at+1].LineComment, key.LineComment)
		key.HeadComment = cmp.Or(key.HeadComment, item.HeadComment, item.Content[at].HeadComment)
	}
	c.spec.put(key, "schedule", document.Quoted(cron))
	c.spec.put(zoneKey, "timeZone", zone)
	return nil
}

// days takes dayRule, which makes a difference if both day fields choose days.
func (c *toCronJobs) days(item *yaml.Node, cron string, read schedule.Schedule, zone *time.Location) {
	if textOf(item, "dayRule") != string(schedule.DayRuleBoth) {
		return
	}
	both, err := schedule.Compile(schedule.Item{Cron: cron}, schedule.Options{Zone: zone, DayRule: schedule.DayRuleBoth,
		DST: schedule.DST{Gap: schedule.GapSkip, Overlap: schedule.OverlapBoth}})
	end := c.options.Now.AddDate(clockYears, 0, 0)
	if err != nil || read.Count(c.options.Now, end) != both.Count(c.options.Now, end) {
		c.lose("schedules[0].dayRule", "a CronJob runs on days that match either field; let the command look at the day")
	}
}

// clock compares the times on days on which the clock changes.
func (c *toCronJobs) clock(cron string, read schedule.Schedule, zone *time.Location, dst *yaml.Node) {
	placed, err := schedule.Compile(schedule.Item{Cron: cron}, schedule.Options{Zone: zone,
		DST: schedule.DST{Gap: schedule.Gap(textOf(dst, "gap")), Overlap: schedule.Overlap(textOf(dst, "overlap"))}})
	if err != nil {
		c.lose("schedules[0].cron", err.Error())
		return
	}
	const around = 4 * time.Hour
	end := c.options.Now.AddDate(clockYears, 0, 0).Unix()
	for at := c.options.Now.Unix(); at < end; {
		_, change, _ := schedule.ClockOf(zone).Stretch(at)
		if change >= end {
			return
		}
		from, until := time.Unix(change, 0).Add(-around), time.Unix(change, 0).Add(around)
		for a, b := read.Next(from), placed.Next(from); ; a, b = read.Next(a), placed.Next(b) {
			inA, inB := !a.IsZero() && a.Before(until), !b.IsZero() && b.Before(until)
			if !inA && !inB {
				break
			}
			if inA != inB || !a.Equal(b) {
				c.lose("dst", fmt.Sprintf("on days on which the clock changes, such as %s, a CronJob has other times; "+
					"if that does not matter write dst: {gap: Skip, overlap: Both}, which is what a CronJob does", time.Unix(change, 0).In(zone).Format("2006-01-02")))
				return
			}
		}
		at = change
	}
}

// catchUp takes what is made up, and suspend.
func (c *toCronJobs) catchUp() error {
	key, text := c.from.text("startingDeadline")
	if key != nil {
		deadline, err := timeset.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("spec.startingDeadline: %w", err)
		}
		c.spec.put(key, "startingDeadlineSeconds", int64(deadline/time.Second))
	}
	if _, catchUp := c.from.take("catchUp"); catchUp != nil {
		if policy := textOf(catchUp, "policy"); policy != "" && policy != "Latest" {
			c.lose("catchUp", "after an outage a CronJob makes up the latest time, within startingDeadlineSeconds")
		}
	}
	switch key, policy := c.from.text("onResume"); {
	case key == nil:
		c.result.Notes = append(c.result.Notes, "when a CronJob is resumed, the latest time that it missed starts at once; the Timetable's does not")
	case policy != "CatchUp":
		c.lose("onResume", "when a CronJob is resumed, the latest time that it missed starts at once: take the field out if that does not matter")
	}
	if key, suspend := c.from.text("suspend"); key != nil {
		c.spec.put(key, "suspend", suspend == "true")
	}
	return nil
}

// concurrency takes the policy.
func (c *toCronJobs) concurrency() error {
	key, content := c.from.take("concurrency")
	policy := cmp.Or(textOf(content, "policy"), "Forbid")
	if limit := textOf(content, "limit"); limit != "" && limit != "1" {
		c.lose("concurrency.limit", "a CronJob has Allow, without a limit, or Forbid, for one at a time")
	}
	switch policy {
	case "Queue":
		c.lose("concurrency.policy", "a CronJob has no queue: with Forbid only the latest time waits")
	case "Replace":
		c.result.Notes = append(c.result.Notes, "with Replace a CronJob's new run starts at once, although Pods of the old one may still end")
	case "Forbid", "Allow":
	default:
		return fmt.Errorf("spec.concurrency.policy: %q is none of Forbid, Queue, Replace and Allow", policy)
	}
	if key != nil {
		key = withComments(key, content)
	}
	c.spec.put(key, "concurrencyPolicy", policy)
	return nil
}

// history takes the limits of what is kept.
func (c *toCronJobs) history() error {
	all, content := c.from.take("history")
	for _, limit := range []struct{ from, to string }{{"succeeded", "successfulJobsHistoryLimit"}, {"failed", "failedJobsHistoryLimit"}} {
		kept := value(content, limit.from)
		if value(kept, "maxAge") != nil {
			c.lose("history."+limit.from+".maxAge", "write ttlSecondsAfterFinished in the Job's spec")
		}
		f := fields{"spec.history." + limit.from, kept}
		key, n, ok, err := f.number("limit")
		if err != nil {
			return err
		}
		if !ok {
			n = keptByTimetable
		}
		if at := index(content, limit.from); at >= 0 {
			key = gather(key, withComments(content.Content[at], kept))
		}
		if all != nil {
			key, all = gather(key, all), nil
		}
		c.spec.put(key, limit.to, n)
	}
	if value(content, "ledger") != nil {
		c.lose("history.ledger", "a CronJob keeps no record of its times")
	}
	return nil
}

// gather is a key with the comments of the one around it, whose own place is gone. key may be nil.
func gather(key, around *yaml.Node) *yaml.Node {
	if key == nil {
		return around
	}
	key.HeadComment = strings.Trim(around.HeadComment+"\n"+key.HeadComment, "\n")
	key.LineComment = cmp.Or(key.LineComment, around.LineComment)
	key.FootComment = strings.Trim(key.FootComment+"\n"+around.FootComment, "\n")
	return key
}

// template takes the template.
func (c *toCronJobs) template() error {
	key, content := c.from.take("template")
	if key == nil || content.Kind != yaml.MappingNode || value(content, "spec") == nil {
		return fmt.Errorf("spec.template.spec is missing")
	}
	f := fields{"spec.template", content}
	_, api := f.text("apiVersion")
	_, kind := f.text("kind")
	if cmp.Or(api, "batch/v1") != "batch/v1" || cmp.Or(kind, "Job") != "Job" {
		c.lose("template.kind", fmt.Sprintf("a CronJob starts Jobs of batch/v1, and no %s of %s", cmp.Or(kind, "Job"), cmp.Or(api, "batch/v1")))
	}
	if found := variableIn(content); found != "" {
		c.lose("template", found+" is a variable that a CronJob does not know")
	}
	c.spec.put(key, "jobTemplate", content)
	return nil
}
