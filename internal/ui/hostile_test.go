// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// hostile are texts of somebody who would change what a page shows or does, where Kubernetes lets him write what he
// wants.
var hostile = map[string]string{
	"controls":                  "a\x01\x07\x08\x0b\x1b\x7f\u0080\u0085\u009bb",
	"colours, links and titles": "\x1b[31mred\x1b[0m \x1b]8;;javascript:alert(1)\x1b\\a link\x1b]8;;\x1b\\ \x1b]0;a title\x07 \x1b[2J\x1b[1;1H\u009b2J",
	"direction":                 "failed \u202edeliaf\u202c \u2066\u2067\u2068abc \u200e\u200f\u061c \u05d0\u05d1\u05d2 1 2 3",
	"without width":             "ba\u200bck\u2060up\ufeff\u180e\u3164\U000e0041",
	"lines":                     "one\u2028two\u2029three\r\nfour\rfive",
	"markup":                    `</title></textarea></pre></svg>"><script>alert(1)</script><img src=x onerror=alert(1)><style>*{display:none}</style><!--`,
	"attributes":                `" onmouseover="alert(1)" style="display:none" zz='y' autofocus onfocus=alert(1) `,
	"addresses":                 `javascript:alert(1)//" href="javascript:alert(1)" formaction="//evil.example/`,
	"templates":                 "{{.Site}} {{template \"csrf\"}} ${alert(1)} `",
	"a long word":               strings.Repeat("W", 1<<20),
	"many lines":                strings.Repeat("x\n", 1<<15),
	"no UTF-8":                  "a\xff\xfe\xc0\x80\xed\xa0\x80\xf5b",
}

// sane is how large a page may be that shows an object of the largest size that an API server stores.
const sane = 8 << 20

