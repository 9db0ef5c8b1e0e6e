// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/entry"
)

// example is the name of the object that is tried, if it is none that exists.
const example = "example"

// fillFrom fills in what the address leaves open with the settings of an existing object.
func (f *form) fillFrom(base *workload.Scheduled) {
	fill := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	fill(&f.Zone, base.Policy.Timing.ZoneName)
	if d := base.Policy.Deadline; d != nil {
		fill(&f.Deadline, (time.Duration(min(*d, int64(entry.LongestDeadline/time.Second))) * time.Second).String())
	}
	t := base.Timetable()
	if t == nil {
		fill(&f.Schedule, base.ScheduleText())
		f.Language = asCronJob
		policy, _, _ := unstructured.NestedString(base.Written().Object, "spec", "concurrencyPolicy")
		fill(&f.Policy, policy)
		return
	}
	var lines []string
	for i := range t.Spec.Schedules {
		lines = append(lines, lineOf(&t.Spec.Schedules[i]))
	}
	fill(&f.Schedule, strings.Join(lines, "\n"))
	f.Language = asTimetable
	fill(&f.Policy, string(t.Spec.Concurrency.Policy))
}

// lineOf writes a schedule of a Timetable as entry.Line reads it.
func lineOf(s *v1alpha1.Schedule) string {
	switch {
	case s.Every != nil:
		return "every " + string(*s.Every)
	case len(s.At) > 0:
		var moments []string
		for _, at := range s.At {
			moments = append(moments, string(at))
		}
		return "at " + strings.Join(moments, ", ")
	}
	return s.Cron
}

// object gives the CronJob or Timetable that is asked about: a new one, or a copy of an existing one with what the form
// says, which is not suspended.
func (a *asked) object(base *workload.Scheduled) (*workload.Scheduled, error) {
	content := map[string]any{}
	var objects []workload.Object
	if base != nil {
		content = base.Written().DeepCopy().Object
		for _, calendar := range base.Calendars {
			o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(calendar)
			if err != nil {
				return nil, err
			}
			objects = append(objects, workload.Object{Content: calendarOf(o)})
		}
	} else {
		content["metadata"] = map[string]any{"name": example, "namespace": "default"}
	}
	delete(content, "status")
	spec, _ := content["spec"].(map[string]any)
	if spec == nil {
		spec = map[string]any{}
		content["spec"] = spec
	}
	delete(spec, "suspend")
	delete(spec, "suspendUntil")
	if a.timetable {
		a.asTimetable(content, spec)
	} else {
		a.asCronJob(content, spec)
	}
	objects = append(objects, workload.Object{Content: &unstructured.Unstructured{Object: content}})
	all, err := workload.Read(objects, workload.Options{})
	if err != nil {
		return nil, err
	}
	if len(all.Scheduled) != 1 {
		return nil, fmt.Errorf("%d schedules were read", len(all.Scheduled))
	}
	return all.Scheduled[0], nil
}

func calendarOf(content map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Calendar"))
	return o
}

func (a *asked) asCronJob(content, spec map[string]any) {
	if content["kind"] == nil {
		content["apiVersion"], content["kind"] = "batch/v1", "CronJob"
	}
	spec["schedule"] = a.lines[0]
	set(spec, "timeZone", a.zone)
	if a.policy != "" {
		spec["concurrencyPolicy"] = a.policy
	}
	delete(spec, "startingDeadlineSeconds")
	if a.deadline != nil {
		spec["startingDeadlineSeconds"] = int64(*a.deadline / time.Second)
	}
	template, _ := spec["jobTemplate"].(map[string]any)
	spec["jobTemplate"] = withPods(template)
}

func (a *asked) asTimetable(content, spec map[string]any) {
	if content["kind"] == nil {
		content["apiVersion"], content["kind"] = v1alpha1.GroupVersion.String(), "Timetable"
	}
	written, _ := spec["schedules"].([]any)
	var schedules []any
	for n, line := range a.lines {
		i := entry.Line(line)
		one := map[string]any{"name": fmt.Sprintf("line-%d", n+1)}
		if len(a.lines) == 1 {
			one["name"] = "main"
		}
		// What the form cannot say of a schedule (its name, anchor, weeks) stays if the text of that line does.
		if n < len(written) {
			if was, ok := written[n].(map[string]any); ok && sameLine(was, line) {
				schedules = append(schedules, was)
				continue
			}
		}
		switch {
		case i.Every != "":
			one["every"] = i.Every
		case len(i.At) > 0:
			var moments []any
			for _, at := range i.At {
				moments = append(moments, at)
			}
			one["at"] = moments
		default:
			one["cron"] = i.Cron
		}
		schedules = append(schedules, one)
	}
	spec["schedules"] = schedules
	set(spec, "timeZone", a.zone)
	if a.policy != "" {
		concurrency, _ := spec["concurrency"].(map[string]any)
		if concurrency == nil || concurrency["policy"] != a.policy {
			concurrency = map[string]any{"policy": a.policy}
		}
		spec["concurrency"] = concurrency
	}
	delete(spec, "startingDeadline")
	if a.deadline != nil {
		spec["startingDeadline"] = a.deadline.String()
	}
	template, _ := spec["template"].(map[string]any)
	if kind, _ := template["kind"].(string); cmp.Or(kind, "Job") == "Job" {
		spec["template"] = withPods(template)
	}
}

// sameLine tells whether a schedule as it is written is that of a line.
func sameLine(written map[string]any, line string) bool {
	var s v1alpha1.Schedule
	return runtime.DefaultUnstructuredConverter.FromUnstructured(written, &s) == nil && lineOf(&s) == line
}

// set writes the name of a zone, or takes it out.
func set(spec map[string]any, field string, zone *time.Location) {
	delete(spec, field)
	if zone != nil {
		spec[field] = zone.String()
	}
}

// withPods gives a template of a Job in which there is one of Pods: the page need not know what runs, and what a fleet
// is kept for does not say it.
func withPods(template map[string]any) map[string]any {
	if template == nil {
		template = map[string]any{}
	}
	spec, _ := template["spec"].(map[string]any)
	if spec == nil {
		spec = map[string]any{}
		template["spec"] = spec
	}
	pods, _ := spec["template"].(map[string]any)
	podSpec, _ := pods["spec"].(map[string]any)
	if containers, _ := podSpec["containers"].([]any); len(containers) == 0 {
		spec["template"] = map[string]any{"spec": map[string]any{"restartPolicy": "Never",
			"containers": []any{map[string]any{"name": "main", "image": "example"}}}}
	}
	return template
}
