// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

// forecastServer is an API server with CronJobs and Jobs in two namespaces, which it gives in pages, and nothing else.
// It gives the path of a kubeconfig for it.
func forecastServer(t *testing.T, jobsForbidden bool) (kubeconfig string) {
	t.Helper()
	const cronJobs, jobs = 700, 1200
	lists := map[string][]any{}
	add := func(namespace, resource string, object map[string]any) {
		lists["/apis/batch/v1/namespaces/"+namespace+"/"+resource] = append(lists["/apis/batch/v1/namespaces/"+namespace+"/"+resource], object)
		lists["/apis/batch/v1/"+resource] = append(lists["/apis/batch/v1/"+resource], object)
	}
	for n := range cronJobs {
		namespace := []string{"shop", "web"}[n%2]
		add(namespace, "cronjobs", map[string]any{"metadata": map[string]any{"name": fmt.Sprintf("a-%d", n), "namespace": namespace, "uid": fmt.Sprint(n),
			"creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": map[string]any{"schedule": "0 0 * * *", "timeZone": "Etc/UTC", "jobTemplate": map[string]any{}}})
	}
	for n := range jobs { // the newest of each CronJob takes a minute longer
		owner, namespace := n%cronJobs, []string{"shop", "web"}[n%2]
		add(namespace, "jobs", map[string]any{"metadata": map[string]any{"name": fmt.Sprintf("a-%d-%d", owner, n), "namespace": namespace,
			"ownerReferences": []any{map[string]any{"apiVersion": "batch/v1", "kind": "CronJob", "name": fmt.Sprintf("a-%d", owner), "uid": fmt.Sprint(owner), "controller": true}}},
			"status": map[string]any{"startTime": "2026-11-22T00:00:00Z", "completionTime": fmt.Sprintf("2026-11-22T00:%02d:00Z", 20+n/cronJobs)}})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		write := func(content map[string]any) { _ = json.NewEncoder(w).Encode(content) } // a client that is gone needs nothing
		all, ok := lists[r.URL.Path]
		switch {
		case r.URL.Path == "/api":
			write(map[string]any{"kind": "APIVersions", "versions": []string{"v1"}})
		case r.URL.Path == "/api/v1":
			write(map[string]any{"kind": "APIResourceList", "groupVersion": "v1", "resources": []any{}})
		case r.URL.Path == "/apis":
			version := map[string]any{"groupVersion": "batch/v1", "version": "v1"}
			write(map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{map[string]any{"name": "batch", "versions": []any{version}, "preferredVersion": version}}})
		case r.URL.Path == "/apis/batch/v1":
			write(map[string]any{"kind": "APIResourceList", "groupVersion": "batch/v1", "resources": []any{
				map[string]any{"name": "cronjobs", "kind": "CronJob", "namespaced": true, "verbs": []string{"list"}},
				map[string]any{"name": "jobs", "kind": "Job", "namespaced": true, "verbs": []string{"list"}},
			}})
		case strings.HasSuffix(r.URL.Path, "/jobs") && jobsForbidden:
			w.WriteHeader(http.StatusForbidden)
			write(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "jobs.batch is forbidden"})
		case ok, strings.Contains(r.URL.Path, "/namespaces/"):
			limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
			from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
			page, meta := all[from:min(from+limit, len(all))], map[string]any{}
			if from+limit < len(all) {
				meta["continue"] = strconv.Itoa(from + limit)
			}
			kind := map[bool]string{true: "Job", false: "CronJob"}[strings.HasSuffix(r.URL.Path, "/jobs")]
			items := []any{}
			for _, item := range page {
				object := map[string]any{"apiVersion": "batch/v1", "kind": kind}
				for field, value := range item.(map[string]any) {
					object[field] = value
				}
				items = append(items, object)
			}
			write(map[string]any{"apiVersion": "batch/v1", "kind": kind + "List", "metadata": meta, "items": items})
		default:
			w.WriteHeader(http.StatusNotFound)
			write(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404})
		}
	}))
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a, namespace: shop}}],
clusters: [{name: a, cluster: {server: %q}}], users: [{name: a, user: {}}]}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// A cluster gives its objects, and how long their runs took.
func TestForecastOfCluster(t *testing.T) {
	tests := map[string]struct {
		forbidden bool
		args      []string
		want      forecastDurations
		starts    int64
		running   int // minutes with active runs
		told      string
	}{
		// Those with two runs took 21 minutes, the later of the two in the middle, the others 20.
		"one namespace":      {false, nil, forecastDurations{350, 0, 0, 300}, 350, 21, ""},
		"all namespaces":     {false, []string{"-A"}, forecastDurations{700, 0, 0, 300}, 700, 21, ""},
		"another namespace":  {false, []string{"-n", "web"}, forecastDurations{350, 0, 0, 300}, 350, 21, ""},
		"an empty namespace": {false, []string{"-n", "empty"}, forecastDurations{0, 0, 0, 300}, 0, 0, ""},
		"no Jobs for us":     {true, nil, forecastDurations{0, 0, 350, 300}, 350, 5, "Jobs may not be listed"},
		// The objects of files, and what the cluster knows of their runs.
		"files beside it": {false, []string{"-f", "testdata/forecast/fleet.yaml"}, forecastDurations{1, 0, 20, 300}, 17, 0, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"--kubeconfig", forecastServer(t, test.forbidden), "-o", "json"}, test.args...)
			out, told, code, err := runForecast(t, "", args...)
			if code != 0 {
				t.Fatal(err)
			}
			var d forecastDocument
			if err := json.Unmarshal([]byte(out), &d); err != nil {
				t.Fatal(err)
			}
			running := 0
			for _, n := range d.RunningPerMinute {
				if n > 0 {
					running++
				}
			}
			if d.Durations != test.want || d.Summary.Peak.Number != test.starts || test.running > 0 && running != test.running {
				t.Errorf("got %+v, %d starts, %d minutes with runs", d.Durations, d.Summary.Peak.Number, running)
			}
			if !strings.Contains(told, test.told) || test.told == "" && told != "" {
				t.Errorf("told %q", told)
			}
		})
	}
}

// What people see of one namespace says that there may be more.
func TestForecastOfNamespace(t *testing.T) {
	kubeconfig := forecastServer(t, false)
	out, _, _, err := runForecast(t, "", "--kubeconfig", kubeconfig)
	if err != nil || !strings.Contains(out, "one namespace; -A takes all") || !strings.Contains(out, "shop/a-0, shop/a-10, shop/a-100") {
		t.Errorf("got %v\n%s", err, out)
	}
	if out, _, _, err := runForecast(t, "", "--kubeconfig", kubeconfig, "-A"); err != nil || strings.Contains(out, "-A takes all") {
		t.Errorf("got %v\n%s", err, out)
	}
	if _, _, code, err := runForecast(t, "", "--kubeconfig", filepath.Join(t.TempDir(), "none")); code != exitcode.Usage {
		t.Errorf("no kubeconfig: exit code %d, %v", code, err)
	}
}
