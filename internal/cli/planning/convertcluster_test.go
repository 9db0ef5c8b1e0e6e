// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A CronJob of an API server becomes a Timetable without what the server wrote, and @every goes on from its last run.
func TestConvertFromServer(t *testing.T) {
	answers := map[string]string{
		"/api":           `{"kind":"APIVersions","versions":["v1"]}`,
		"/api/v1":        `{"kind":"APIResourceList","groupVersion":"v1","resources":[]}`,
		"/apis":          `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"batch","versions":[{"groupVersion":"batch/v1","version":"v1"}],"preferredVersion":{"groupVersion":"batch/v1","version":"v1"}}]}`,
		"/apis/batch/v1": `{"kind":"APIResourceList","groupVersion":"batch/v1","resources":[{"name":"cronjobs","kind":"CronJob","namespaced":true,"verbs":["list"]}]}`,
		"/apis/batch/v1/namespaces/shop/cronjobs": `{"apiVersion":"batch/v1","kind":"CronJobList","metadata":{},"items":[
{"metadata":{"name":"poll","namespace":"shop","uid":"u","resourceVersion":"7","creationTimestamp":"2026-12-01T00:00:00Z","generation":2},
"spec":{"schedule":"@every 10m","timeZone":"Europe/Rome","concurrencyPolicy":"Forbid","suspend":false,"successfulJobsHistoryLimit":3,"failedJobsHistoryLimit":1,
"jobTemplate":{"metadata":{"creationTimestamp":null},"spec":{"template":{"metadata":{"creationTimestamp":null},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"x"}]}}}}},
"status":{"lastScheduleTime":"2026-12-24T11:03:00Z"}}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
		}
		_, _ = io.WriteString(w, answer) // a client that is gone needs nothing
	}))
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	config := `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "` + server.URL +
		`"}}], contexts: [{name: c, context: {cluster: c, user: u, namespace: shop}}], users: [{name: u, user: {}}]}`
	if err := os.WriteFile(kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"cronjob/poll"}, {}} {
		stdout, stderr, err := converting("", append(args, "--to", "timetable", "--kubeconfig", kubeconfig)...)
		if err != nil {
			t.Fatal(err, stderr)
		}
		for _, want := range []string{"kind: Timetable", "namespace: shop", "every: 10m", `anchor: "2026-12-24T11:03:00Z"`, "timeZone: Europe/Rome"} {
			if !strings.Contains(stdout, want) {
				t.Errorf("%q is not in\n%s", want, stdout)
			}
		}
		for _, without := range []string{"status", "uid", "resourceVersion", "generation"} {
			if strings.Contains(stdout, without+":") {
				t.Errorf("%s is in\n%s", without, stdout)
			}
		}
	}
	if _, _, err := converting("", "cronjob/none", "--to", "timetable", "--kubeconfig", kubeconfig); err == nil || !strings.Contains(err.Error(), "there is no cronjob/none") {
		t.Errorf("got %v", err)
	}
}
