// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

const manifests = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: backup, uid: u-backup, creationTimestamp: "2026-10-20T00:00:00Z"}
spec:
  schedule: "0 * * * *"
  timeZone: America/New_York
  concurrencyPolicy: Forbid
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: app}]}}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: asleep, uid: u-asleep, creationTimestamp: "2026-10-20T00:00:00Z"}
spec:
  schedule: "0 * * * *"
  suspend: true
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: app}]}}}}
`

var backup = run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "u-backup"}

func runAt(hour int) run.Run {
	at := time.Date(2026, 11, 2, hour, 0, 0, 0, time.UTC)
	return run.Run{UID: "uid-" + "x", APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: "backup-" + at.Format("15"), Owner: backup, Trigger: run.Schedule,
		ScheduledTime: at, Created: at, Started: at, Ended: at.Add(time.Minute), Outcome: run.Succeeded}
}

func omissionAt(hour int) run.Omission {
	at := time.Date(2026, 11, 2, hour, 0, 0, 0, time.UTC)
	return run.Omission{Namespace: "default", Owner: backup, ScheduledTime: at, Count: 1, Missed: true, Reason: "Overlap", Message: "an earlier <run> had not ended", Seen: at}
}

func world() uitest.World {
	return uitest.World{Manifests: manifests, Runs: []run.Run{runAt(10), runAt(8)}, Omissions: []run.Omission{omissionAt(9)}}
}

// refuses lets nobody read CronJobs.
func refuses(a clienttesting.Action) error {
	if a.GetResource().Resource != "cronjobs" {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Resource: "cronjobs"}, "backup", errors.New("nobody may"))
}

func TestPage(t *testing.T) {
	for name, test := range map[string]struct {
		world      uitest.World
		target     string
		code       int
		says, lies []string
	}{
		"the newest time without a run": {
			world: world(), target: "/why/cronjob/default/backup",
			says: []string{"The newest time without a run", `value="2026-11-02 04:00"`, "an earlier run had not ended", "missed", "the schedule’s: America/New_York", "yours: Europe/Berlin",
				`href="/why/cronjob/default/backup?at=2026-11-02T08%3A00%3A00Z"`, "Run now"},
			lies: []string{"<run>"},
		},
		"a time that ran":          {world: world(), target: "/why/cronjob/default/backup?at=05:00", says: []string{"ran", "The run, and its output", "backup-10"}, lies: []string{"The newest time without"}},
		"in the viewer's zone":     {world: world(), target: "/why/cronjob/default/backup?at=11:00&zone=yours", says: []string{`value="yours" selected`, "backup-10"}},
		"a time of a link":         {world: world(), target: "/why/cronjob/default/backup?at=2026-11-02T09:00:00Z", says: []string{`value="2026-11-02 04:00"`, "The time"}},
		"no scheduled time":        {world: world(), target: "/why/cronjob/default/backup?at=04:07", says: []string{"not a scheduled time", "the time before", "the time after"}},
		"no time":                  {world: world(), target: "/why/cronjob/default/backup?at=%3Cscript%3Enoon", code: 422, says: []string{"is no time", "&lt;script&gt;noon", "aria-invalid", "The last times"}, lies: []string{"<script>noon", "What shows it"}},
		"far too long":             {world: world(), target: "/why/cronjob/default/backup?at=" + strings.Repeat("9", 5000), code: 422, says: []string{"too long for a time"}, lies: []string{`value="9`}},
		"a time to come":           {world: world(), target: "/why/cronjob/default/backup?at=2026-12-01T05:00:00Z", says: []string{"not due yet"}},
		"a time before everything": {world: world(), target: "/why/cronjob/default/backup?at=1975-01-01T00:00:00Z", says: []string{"it did not exist yet"}, lies: []string{"Run now"}},
		"nothing was left out":     {world: uitest.World{Manifests: strings.ReplaceAll(manifests, "2026-10-20", "2026-11-02"), Runs: []run.Run{runAt(10)}, Now: time.Date(2026, 11, 2, 10, 1, 0, 0, time.UTC)}, target: "/why/cronjob/default/asleep?at=09:00", says: []string{"asleep"}},
		"suspended":                {world: world(), target: "/why/cronjob/default/asleep?at=2026-11-02T12:00:00Z", says: []string{"spec.suspend is true"}},
		"the times of what is suspended": {world: uitest.World{Manifests: manifests, Now: time.Date(2026, 11, 2, 11, 0, 30, 0, time.UTC)}, target: "/why/cronjob/default/asleep",
			says: []string{"no run of it is known; it is suspended now"}, lies: []string{"due</span>"}},
		"read only":            {world: uitest.World{Manifests: manifests, ReadOnly: true, Omissions: []run.Omission{omissionAt(9)}}, target: "/why/cronjob/default/backup", says: []string{"missed"}, lies: []string{"/act/"}},
		"gone, and remembered": {world: uitest.World{Manifests: "{}", Runs: []run.Run{runAt(10)}, Omissions: []run.Omission{omissionAt(9)}}, target: "/why/cronjob/default/backup", says: []string{"The object is gone", "missed"}, lies: []string{"/act/"}},
		"never heard of":       {world: world(), target: "/why/cronjob/default/nix", code: 404, says: []string{"There is no cronjob nix"}},
		"an object that may not be read": {
			world:  uitest.World{Manifests: manifests, Runs: []run.Run{runAt(10)}, Omissions: []run.Omission{omissionAt(9)}, Refuses: refuses},
			target: "/why/cronjob/default/backup", says: []string{"not allowed", "missed"}, lies: []string{"/act/"},
		},
		"an earlier object of the same name": {
			world:  uitest.World{Manifests: strings.ReplaceAll(manifests, "u-backup, creationTimestamp: \"2026-10-20", "u-new, creationTimestamp: \"2026-11-02"), Omissions: []run.Omission{omissionAt(9)}},
			target: "/why/cronjob/default/backup?at=2026-11-02T09:00:00Z", says: []string{"Of an earlier object of this name the journal remembers: the time was missed: an earlier run had not ended."},
		},
		"a time before the object was restored, of which the journal knows": {
			world:  uitest.World{Manifests: strings.ReplaceAll(manifests, "2026-10-20T00", "2026-11-02T10"), Runs: []run.Run{runAt(10), runAt(8)}, Omissions: []run.Omission{omissionAt(9)}},
			target: "/why/cronjob/default/backup?at=2026-11-02T09:00:00Z", says: []string{"was missed: an earlier &lt;run&gt; had not ended"}, lies: []string{"it did not exist yet", "None has come yet"},
		},
		"runs before the object was restored": {
			world:  uitest.World{Manifests: strings.ReplaceAll(manifests, "2026-10-20T00", "2026-11-02T10"), Runs: []run.Run{runAt(8)}, Now: time.Date(2026, 11, 2, 10, 30, 0, 0, time.UTC)},
			target: "/why/cronjob/default/backup", says: []string{"backup-08", "Each known time had a run"}, lies: []string{"None has come yet"},
		},
		"no kind":                        {world: world(), target: "/why/job/default/backup", code: 404},
		"a name that is none of anybody": {world: world(), target: "/why/cronjob/default/" + url.PathEscape(`"><img src=x>`), code: 404, lies: []string{"<img"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := uitest.Get(t, uitest.Site(t, test.world, Register), test.target)
			if want := max(test.code, 200); code != want {
				t.Errorf("code %d, not %d", code, want)
			}
			text := strings.Join(strings.Fields(body), " ")
			uitest.Says(t, text, test.says, test.lies)
		})
	}
}

