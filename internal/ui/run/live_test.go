// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/ui/run"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

const podsOfTimetable = `apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: pods, namespace: shop, uid: t-1}
spec: {schedules: [{cron: "0 9 * * *"}], template: {apiVersion: v1, kind: Pod, spec: {restartPolicy: Never, containers: [{name: main, image: a}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: pods-m-1, namespace: shop, uid: p-1, creationTimestamp: "2026-11-02T10:59:59Z", ownerReferences: [{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, name: pods, uid: t-1, controller: true}]}
spec: {restartPolicy: Never, containers: [{name: main, image: a}]}
status: {phase: Pending}
---
apiVersion: v1
kind: Pod
metadata: {name: stranger, namespace: shop, uid: p-2}
spec: {containers: [{name: main, image: a}]}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train-m-1, namespace: shop, uid: v-1, creationTimestamp: "2026-11-02T10:59:59Z", ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: CronJob, name: train, uid: c-1, controller: true}]}
spec: {minAvailable: 1}
`

// What has begun this moment has a page, of whatever kind it is, although no journal knows it yet; what no schedule has
// started is no run, but a Job.
func TestLive(t *testing.T) {
	for name, test := range map[string]struct {
		at, want string
		code     int
	}{
		"a Pod of a Timetable":   {"/run/shop/pods-m-1?uid=p-1", "/act/stop?kind=pod&amp;namespace=shop&amp;name=pods-m-1", http.StatusOK},
		"a Job of Volcano":       {"/run/shop/train-m-1?uid=v-1", "/act/stop?kind=job&amp;namespace=shop&amp;name=train-m-1&amp;group=batch.volcano.sh", http.StatusOK},
		"without its UID":        {"/run/shop/train-m-1", "train-m-1", http.StatusOK},
		"another one's UID":      {"/run/shop/train-m-1?uid=p-1", "No run train-m-1 with this UID", http.StatusNotFound},
		"of another namespace":   {"/run/default/pods-m-1", "No run pods-m-1 is known", http.StatusNotFound},
		"a Pod of somebody else": {"/run/shop/stranger", "No run stranger is known", http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := uitest.Get(t, uitest.Site(t, uitest.World{Manifests: podsOfTimetable}, run.Register), test.at)
			if code != test.code || !strings.Contains(body, test.want) {
				t.Errorf("it answers %d without %q:\n%s", code, test.want, body)
			}
		})
	}
}
