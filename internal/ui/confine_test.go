// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// A page of one namespace shows and changes no other; and no address names what cannot be.
func TestConfine(t *testing.T) {
	const objects = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: backup, namespace: NS, uid: u}
spec: {schedule: "0 3 * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: host}]}}}}}
`
	site := uitest.Site(t, uitest.World{Manifests: strings.ReplaceAll(objects, "NS", "own") + "---" + strings.ReplaceAll(objects, "NS", "other")})
	site.Namespace = "own"
	h := Handler(t.Context(), site)
	for _, at := range []string{
		"/schedule/cronjob/NS/backup", "/why/cronjob/NS/backup", "/run/NS/backup", "/run/NS/backup/log", "/run/NS/backup/log/events",
		"/act/run-now?kind=cronjob&namespace=NS&name=backup", "/act/suspend?kind=cronjob&namespace=NS&name=backup",
		"/act/edit?kind=cronjob&namespace=NS&name=backup", "/act/delete?kind=cronjob&namespace=NS&name=backup",
		"/act/stop?kind=job&namespace=NS&name=backup", "/act/retry?kind=job&namespace=NS&name=backup",
		"/schedules?namespace=NS", "/timeline?namespace=NS", "/simulate?of=cronjob%2FNS%2Fbackup",
	} {
		there := strings.ReplaceAll(at, "NS", "other")
		if code, body := uitest.Get(t, h, there); code != http.StatusNotFound || !strings.Contains(body, "shows the namespace own only") {
			t.Errorf("%s: %d", there, code)
		}
		here := strings.ReplaceAll(at, "NS", "own")
		if code, body := uitest.Get(t, h, here); strings.Contains(body, "shows the namespace") || code >= 500 || !strings.HasPrefix(at, "/run/") && !strings.Contains(at, "kind=job") && code != 200 {
			t.Errorf("%s: %d", here, code)
		}
		if strings.HasPrefix(at, "/act/") {
			if code, _ := uitest.Post(t, h, there, url.Values{}); code != http.StatusNotFound {
				t.Errorf("POST %s: %d", there, code)
			}
		}
	}
	site.Namespace = ""
	long := strings.Repeat("a", 300)
	for _, at := range []string{
		"/run/default/..%2f..%2fapi", "/run/default/" + long, "/run/" + long + "/x", "/run/%2e%2e%2fx/y", "/run/default/a%25b", "/run/default/a%2fb/log",
		"/schedule/cronjob/default/..%2fx", "/why/cronjob/default/..%2fx", "/act/delete?kind=cronjob&namespace=default&name=..",
		"/act/delete?kind=cronjob&namespace=..&name=x", "/act/edit?kind=cronjob&namespace=default&name=a%2fb", "/act/stop?kind=job&namespace=default&name=.",
	} {
		if code, body := uitest.Get(t, h, at); code != http.StatusNotFound || !strings.Contains(body, "can have this name") {
			t.Errorf("%.60s: %d", at, code)
		}
	}
}