// hostileWorld has a text wherever Kubernetes takes any.
func hostileWorld(text string) uitest.World {
	now := uitest.Now
	stamp := func(ago time.Duration) string { return now.Add(-ago).Format(time.RFC3339) }
	objects := []map[string]any{}
	add := func(apiVersion, kind, name string, metadata, rest map[string]any) {
		all := map[string]any{"name": name, "namespace": "default", "uid": "uid-" + name, "creationTimestamp": stamp(72 * time.Hour), "annotations": map[string]any{"note": text}}
		for key, value := range metadata {
			all[key] = value
		}
		o := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": all}
		for key, value := range rest {
			o[key] = value
		}
		objects = append(objects, o)
	}
	// Definitions and admission bound some texts.
	bounded := string([]rune(text)[:min(len([]rune(text)), 256)])
	pods := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"note": text}}, "spec": map[string]any{"restartPolicy": "Never", "containers": []any{
		map[string]any{"name": "main", "image": text, "command": []any{text, "--", text}, "args": []any{text}, "env": []any{map[string]any{"name": "WORD", "value": text}, map[string]any{"name": text, "value": text}}}}}}
	owner := func(apiVersion, kind, name string) map[string]any {
		return map[string]any{"ownerReferences": []any{map[string]any{"apiVersion": apiVersion, "kind": kind, "name": name, "uid": "uid-" + name, "controller": true}}}
	}
	conditions := []any{map[string]any{"type": "Failed", "status": "True", "reason": text, "message": text, "lastTransitionTime": stamp(time.Minute)}}
	add("batch/v1", "CronJob", "backup", map[string]any{"managedFields": []any{map[string]any{"manager": text, "operation": "Update", "time": stamp(time.Hour)}},
		"labels": map[string]any{"team": text}}, map[string]any{
		"spec":   map[string]any{"schedule": "0 3 * * *", "suspend": true, "jobTemplate": map[string]any{"spec": map[string]any{"template": pods}}},
		"status": map[string]any{"lastScheduleTime": stamp(8 * time.Hour)}})
	add("batch/v1", "CronJob", "unreadable", nil, map[string]any{"spec": map[string]any{"schedule": text, "timeZone": text, "concurrencyPolicy": text, "jobTemplate": map[string]any{"spec": map[string]any{"template": pods}}}})
	add("batch.carillon.dev/v1alpha1", "Timetable", "load", nil, map[string]any{
		"spec": map[string]any{"schedules": []any{map[string]any{"name": "main", "cron": "0 9 * * *"}}, "timeZone": "UTC", "parameters": []any{map[string]any{"name": "table", "default": bounded, "pattern": ".*"}},
			"template": map[string]any{"metadata": map[string]any{"annotations": map[string]any{"note": text}}, "spec": map[string]any{"template": pods}}},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False", "reason": bounded, "message": bounded, "lastTransitionTime": stamp(time.Minute)}},
			"waiting": []any{map[string]any{"scheduledTime": stamp(time.Hour), "trigger": "Schedule", "reason": bounded, "since": stamp(time.Hour)}},
			"results": []any{map[string]any{"scheduledTime": stamp(26 * time.Hour), "result": "Missed", "reason": bounded, "message": bounded}}}})
	failed := map[string]any{"spec": map[string]any{"template": pods}, "status": map[string]any{"failed": 1, "startTime": stamp(2 * time.Minute), "completionTime": stamp(time.Minute), "conditions": conditions}}
	add("batch/v1", "Job", "backup-1", owner("batch/v1", "CronJob", "backup"), failed)
	add("batch/v1", "Job", "backup-2", owner("batch/v1", "CronJob", "backup"), map[string]any{"spec": map[string]any{"template": pods}, "status": map[string]any{"active": 1, "startTime": stamp(2 * time.Minute)}})
	for _, of := range []string{"backup-1", "backup-2"} {
		labels := map[string]any{"batch.kubernetes.io/job-name": of, "batch.kubernetes.io/controller-uid": "uid-" + of, "note": text}
		metadata := owner("batch/v1", "Job", of)
		metadata["labels"] = labels
		add("v1", "Pod", of+"-a", metadata, map[string]any{"spec": map[string]any{"nodeName": text, "containers": pods["spec"].(map[string]any)["containers"]},
			"status": map[string]any{"phase": "Pending", "reason": text, "message": text, "conditions": []any{map[string]any{"type": "PodScheduled", "status": "False", "reason": text, "message": text}},
				"containerStatuses": []any{map[string]any{"name": "main", "image": text, "restartCount": 3, "state": map[string]any{"waiting": map[string]any{"reason": text, "message": text}}}}}})
	}
	for _, of := range [][3]string{{"batch/v1", "CronJob", "backup"}, {"batch/v1", "Job", "backup-1"}, {"v1", "Pod", "backup-1-a"}, {"batch.carillon.dev/v1alpha1", "Timetable", "load"}} {
		add("v1", "Event", "event-of-"+of[2], nil, map[string]any{"type": "Warning", "reason": text, "message": text, "lastTimestamp": stamp(time.Minute), "count": 2, "source": map[string]any{"component": text},
			"reportingComponent": text, "involvedObject": map[string]any{"apiVersion": of[0], "kind": of[1], "namespace": "default", "name": of[2], "uid": "uid-" + of[2], "fieldPath": text}})
	}
	var manifests strings.Builder
	for _, o := range objects {
		text, err := json.Marshal(o)
		if err != nil {
			panic(err)
		}
		manifests.WriteString("---\n")
		for _, r := range string(text) { // YAML takes some characters only when they are escaped
			if r < 0x7f {
				manifests.WriteRune(r)
				continue
			}
			fmt.Fprintf(&manifests, "\\U%08x", r)
		}
		manifests.WriteString("\n")
	}
	w := uitest.World{Manifests: manifests.String(), Logs: map[string]string{}, Notes: []string{text}}
	one := run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "uid-backup"}
	for i, outcome := range []run.Outcome{run.Failed, run.Active, run.Failed, run.Cancelled, run.Succeeded} {
		r := run.Run{UID: types.UID(fmt.Sprintf("uid-backup-%d", i+1)), APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: fmt.Sprintf("backup-%d", i+1), Outcome: outcome, Reason: text, Message: text, Owner: one,
			Created: now.Add(-time.Duration(i+1) * time.Hour), Started: now.Add(-time.Duration(i+1) * time.Hour), ScheduledTime: now.Add(-time.Duration(i+1) * time.Hour), Attempts: 1}
		if outcome != run.Active {
			r.Ended = r.Started.Add(time.Minute)
		}
		w.Runs = append(w.Runs, r)
		id := fmt.Sprintf("c-%d", i)
		w.Attempts = append(w.Attempts, run.Attempt{ContainerID: id, RunUID: r.UID, Namespace: "default", Pod: r.Name + "-a", Container: bounded, Started: r.Started, Ended: r.Ended, ExitCode: 1, Reason: text, OutputBytes: int64(len(text))})
		var log strings.Builder
		for line := range strings.SplitSeq(text, "\n") {
			if log.WriteString(stamp(time.Hour) + " stdout F " + line + "\n"); log.Len() > 2<<20 {
				break
			}
		}
		w.Logs[id] = log.String() + stamp(time.Hour) + " stderr P " + text + "\n"
	}
	w.Omissions = []run.Omission{{Namespace: "default", Owner: one, ScheduledTime: now.Add(-6 * time.Hour), Count: 1, Missed: true, Reason: text, Message: text, Seen: now.Add(-5 * time.Hour)},
		{Namespace: "default", Owner: one, ScheduledTime: now.Add(-7 * time.Hour), Until: now.Add(-6*time.Hour - time.Minute), Count: 4, Reason: text, Message: text, Seen: now.Add(-5 * time.Hour)}}
	return w
}

