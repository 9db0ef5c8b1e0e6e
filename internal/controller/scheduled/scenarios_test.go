// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/tutorial"
	"github.com/carillon-dev/carillon/internal/kind/volcano"
)

// run is a child that is there before the sync.
type run struct {
	at     string // scheduled time
	name   string // if it is not the one of its time; such a child has no stamp
	phase  string // of a Volcano Job; for Jobs of batch/v1 the condition: Complete, Failed, "Complete=False"
	ended  string
	owner  string // UID of its controller, if not our CronJob; "none"
	uid    string
	unseen bool // on the server, and not in the cache
	// unstarted: there is no status.startTime
	unstarted bool
	born      string
}

// jobName is the child's name for a scheduled time.
func (a *api) jobName(clockTime string) string {
	return fmt.Sprintf("tick-%d", at(clockTime).Unix()/int64(a.info.Traits.NameUnit/time.Second))
}

func (a *api) uidOf(r run) string {
	return map[bool]string{true: "job-" + r.at, false: r.uid}[r.uid == ""]
}

func (a *api) nameOf(r run) string {
	if r.name != "" {
		return r.name
	}
	return a.jobName(r.at)
}

// has stores the child.
func (a *api) has(r run) {
	apiVersion, kind := a.info.Child.ToAPIVersionAndKind()
	ownerVersion, ownerKind := a.info.Owner.ToAPIVersionAndKind()
	name, metadata := a.nameOf(r), map[string]any{}
	metadata["name"], metadata["namespace"], metadata["uid"], metadata["resourceVersion"] = name, "batch", a.uidOf(r), "5"
	if born := map[bool]string{true: r.at, false: r.born}[r.born == ""]; born != "never" {
		metadata["creationTimestamp"] = at(born).Format(time.RFC3339)
	}
	if r.name == "" {
		stamp := map[string]string{"K": "batch.kubernetes.io/cronjob-scheduled-timestamp", "V": volcano.StampAnnotation, "T": tutorial.StampAnnotation}[a.letter]
		metadata["annotations"] = map[string]any{stamp: at(r.at).Format(time.RFC3339)}
	}
	if r.owner != "none" {
		uid := map[bool]string{true: "uid-tick", false: r.owner}[r.owner == ""]
		metadata["ownerReferences"] = []any{map[string]any{"apiVersion": ownerVersion, "kind": ownerKind, "name": "tick", "uid": uid, "controller": true}}
	}
	status := map[string]any{}
	ended := at(map[bool]string{true: r.at, false: r.ended}[r.ended == ""]).Format(time.RFC3339)
	if a.letter == "V" && r.phase != "" {
		status["state"] = map[string]any{"phase": r.phase, "lastTransitionTime": ended}
	} else if r.phase != "" {
		condition, value, ok := strings.Cut(r.phase, "=")
		if !ok {
			value = "True"
		}
		if !r.unstarted {
			status["startTime"] = at(r.at).Format(time.RFC3339)
		}
		status["conditions"] = []any{map[string]any{"type": condition, "status": value}}
		if condition == "Complete" && value == "True" {
			status["completionTime"] = ended
		}
	}
	a.jobs[name] = map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata, "spec": map[string]any{}, "status": status}
	if r.unseen {
		a.hidden = append(a.hidden, name)
	}
}