func TestWritten(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ text, want string }{
		"a time of a link":                    {"2026-11-02T01:00:00Z", "2026-11-02 02:00"},
		"with seconds":                        {"2026-11-02T01:00:30Z", "2026-11-02 02:00:30"},
		"what somebody wrote":                 {"yesterday 02:00", "yesterday 02:00"},
		"one that clocks showed twice":        {"2026-10-25T00:30:00Z", "2026-10-25T00:30:00Z"},
		"the later of two that clocks showed": {"2026-10-25T01:30:00Z", "2026-10-25T01:30:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			at, err := diagnosis.ParseAt(test.text, uitest.Now, berlin)
			if err != nil {
				t.Fatal(err)
			}
			if got := written(test.text, at.From, berlin, uitest.Now); got != test.want {
				t.Errorf("%s, not %s", got, test.want)
			}
		})
	}
}

// Whatever is asked, the page answers, and escapes it.
func FuzzQuestion(f *testing.F) {
	for _, text := range []string{"02:00", "yesterday 02:00", "2026-10-25 02:30", "2026-11-02T09:00:00Z", "<b>", "\x00", "9999-12-31 23:59", "-1", "02:30:61"} {
		f.Add(text, "yours")
	}
	f.Fuzz(func(t *testing.T, at, zone string) {
		site := uitest.Site(t, world(), Register)
		code, body := uitest.Get(t, site, "/why/cronjob/default/backup?"+url.Values{"at": {at}, "zone": {zone}}.Encode())
		if code != 200 && code != 422 {
			t.Errorf("code %d", code)
		}
		if strings.Contains(at, "<") && len(at) > 2 && strings.Contains(body, `value="`+at) {
			t.Error("it is not escaped")
		}
	})
}

func TestRecent(t *testing.T) {
	all := uitest.Site(t, world())
	schedules, err := all.Cache.Schedules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	long := omissionAt(5)
	until := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	long.Until, long.Count = until, 5
	k := &known{now: uitest.Now.Add(30 * time.Second), subject: page.Subject{Kind: kind.All[0], Namespace: "default", Name: "backup"}, runs: []run.Run{runAt(10)}, omissions: []run.Omission{long}}
	for _, s := range schedules {
		if s.Owner.Name == "backup" {
			k.scheduled = s
		}
	}
	got := recentOf(k)
	if len(got) != mostRecent {
		t.Fatalf("%d times", len(got))
	}
	switch {
	case !got[0].Waits || got[0].Run != nil:
		t.Errorf("one that has just come may still start: %+v", got[0])
	case got[1].Run == nil:
		t.Errorf("one that ran: %+v", got[1])
	case got[2].Omission == nil || got[2].Count != 5 || !got[2].At.Equal(until) || !got[2].From.Equal(long.ScheduledTime):
		t.Errorf("five that follow each other are one line: %+v", got[2])
	case got[3].Run != nil || got[3].Omission != nil || got[3].Why == "":
		t.Errorf("one of which nothing is known: %+v", got[3])
	}
	if newest := newestWithout(got); !newest.Equal(until) {
		t.Errorf("the newest without a run is %s", newest)
	}
}