// Whatever people write into what Kubernetes does not limit, each page is whole text, has no markup of theirs,
// shows what would hide, and is no larger than it must be.
func TestHostileText(t *testing.T) {
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			r := newRigOf(t, hostileWorld(text))
			targets := []string{"/schedule/cronjob/default/unreadable", "/schedule/timetable/default/load", "/why/timetable/default/load", "/schedules?state=failing", "/timeline?zoom=1w", "/run/default/backup-1?attempt=all&times=1",
				"/run/default/backup-2", "/run/default/backup-1?find=a", "/simulate?of=cronjob/default/backup", "/simulate?of=timetable/default/load", "/why/cronjob/default/backup?at=05:00", "/fleet/day?at=2026-11-02"}
			acts := []string{"run-now", "suspend", "resume", "edit", "delete"}
			if len(text) > 1000 { // which takes its time
				acts, targets = []string{"edit"}, nil
			}
			for _, act := range acts {
				for _, of := range []string{"cronjob&name=backup", "cronjob&name=unreadable", "timetable&name=load"} {
					targets = append(targets, "/act/"+act+"?namespace=default&kind="+of)
				}
			}
			for _, act := range []string{"retry", "stop", "delete", "suspend", "resume"} {
				targets = append(targets, "/act/"+act+"?namespace=default&kind=job&name=backup-1", "/act/"+act+"?namespace=default&kind=job&name=backup-2")
			}
			for _, route := range r.routes(t) {
				if route[0] == http.MethodGet {
					targets = append(targets, route[1])
				}
			}
			for _, target := range targets {
				code, header, body := r.ask(t, http.MethodGet, target, true, nil)
				if code >= http.StatusInternalServerError {
					t.Errorf("%s answers %d:\n%.500s", target, code, body)
				}
				checkHostile(t, target, header, body)
			}
		})
	}
}

// Nor are addresses.
func TestHostileAddresses(t *testing.T) {
	r := newRigOf(t, hostileWorld("plain"))
	var text strings.Builder
	for _, each := range slices.Sorted(maps.Values(hostile)) {
		if len(each) < 1000 {
			text.WriteString(each)
		}
	}
	for _, route := range r.routes(t) {
		if route[0] != http.MethodGet || strings.HasPrefix(route[1], "/assets/") {
			continue
		}
		for _, key := range []string{"q", "at", "day", "find", "schedule", "zone", "of", "namespace", "kind", "name", "group", "uid", "attempt", "line", "from", "for", "until", "state", "order", "zoom", "page", "back"} {
			query := url.Values{"kind": {"cronjob"}, "namespace": {"default"}, "name": {"backup"}}
			query.Set(key, text.String())
			_, header, body := r.ask(t, http.MethodGet, route[1]+"?"+query.Encode(), true, nil)
			checkHostile(t, route[1]+"?"+key+"=…", header, body)
		}
		at := strings.LastIndexByte(route[1], '/') + 1
		_, header, body := r.ask(t, http.MethodGet, route[1][:at]+url.PathEscape(text.String()), true, nil)
		checkHostile(t, route[1][:at]+"…", header, body)
	}
}

// The words of an API server that refuses are no better than others.
func TestHostileErrors(t *testing.T) {
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			w := hostileWorld("plain")
			w.Refuses = func(clienttesting.Action) error { return errors.New(text) }
			w.Fails, w.AttemptsFail, w.LogFails = errors.New(text), errors.New(text), errors.New(text)
			r := newRigOf(t, w)
			for _, route := range r.routes(t) {
				if route[0] == http.MethodGet {
					_, header, body := r.ask(t, http.MethodGet, route[1], true, nil)
					checkHostile(t, route[1], header, body)
				}
			}
		})
	}
}