// The scenarios of cronjob.md section 7 through the shell, for the kinds that TestSync does not lead: one sync makes
// exactly these calls, tells these events, and leaves this status.
func TestScenarios(t *testing.T) {
	forbid := func(s map[string]any) { s["concurrencyPolicy"] = "Forbid" }
	replace := func(s map[string]any) { s["concurrencyPolicy"] = "Replace" }
	limits := func(success, failed int64) func(map[string]any) {
		return func(s map[string]any) { s["successfulJobsHistoryLimit"], s["failedJobsHistoryLimit"] = success, failed }
	}
	for key, c := range map[string]struct {
		spec    func(map[string]any)
		last    string
		jobs    []run
		active  []string // scheduled times whose children status.active lists
		deleted bool
		stale   bool // the cache shows a CronJob without a status
		strip   bool // a webhook takes the owner references away
		fail    map[string]error
		at      string

		calls     []string
		events    []string
		wantLast  string
		wantNames []string
		success   string
		retry     bool
	}{
		"CJ-002 V due": {at: "12:10:00.1", calls: []string{"create tick-29631610", "status tick"}, events: []string{"SuccessfulCreate"},
			wantLast: "12:10:00", wantNames: []string{"tick-29631610"}},
		"CJ-130 T due, with a name in seconds": {at: "12:10:00", calls: []string{"create tick-1777896600", "status tick"},
			wantLast: "12:10:00", wantNames: []string{"tick-1777896600"}},
		"CJ-060 T Allow": {last: "12:10:00", jobs: []run{{at: "12:10:00"}}, active: []string{"12:10:00"}, at: "12:20:00",
			calls: []string{"create tick-1777897200", "status tick"}, wantLast: "12:20:00", wantNames: []string{"tick-1777896600", "tick-1777897200"}},
		"CJ-062 V Forbid": {spec: forbid, last: "12:10:00", jobs: []run{{at: "12:10:00", phase: "Running"}}, active: []string{"12:10:00"}, at: "12:20:00",
			events: []string{"ForbidConcurrent"}, wantLast: "12:10:00", wantNames: []string{"tick-29631610"}},
		"CJ-106 V Q8 an aborted Job blocks": {spec: forbid, last: "12:10:00", jobs: []run{{at: "12:10:00", phase: "Aborted"}}, active: []string{"12:10:00"}, at: "12:20:00",
			events: []string{"ForbidConcurrent"}, wantLast: "12:10:00", wantNames: []string{"tick-29631610"}},
		"CJ-072 T Forbid, and a manual run": {spec: forbid, jobs: []run{{at: "12:05:00", name: "by-hand"}}, at: "12:10:00",
			calls: []string{"status tick"}, wantNames: []string{"by-hand"}},
		"CJ-134 T Forbid is silent": {spec: forbid, last: "12:10:00", jobs: []run{{at: "12:10:00"}}, active: []string{"12:10:00"}, at: "12:20:00",
			wantLast: "12:10:00", wantNames: []string{"tick-1777896600"}},
		"CJ-066 V Replace": {spec: replace, last: "12:10:00", jobs: []run{{at: "12:10:00"}}, active: []string{"12:10:00"}, at: "12:20:00",
			calls:  []string{"get tick-29631610", "delete tick-29631610", "create tick-29631620", "status tick"},
			events: []string{"ReplaceConcurrent", "SuccessfulDelete", "SuccessfulCreate"}, wantLast: "12:20:00", wantNames: []string{"tick-29631620"}},
		"CJ-067 V Replace, and the live look fails": {spec: replace, last: "12:10:00", jobs: []run{{at: "12:10:00"}}, active: []string{"12:10:00"}, at: "12:20:00",
			fail: map[string]error{"get tick-29631610": broken}, calls: []string{"get tick-29631610"}, events: []string{"ReplaceConcurrent", "FailedGet"},
			wantLast: "12:10:00", wantNames: []string{"tick-29631610"}, retry: true},
		"CJ-068 K Replace, and one of two deletes fails: what is deleted is recorded": {spec: replace, last: "12:10:00",
			jobs: []run{{at: "12:00:00"}, {at: "12:10:00"}}, active: []string{"12:00:00", "12:10:00"}, at: "12:20:00",
			fail:   map[string]error{"delete tick-29631610": broken},
			calls:  []string{"get tick-29631600", "get tick-29631610", "delete tick-29631600", "delete tick-29631610", "status tick"},
			events: []string{"SuccessfulDelete", "FailedDelete"}, wantLast: "12:10:00", wantNames: []string{"tick-29631610"}, retry: true},
		"CJ-068 V Replace, and one of two deletes fails: nothing is recorded": {spec: replace, last: "12:10:00",
			jobs: []run{{at: "12:00:00"}, {at: "12:10:00"}}, active: []string{"12:00:00", "12:10:00"}, at: "12:20:00",
			fail:   map[string]error{"delete tick-29631610": broken},
			calls:  []string{"get tick-29631600", "get tick-29631610", "delete tick-29631600", "delete tick-29631610"},
			events: []string{"ReplaceConcurrent", "SuccessfulDelete", "FailedDelete"}, wantLast: "12:10:00",
			wantNames: []string{"tick-29631600", "tick-29631610"}, retry: true},
		"CJ-069 V Replace three": {spec: replace, last: "12:10:00", jobs: []run{{at: "11:50:00"}, {at: "12:00:00"}, {at: "12:10:00"}},
			active: []string{"11:50:00", "12:00:00", "12:10:00"}, at: "12:20:00",
			calls: []string{"get tick-29631590", "get tick-29631600", "get tick-29631610", "delete tick-29631590", "delete tick-29631600", "delete tick-29631610",
				"create tick-29631620", "status tick"},
			events:   []string{"ReplaceConcurrent", "SuccessfulDelete", "SuccessfulDelete", "SuccessfulDelete", "SuccessfulCreate"},
			wantLast: "12:20:00", wantNames: []string{"tick-29631620"}},
		"CJ-073 T Replace what is gone already": {spec: replace, last: "12:10:00", jobs: []run{{at: "12:10:00"}}, active: []string{"12:10:00"}, at: "12:20:00",
			fail: map[string]error{"delete tick-1777896600": apierrors.NewNotFound(jobs, "tick-1777896600")}, calls: []string{"delete tick-1777896600", "create tick-1777897200", "status tick"},
			wantLast: "12:20:00", wantNames: []string{"tick-1777897200"}},
		"CJ-075 V a crash before the record": {jobs: []run{{at: "12:10:00", phase: "Running"}}, at: "12:10:05", calls: []string{"get tick", "status tick"},
			events: []string{"OrphanedJob"}, wantLast: "12:10:00", wantNames: []string{"tick-29631610"}},
		"CJ-075 V and the cache has not even the Job": {jobs: []run{{at: "12:10:00", unseen: true}}, at: "12:10:05",
			calls: []string{"create tick-29631610", "get tick-29631610", "status tick"}, wantLast: "12:10:00", wantNames: []string{"tick-29631610"}},
		"CJ-077 V finished, and not recorded": {jobs: []run{{at: "12:10:00", phase: "Completed", ended: "12:10:03"}}, at: "12:10:05",
			calls: []string{"status tick"}, wantLast: "12:10:00", success: "12:10:03"},
		"CJ-079 V a foreign Job has the name": {jobs: []run{{at: "12:10:00", owner: "none", unseen: true}}, at: "12:10:05",
			calls: []string{"create tick-29631610", "get tick-29631610"}, events: []string{"ForeignJob"}},
		"CJ-080 K the cache shows an older CronJob": {last: "12:10:00", jobs: []run{{at: "12:10:00"}}, active: []string{"12:10:00"}, stale: true, at: "12:10:05",
			calls: []string{"get tick"}, wantLast: "12:10:00", wantNames: []string{"tick-29631610"}},
		"CJ-080 V the cache shows an older CronJob": {last: "12:10:00", jobs: []run{{at: "12:10:00"}}, active: []string{"12:10:00"}, stale: true, at: "12:10:05",
			calls: []string{"get tick"}, wantLast: "12:10:00", wantNames: []string{"tick-29631610"}},
		"CJ-081 V Q4 the cache does not show an active Job": {last: "12:10:00", jobs: []run{{at: "12:10:00", unseen: true}}, active: []string{"12:10:00"}, at: "12:10:05",
			calls: []string{"get tick-29631610"}, wantLast: "12:10:00", wantNames: []string{"tick-29631610"}},
		"CJ-084 V an active Job is gone": {last: "12:10:00", active: []string{"12:10:00"}, at: "12:10:05",
			calls: []string{"get tick-29631610", "status tick"}, events: []string{"StaleReference"}, wantLast: "12:10:00"},
		"CJ-085 V another Job has its name": {last: "12:10:00", jobs: []run{{at: "12:10:00", uid: "other", owner: "none"}}, active: []string{"12:10:00"}, at: "12:10:05",
			calls: []string{"get tick-29631610", "status tick"}, events: []string{"StaleReference"}, wantLast: "12:10:00"},
		"CJ-087 V the status write fails": {at: "12:10:00", fail: map[string]error{"status tick": broken},
			calls: []string{"create tick-29631610", "status tick"}, events: []string{"SuccessfulCreate"}, retry: true},
		"CJ-089 V the namespace is going": {at: "12:10:00", fail: map[string]error{"create tick-29631610": terminating()},
			calls: []string{"create tick-29631610"}, events: []string{"NamespaceTerminating"}, retry: true},
		"CJ-091 V a Job comes back without our reference": {strip: true, at: "12:10:00",
			calls: []string{"create tick-29631610", "delete tick-29631610"}, retry: true},
		"CJ-092 K B7 the name of an earlier time, which is active": {spec: func(s map[string]any) { s["schedule"] = "@every 20s" }, last: "12:00:25",
			jobs: []run{{at: "12:00:25"}}, active: []string{"12:00:25"}, at: "12:00:45.1", events: []string{"UnsupportedSchedule"},
			wantLast: "12:00:25", wantNames: []string{"tick-29631600"}},
		"CJ-092 V B7 the name of an earlier time, which is active": {spec: func(s map[string]any) { s["schedule"] = "@every 20s" }, last: "12:00:25",
			jobs: []run{{at: "12:00:25"}}, active: []string{"12:00:25"}, at: "12:00:45.1", events: []string{"UnsupportedSchedule"},
			wantLast: "12:00:25", wantNames: []string{"tick-29631600"}},
		"CJ-093 K B7 the name of an earlier time, which has finished": {spec: func(s map[string]any) { s["schedule"] = "@every 20s" }, last: "12:00:25",
			jobs: []run{{at: "12:00:25", phase: "Failed"}}, at: "12:00:45.1", events: []string{"UnsupportedSchedule"}, wantLast: "12:00:25"},
		"CJ-094 V Q6 a Job of an earlier CronJob of the name": {spec: forbid, jobs: []run{{at: "12:00:00", owner: "uid-former"}}, at: "12:10:00",
			calls: []string{"create tick-29631610", "status tick"}, events: []string{"SuccessfulCreate"}, wantLast: "12:10:00", wantNames: []string{"tick-29631610"}},
		"CJ-095 T Q5 the Job of the last time was deleted": {last: "12:10:00", active: []string{"12:10:00"}, at: "12:12:00",
			calls: []string{"get tick-1777896600", "status tick"}, wantLast: "12:10:00"},
		"CJ-103 K a condition that is False": {spec: forbid, last: "12:10:00", jobs: []run{{at: "12:10:00", phase: "Complete=False"}}, active: []string{"12:10:00"}, at: "12:20:00",
			events: []string{"JobAlreadyActive"}, wantLast: "12:10:00", wantNames: []string{"tick-29631610"}},
		"CJ-104 V completed": {last: "12:10:00", jobs: []run{{at: "12:10:00", phase: "Completed", ended: "12:12:30"}}, active: []string{"12:10:00"}, at: "12:13:00",
			calls: []string{"status tick"}, events: []string{"SawCompletedJob"}, wantLast: "12:10:00", success: "12:12:30"},
		"CJ-105 V Q3 terminated": {spec: limits(3, 0), last: "12:10:00", jobs: []run{{at: "12:10:00", phase: "Terminated", ended: "12:12:30"}}, active: []string{"12:10:00"}, at: "12:13:00",
			calls: []string{"status tick", "delete tick-29631610"}, events: []string{"SawCompletedJob", "SuccessfulDelete"}, wantLast: "12:10:00"},
		"CJ-109 T one without a start goes first": {spec: limits(1, 1), last: "12:10:00",
			jobs: []run{{at: "11:00:00", phase: "Complete"}, {at: "11:10:00", name: "unstarted", phase: "Complete", unstarted: true}}, at: "12:13:00",
			calls: []string{"delete unstarted"}, wantLast: "12:10:00"},
		"CJ-110 V by creation": {spec: limits(1, 1), last: "12:10:00", jobs: []run{{at: "11:00:00", phase: "Completed"}, {at: "11:05:00", phase: "Completed", born: "never"},
			{at: "11:10:00", phase: "Completed"}}, at: "12:13:00", success: "11:10:00",
			calls:  []string{"status tick", "delete tick-29631540", "delete tick-29631550"},
			events: []string{"SuccessfulDelete", "SuccessfulDelete"}, wantLast: "12:10:00"},
		"CJ-112 V limit 0": {spec: limits(0, 1), last: "12:10:00", jobs: []run{{at: "12:10:00", phase: "Completed", ended: "12:12:30"}}, active: []string{"12:10:00"}, at: "12:13:00",
			calls: []string{"status tick", "delete tick-29631610"}, events: []string{"SawCompletedJob", "SuccessfulDelete"}, wantLast: "12:10:00", success: "12:12:30"},
		"CJ-117 T nothing changed": {last: "12:10:00", jobs: []run{{at: "12:10:00"}}, active: []string{"12:10:00"}, at: "12:13:00",
			wantLast: "12:10:00", wantNames: []string{"tick-1777896600"}},
		"CJ-119 V being deleted": {deleted: true, last: "12:00:00", jobs: []run{{at: "12:00:00", phase: "Completed"}}, active: []string{"12:00:00"}, at: "12:10:00",
			wantLast: "12:00:00", wantNames: []string{"tick-29631600"}},
		"CJ-119 T Q9 being deleted": {deleted: true, last: "12:00:00", jobs: []run{{at: "12:00:00", phase: "Complete"}}, active: []string{"12:00:00"}, at: "12:10:00",
			calls: []string{"status tick"}, wantLast: "12:00:00"},
		"CJ-131 T 101 missed": {spec: func(s map[string]any) { s["schedule"] = "* * * * *" }, last: "11:00:00", at: "12:41:00",
			calls: []string{"patch tick"}, events: []string{"MissSchedule", "TooManyMissedTimes"}, wantLast: "11:00:00"},
		"CJ-133 T a stamp that cannot be read": {jobs: []run{{at: "12:10:00", phase: "Complete"}, {at: "12:20:00", name: "tick-1777897200"}}, at: "12:12:00",
			calls: []string{"status tick"}, wantLast: "12:10:00", wantNames: []string{"tick-1777897200"}},
		"CJ-135 T the name is taken": {jobs: []run{{at: "12:10:00", unseen: true}}, at: "12:10:00", calls: []string{"create tick-1777896600"},
			events: []string{"FailedCreate"}, retry: true},
		"CJ-136 T B4 the status write fails": {at: "12:10:00", fail: map[string]error{"status tick": broken},
			calls: []string{"create tick-1777896600", "status tick"}, retry: true},
		"CJ-137 T a delete fails": {spec: limits(0, 1), last: "12:10:00", jobs: []run{{at: "11:00:00", phase: "Complete"}, {at: "11:10:00", phase: "Complete"}}, at: "12:13:00",
			fail:  map[string]error{"delete tick-1777892400": broken},
			calls: []string{"delete tick-1777892400", "delete tick-1777893000"}, events: []string{"FailedDelete"}, wantLast: "12:10:00"},
		"CJ-138 T suspended": {spec: func(s map[string]any) { s["suspend"], s["successfulJobsHistoryLimit"] = true, int64(0) }, last: "12:00:00",
			jobs: []run{{at: "12:00:00", phase: "Complete"}}, active: []string{"12:00:00"}, at: "12:10:00",
			calls: []string{"status tick", "delete tick-1777896000"}, wantLast: "12:00:00"},
	} {
		words := strings.SplitN(key, " ", 3)
		t.Run(key, func(t *testing.T) {
			a := serve(t, words[1])
			obj := a.cronJob("tick", c.spec)
			if words[1] != "K" { // it has been recorded before, so that another record is one call
				spec := obj["spec"].(map[string]any)
				table := map[string]any{"schedules": []any{spec["schedule"]}}
				if zone := spec["timeZone"]; zone != nil {
					table["timeZone"] = zone
				}
				text, err := json.Marshal(table)
				if err != nil {
					t.Fatal(err)
				}
				obj["metadata"].(map[string]any)["annotations"].(map[string]any)[adapter.AnnotationTimetable] = string(text)
			}
			for _, r := range c.jobs {
				a.has(r)
			}
			if c.stale {
				a.stale = a.cronJob("tick", c.spec)
				a.stale["metadata"].(map[string]any)["resourceVersion"] = "1"
				a.version = 1
			}
			if c.deleted {
				obj["metadata"].(map[string]any)["deletionTimestamp"] = at("12:09:00").Format(time.RFC3339)
			}
			status := map[string]any{}
			if c.last != "" {
				status["lastScheduleTime"] = at(c.last).Format(time.RFC3339)
				obj["metadata"].(map[string]any)["creationTimestamp"] = at("10:00:00").Format(time.RFC3339)
			}
			if len(c.active) > 0 {
				var refs []any
				for _, scheduled := range c.active {
					refs = append(refs, map[string]any{"namespace": "batch", "name": a.jobName(scheduled), "uid": "job-" + scheduled})
				}
				status["active"] = refs
			}
			obj["status"] = status
			if c.strip {
				a.refuse = func(child map[string]any) error {
					delete(child["metadata"].(map[string]any), "ownerReferences")
					return nil
				}
			}
			a.fail = c.fail
			a.time.SetTime(at(c.at))
			a.put(obj)
			a.once()

			// Independent deletes are made at the same time.
			calls := slices.Clone(a.trail)
			for i := range calls {
				for j := i; j > 0 && strings.HasPrefix(calls[j], "delete ") && strings.HasPrefix(calls[j-1], "delete ") && calls[j] < calls[j-1]; j-- {
					calls[j], calls[j-1] = calls[j-1], calls[j]
				}
			}
			if diff := cmp.Diff(c.calls, calls, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			events, _ := a.events("tick")
			if diff := cmp.Diff(c.events, events, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			time := func(field string) string {
				text, _, _ := unstructured.NestedString(a.cronJobs["tick"], "status", field)
				return strings.TrimSuffix(strings.TrimPrefix(text, "2026-05-04T"), "Z")
			}
			if last, success := time("lastScheduleTime"), time("lastSuccessfulTime"); last != c.wantLast || success != c.success {
				t.Errorf("last scheduled %q and successful %q, want %q and %q", last, success, c.wantLast, c.success)
			}
			list, _, _ := unstructured.NestedSlice(a.cronJobs["tick"], "status", "active")
			names := []string{}
			for _, ref := range list {
				names = append(names, ref.(map[string]any)["name"].(string))
			}
			if diff := cmp.Diff(c.wantNames, names, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("active (-want +got):\n%s", diff)
			}
			if retry := len(a.pending) > 0; retry != c.retry {
				t.Errorf("tried again: %v, want %v", slices.Collect(maps.Values(a.pending)), c.retry)
			}
		})
	}
}

// What a started Job says about its CronJob and its scheduled time, as the server stores it (CJ-009 to CJ-013, CJ-130).
func TestStartedJob(t *testing.T) {
	for key, c := range map[string]struct {
		spec   func(map[string]any)
		zone   string // of the process
		at     string
		name   string
		stamp  string
		labels map[string]any
	}{
		"CJ-009 K": {spec: func(s map[string]any) { s["timeZone"] = "Europe/Rome" }, at: "2026-05-04T12:10:00.1Z", name: "tick-29631610",
			stamp: "batch.kubernetes.io/cronjob-scheduled-timestamp=2026-05-04T14:10:00+02:00"},
		"CJ-010 K": {zone: "America/New_York", at: "2026-05-04T12:10:00Z", name: "tick-29631610",
			stamp: "batch.kubernetes.io/cronjob-scheduled-timestamp=2026-05-04T12:10:00Z"},
		"CJ-011 K": {at: "2026-05-04T12:10:00Z", name: "tick-29631610",
			stamp: "batch.kubernetes.io/cronjob-scheduled-timestamp=2026-05-04T12:10:00Z"},
		"CJ-012 V": {at: "2026-05-04T12:10:00Z", name: "tick-29631610", stamp: "volcano.sh/cronjob-scheduled-timestamp=2026-05-04T12:10:00Z"},
		"CJ-013 V": {spec: func(s map[string]any) { s["timeZone"], s["schedule"] = "Asia/Shanghai", "30 18 * * *" }, at: "2025-01-15T10:30:00.1Z",
			name: "tick-28948950", stamp: "volcano.sh/cronjob-scheduled-timestamp=2025-01-15T18:30:00+08:00"},
		"CJ-130 T": {at: "2026-05-04T12:10:00Z", name: "tick-1777896600", stamp: "batch.tutorial.kubebuilder.io/scheduled-at=2026-05-04T12:10:00Z"},
		"CJ-130 T in the zone of the process": {zone: "Asia/Tokyo", at: "2026-05-04T12:10:00Z", name: "tick-1777896600",
			stamp: "batch.tutorial.kubebuilder.io/scheduled-at=2026-05-04T21:10:00+09:00"},
	} {
		t.Run(key, func(t *testing.T) {
			a := serve(t, strings.Fields(key)[1])
			if c.zone != "" {
				zone, err := time.LoadLocation(c.zone)
				if err != nil {
					t.Fatal(err)
				}
				a.readOptions.Zone = zone
			}
			now, err := time.Parse(time.RFC3339, c.at)
			if err != nil {
				t.Fatal(err)
			}
			stamp, value, _ := strings.Cut(c.stamp, "=")
			obj := a.cronJob("tick", c.spec)
			obj["metadata"].(map[string]any)["creationTimestamp"] = now.Add(-5 * time.Minute).Truncate(time.Second).Format(time.RFC3339)
			obj["spec"].(map[string]any)["jobTemplate"].(map[string]any)["metadata"] = map[string]any{"name": "dropped", "finalizers": []any{"dropped/too"},
				"labels": map[string]any{"a": "b"}, "annotations": map[string]any{"x": "y", stamp: "bogus"}}
			a.time.SetTime(now)
			a.put(obj)
			a.once()
			job := a.jobs[c.name]
			if job == nil {
				t.Fatalf("there is no %s: %v", c.name, a.trail)
			}
			apiVersion, kind := a.info.Owner.ToAPIVersionAndKind()
			metadata := job["metadata"].(map[string]any)
			for _, field := range []string{"uid", "resourceVersion", "creationTimestamp"} {
				delete(metadata, field)
			}
			if diff := cmp.Diff(map[string]any{
				"name": c.name, "namespace": "batch",
				"labels": map[string]any{"a": "b"}, "annotations": map[string]any{"x": "y", stamp: value},
				"ownerReferences": []any{map[string]any{"apiVersion": apiVersion, "kind": kind, "name": "tick", "uid": "uid-tick",
					"controller": true, "blockOwnerDeletion": true}},
			}, metadata); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
		})
	}
}
