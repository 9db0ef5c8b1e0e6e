// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A start is refused for an hour, and every five seconds something happens to the CronJob, so that hundreds of syncs fail
// over it. Each error is logged once a minute, and another one at once (logEvery). Events tell of each scheduled time at
// once and then each half hour, whatever the API server says meanwhile (B6, B10); and that the former one is lost (B9).
func TestLastingErrorIsLoggedOnceAMinute(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	webhook := apierrors.NewForbidden(jobs, "tick", errorText("denied by the webhook"))
	quota := apierrors.NewForbidden(jobs, "tick", errorText("exceeded quota: small"))
	for _, letter := range []string{"K", "V", "T"} {
		t.Run(letter, func(t *testing.T) {
			a := serve(t, letter)
			defer a.forget(tickKey) // the gauge of what is misconfigured is one for all tests
			begin, change, second, end := at("12:10:00"), at("12:30:02"), at("12:50:00"), at("13:10:00")
			causes := []*struct {
				child    string
				err      error
				from, to time.Time
				logged   []time.Time
			}{
				{child: a.jobName("12:10:00"), err: webhook, from: begin, to: change},
				{child: a.jobName("12:10:00"), err: quota, from: change, to: second},
				{child: a.jobName("12:50:00"), err: quota, from: second, to: end},
			}
			a.log = funcr.New(func(_, line string) {
				for _, c := range causes {
					if strings.Contains(line, c.child) && strings.Contains(line, fmt.Sprintf("%q", c.err.Error())[1:]) {
						c.logged = append(c.logged, a.time.Now())
						return
					}
				}
				t.Errorf("logged: %s", line)
			}, funcr.Options{})
			a.refuse = func(map[string]any) error {
				if a.time.Now().Before(change) {
					return webhook
				}
				return quota
			}
			a.put(a.cronJob("tick", set("schedule", "10,50 12 * * *")))
			for now := begin; now.Before(end); now = now.Add(5 * time.Second) {
				a.pass(now)
				a.put(a.cronJobs["tick"])
				a.pass(now)
			}

			if n := a.calls["create tick"]; n < 700 {
				t.Fatalf("only %d syncs failed, which shows nothing", n)
			}
			for _, c := range causes {
				minutes := int(c.to.Sub(c.from) / logEvery)
				if n := len(c.logged); n < minutes-1 || n > minutes+1 || c.logged[0].Sub(c.from) > 5*time.Second {
					t.Errorf("%v of %s is logged %d times in %d minutes: %v", c.err, c.child, n, minutes, c.logged)
				}
				for i := 1; i < len(c.logged); i++ {
					if apart := c.logged[i].Sub(c.logged[i-1]); apart < logEvery {
						t.Errorf("%v of %s is logged again after %v", c.err, c.child, apart)
					}
				}
			}

			var told []string
			for _, e := range a.told {
				told = append(told, e.FirstTimestamp.UTC().Format("15:04")+" "+e.Reason)
			}
			want := []string{"12:10 FailedCreate", "12:40 FailedCreate", "12:50 MissSchedule", "12:50 FailedCreate"}
			if diff := cmp.Diff(want, told); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// errorText is an error that is nothing but its text.
type errorText string

func (e errorText) Error() string { return string(e) }
