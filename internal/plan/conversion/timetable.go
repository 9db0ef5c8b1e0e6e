// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/carillon-dev/carillon/internal/plan/document"
	"github.com/carillon-dev/carillon/schedule"
)

// What the API fills into a CronJob, and what a Timetable has at most.
const (
	succeededByDefault = 3
	failedByDefault    = 1
	mostHistory        = 1000
	longestTimetable   = 63
)

// toTimetable makes a Timetable of a CronJob that has the same times and acts in the same way.
func toTimetable(object *yaml.Node, o Options) (Result, error) {
	c := &toTimetables{options: o, spec: newBuilder()}
	api := textOf(object, "apiVersion")
	c.result = Result{Changed: true, Reference: "timetable/" + nameOf(object)}
	c.anchor = textOf(value(object, "status"), "lastScheduleTime")
	if c.anchor == "" {
		c.anchor = textOf(value(object, "metadata"), "creationTimestamp")
	}
	if err := c.result.metadata(object, longestTimetable, false); err != nil {
		return Result{}, err
	}
	spec := value(object, "spec")
	if spec == nil || spec.Kind != yaml.MappingNode {
		return Result{}, fmt.Errorf("spec is missing")
	}
	c.from = &fields{"spec", spec}
	for _, step := range []func() error{c.schedule, c.deadline, c.policies, c.history} {
		if err := step(); err != nil {
			return Result{}, err
		}
	}
	if err := c.template(api); err != nil {
		return Result{}, err
	}
	if left := c.from.left(); left != "" {
		return Result{}, fmt.Errorf("%s is no field of a CronJob", left)
	}
	value(object, "apiVersion").Value = "batch.carillon.dev/v1alpha1"
	value(object, "kind").Value = "Timetable"
	whole := fields{"", object}
	whole.take("status")
	object.Content[index(object, "spec")+1] = c.spec.mapping
	c.result.Content = object
	c.result.Reference = "timetable/" + nameOf(object)
	return c.result, nil
}

// toTimetables is the work on one CronJob.
type toTimetables struct {
	options Options
	result  Result
	from    *fields
	spec    builder
	// anchor is from when "@every" counts; "" if it is not known. suspended tells that suspend is written.
	anchor    string
	suspended bool
}

func (c *toTimetables) note(format string, args ...any) {
	c.result.Notes = append(c.result.Notes, fmt.Sprintf(format, args...))
}

// schedule takes schedule and timeZone.
func (c *toTimetables) schedule() error {
	key, text := c.from.text("schedule")
	if key == nil {
		return fmt.Errorf("spec.schedule is missing")
	}
	zoneKey, zone := c.from.text("timeZone")
	inText, rest := cutZone(text)
	if inText != "" && zone != "" {
		return fmt.Errorf("spec.schedule names a time zone, and spec.timeZone another: take one out")
	}
	if zone = cmp.Or(zone, inText); zone == "" && !c.options.Defaults {
		zone = cmp.Or(c.options.TimeZone, "UTC")
		if c.options.TimeZone == "" {
			c.note("the CronJob names no time zone, so its times were those of the controller's process; they are taken for UTC. --time-zone names another")
		}
	} else if zone == "" {
		zone = c.options.TimeZone
	}
	location, err := schedule.LoadZone(zone)
	if err != nil || strings.EqualFold(zone, "local") {
		return fmt.Errorf("spec.timeZone: %q is no time zone that a Timetable can name; write one such as Europe/Rome", zone)
	}
	read, err := schedule.Parse(rest, location)
	if err != nil {
		return fmt.Errorf("spec.schedule: %w", err)
	}
	item, every := newBuilder(), false
	if period, ok := read.Every(); ok {
		every = true
		if err := c.every(item, key, period); err != nil {
			return err
		}
	} else {
		cron := intended(rest)
		if _, err := schedule.Compile(schedule.Item{Cron: cron}, schedule.Options{Zone: location}); err != nil {
			return fmt.Errorf("spec.schedule: %w", err)
		}
		if !read.Satisfiable() {
			c.note("there is no day that matches %s: it never runs, and its condition Ready will say so", cron)
		}
		item.put(nil, "cron", quotedWithComment(cron, key))
	}
	c.spec.put(headOf(key), "schedules", document.List(item.mapping))
	if zone != "" {
		c.spec.put(zoneKey, "timeZone", zone)
	}
	if !every && !c.options.Defaults {
		c.spec.put(nil, "dst", document.Flow(document.Map("gap", "Skip", "overlap", "Both")))
	}
	return nil
}

// headOf is a key with the comments above it alone.
func headOf(key *yaml.Node) *yaml.Node {
	return &yaml.Node{HeadComment: key.HeadComment, FootComment: key.FootComment}
}

func quotedWithComment(text string, key *yaml.Node) *yaml.Node {
	node := document.Quoted(text)
	node.LineComment = key.LineComment
	return node
}

