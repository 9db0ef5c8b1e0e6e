// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"net/http"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// What panics beside the request is told on the page, and ends nothing else.
func TestPanic(t *testing.T) {
	site := uitest.Site(t, uitest.World{Manifests: `
apiVersion: batch/v1
kind: CronJob
metadata: {name: backup, namespace: shop, uid: u, resourceVersion: "1", creationTimestamp: "2026-11-01T00:00:00Z"}
spec: {schedule: "0 3 * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: a}]}}}}}
`}, Register)
	site.Source = uitest.Panicking{Source: site.Source}
	code, body := uitest.Get(t, site, "/schedule/cronjob/shop/backup")
	if code != http.StatusInternalServerError || !strings.Contains(body, uitest.Fault) {
		t.Errorf("%d: %s", code, body)
	}
}
