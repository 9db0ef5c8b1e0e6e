// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/reference"
)

// apiServer answers with the objects of savedCluster, to one who may read CronJobs and Jobs and nothing else. It gives
// the path of a kubeconfig.
func apiServer(t *testing.T) string {
	t.Helper()
	var saved struct{ Items []map[string]any }
	if err := yaml.Unmarshal([]byte(savedCluster), &saved); err != nil {
		t.Fatal(err)
	}
	answer := func(w http.ResponseWriter, code int, content any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(content)
	}
	ofKind := func(kind string) (found []map[string]any) {
		for _, item := range saved.Items {
			if item["kind"] == kind && item["metadata"].(map[string]any)["namespace"] == "shop" {
				found = append(found, item)
			}
		}
		return found
	}
	type obj = map[string]any
	resources := func(groupVersion string, names ...string) obj {
		var list []obj
		for i := 0; i < len(names); i += 2 {
			list = append(list, obj{"name": names[i], "kind": names[i+1], "namespaced": names[i] != "namespaces", "verbs": []string{"get", "list"}})
		}
		return obj{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": groupVersion, "resources": list}
	}
	group := func(name, version string) obj {
		v := obj{"groupVersion": name + "/" + version, "version": version}
		return obj{"name": name, "versions": []obj{v}, "preferredVersion": v}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/api":
			answer(w, 200, obj{"kind": "APIVersions", "versions": []string{"v1"}})
		case path == "/apis":
			answer(w, 200, obj{"kind": "APIGroupList", "apiVersion": "v1", "groups": []obj{group("batch", "v1"), group("coordination.k8s.io", "v1")}})
		case path == "/api/v1":
			answer(w, 200, resources("v1", "pods", "Pod", "events", "Event", "namespaces", "Namespace", "resourcequotas", "ResourceQuota"))
		case path == "/apis/batch/v1":
			answer(w, 200, resources("batch/v1", "cronjobs", "CronJob", "jobs", "Job"))
		case path == "/apis/coordination.k8s.io/v1":
			answer(w, 200, resources("coordination.k8s.io/v1", "leases", "Lease"))
		case strings.HasSuffix(path, "/namespaces/shop/cronjobs"):
			answer(w, 200, obj{"kind": "CronJobList", "apiVersion": "batch/v1", "items": ofKind("CronJob")})
		case strings.HasSuffix(path, "/namespaces/shop/jobs"):
			answer(w, 200, obj{"kind": "JobList", "apiVersion": "batch/v1", "items": ofKind("Job")})
		case strings.HasSuffix(path, "/cronjobs/dump"):
			answer(w, 200, ofKind("CronJob")[0])
		case strings.HasSuffix(path, "/jobs/dump-29923680"):
			answer(w, 200, ofKind("Job")[0])
		case strings.Contains(path, "jobs/"):
			answer(w, 404, obj{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"})
		default:
			answer(w, 403, obj{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": path + " is forbidden"})
		}
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c}}]\n", server.URL)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// What may not be read is told, and what may be is answered from.
func TestWhyFromAServerThatForbidsMuch(t *testing.T) {
	kubeconfig := apiServer(t)
	ask := func(args ...string) (string, error) {
		var out bytes.Buffer
		cmd := newWhyAt(Streams{Out: &out, Err: &out}, func() time.Time { return time.Date(2026, 11, 23, 8, 20, 0, 0, time.UTC) })
		cmd.SetArgs(append(args, "--kubeconfig", kubeconfig, "-n", "shop"))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.Execute()
		return strings.Join(strings.Fields(out.String()), " "), err
	}
	for name, test := range map[string]struct{ object, says string }{
		"a CronJob": {"cronjob/dump", "cronjob/dump waits: Job dump-29923680 is still active"},
		"a Job":     {"job/dump-29923680", "cronjob/dump started it for 2026-11-23 09:00 +01:00, on time"},
	} {
		said, err := ask(test.object)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, text := range []string{test.says, "Pods: ", "Events: ", "Leases: ", "is forbidden", "kubectl --kubeconfig " + kubeconfig + " -n shop"} {
			if !strings.Contains(said, text) {
				t.Errorf("%s: it does not say %q: %s", name, text, said)
			}
		}
	}
	_, err := ask("cronjob/dum")
	if coded, ok := errors.AsType[*exitcode.Error](err); !ok || coded.Code != exitcode.Usage || !strings.Contains(err.Error(), "there is no cronjob/dum in namespace shop; did you mean cronjob/dump?") {
		t.Errorf("a name that is nearly one: %v", err)
	}
}

// A completion offers what an API server has, and nothing where there is none.
func TestWhyCompletesFromAServer(t *testing.T) {
	w := &why{}
	cmd := newWhyAt(Streams{}, time.Now)
	cmd.SetContext(t.Context())
	w.input.cluster.Kubeconfig, w.input.cluster.Namespace = apiServer(t), "shop"
	if got, _ := reference.Completion(w.names)(cmd, nil, "cj/"); strings.Join(got, " ") != "cj/dump" {
		t.Errorf("%v", got)
	}
	w.input.cluster.Kubeconfig = filepath.Join(t.TempDir(), "none")
	if got, _ := reference.Completion(w.names)(cmd, nil, "cj/"); got != nil {
		t.Errorf("%v", got)
	}
}