// every writes the item of "@every". The CronJob counts from its last run, or from its creation.
func (c *toTimetables) every(item builder, key *yaml.Node, period time.Duration) error {
	if period < time.Minute {
		c.note("a CronJob starts one Job a minute at most, so @every %s ran each minute; a Timetable can do every: %s", period, period)
		period = time.Minute
	}
	text, ok := durationText(period)
	if !ok {
		return fmt.Errorf("spec.schedule: @every %s is longer than a Timetable can say", period)
	}
	every := document.Value(text)
	every.LineComment = key.LineComment
	item.put(nil, "every", every)
	anchor, err := time.Parse(time.RFC3339, c.anchor)
	if err != nil {
		c.note("the times of @every count from the CronJob's last run, which the manifest does not tell: without anchor they are the multiples of %s since 1970. "+
			"carillon convert %s --context CLUSTER reads the last run", text, "cronjob/NAME")
		return nil
	}
	item.put(nil, "anchor", document.Quoted(anchor.UTC().Format("2006-01-02T15:04:05Z")))
	return nil
}

// deadline takes startingDeadlineSeconds and suspend.
func (c *toTimetables) deadline() error {
	key, seconds, ok, err := c.from.number("startingDeadlineSeconds")
	if err != nil {
		return err
	}
	text, sayable := durationText(time.Duration(min(seconds, 1<<33)) * time.Second)
	switch {
	case !ok:
	case seconds < 0:
		return fmt.Errorf("spec.startingDeadlineSeconds: %d is negative", seconds)
	case seconds == 0:
		c.suspended = true
		c.note("startingDeadlineSeconds: 0 lets nothing ever start; for a Timetable that is suspend: true")
		c.spec.put(key, "suspend", true)
	case !sayable:
		c.note("startingDeadlineSeconds: %d is left out: that is no limit", seconds)
	default:
		c.spec.put(key, "startingDeadline", text)
	}
	key, suspend := c.from.text("suspend")
	if key != nil && !c.suspended {
		c.spec.put(key, "suspend", suspend == "true")
	}
	if !c.options.Defaults {
		c.spec.put(nil, "onResume", "CatchUp")
	}
	return nil
}

// policies takes concurrencyPolicy.
func (c *toTimetables) policies() error {
	key, policy := c.from.text("concurrencyPolicy")
	switch policy {
	case "", "Allow":
		if c.options.Defaults {
			return nil
		}
		policy = "Allow"
	case "Replace":
		c.note("with Replace the new run starts when the old one and its Pods are gone; the CronJob's starts at once")
	case "Forbid":
	default:
		return fmt.Errorf("spec.concurrencyPolicy: %q is none of Allow, Forbid and Replace", policy)
	}
	c.spec.put(key, "concurrency", document.Flow(document.Map("policy", policy)))
	return nil
}

// history takes the limits of what is kept.
func (c *toTimetables) history() error {
	history := newBuilder()
	for _, limit := range []struct {
		from, to  string
		byDefault int64
	}{
		{"successfulJobsHistoryLimit", "succeeded", succeededByDefault},
		{"failedJobsHistoryLimit", "failed", failedByDefault},
	} {
		key, n, ok, err := c.from.number(limit.from)
		switch {
		case err != nil:
			return err
		case ok && n < 0:
			return fmt.Errorf("spec.%s: %d is negative", limit.from, n)
		case !ok:
			n = limit.byDefault
		case n > mostHistory:
			c.note("%s: %d is cut to %d, which is the most that a Timetable keeps", limit.from, n, mostHistory)
			n = mostHistory
		}
		if c.options.Defaults && n == limit.byDefault {
			continue
		}
		history.put(key, limit.to, document.Flow(document.Map("limit", n)))
	}
	if len(history.mapping.Content) > 0 {
		c.spec.put(nil, "history", history.mapping)
	}
	return nil
}

// template takes jobTemplate.
func (c *toTimetables) template(api string) error {
	key, content := c.from.take("jobTemplate")
	if key == nil || content.Kind != yaml.MappingNode {
		return fmt.Errorf("spec.jobTemplate is missing")
	}
	if metadata := value(content, "metadata"); metadata != nil {
		c.result.template(metadata)
	}
	if metadata := index(content, "metadata"); metadata >= 0 && len(content.Content[metadata+1].Content) == 0 {
		(&fields{"", content}).take("metadata")
	}
	if value(content, "spec") == nil {
		return fmt.Errorf("spec.jobTemplate.spec is missing")
	}
	if found := variableIn(content); found != "" {
		c.note("the template has %s, which is a variable in a Timetable, and was none in the CronJob", found)
	}
	if api == volcano {
		content.Content = append(document.Map("apiVersion", volcano, "kind", "Job").Content, content.Content...)
	}
	c.spec.put(key, "template", content)
	return nil
}

// variableIn is the first variable of Timetables in a template; "" if there is none.
func variableIn(node *yaml.Node) string {
	if node.Kind == yaml.ScalarNode {
		if _, after, ok := strings.Cut(node.Value, "$(carillon."); ok {
			name, _, _ := strings.Cut(after, ")")
			return "$(carillon." + name + ")"
		}
	}
	for _, child := range node.Content {
		if found := variableIn(child); found != "" {
			return found
		}
	}
	return ""
}
