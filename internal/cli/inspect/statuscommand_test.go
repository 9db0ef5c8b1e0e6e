// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// apiServer answers what the command asks of one.
type apiServer struct {
	cronJobs []batchv1.CronJob
	pods     []corev1.Pod
	nodes    []corev1.Node
	leases   []coordinationv1.Lease
	readyz   string
	// forbidden are paths that may not be read.
	forbidden []string
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(status int, content any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(content)
	}
	list := func(object runtime.Object) {
		var b bytes.Buffer
		if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, &b); err != nil {
			answer(http.StatusInternalServerError, err.Error())
			return
		}
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		_, _ = w.Write(b.Bytes())
	}
	for _, path := range s.forbidden {
		if strings.HasPrefix(r.URL.Path, path) {
			answer(http.StatusForbidden, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: path + " is forbidden"})
			return
		}
	}
	switch path := r.URL.Path; {
	case path == "/version":
		answer(http.StatusOK, version.Info{GitVersion: "v1.36.3"})
	case path == "/readyz":
		if strings.Contains(s.readyz, "[-]") {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = w.Write([]byte(s.readyz))
	case path == "/api":
		answer(http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case path == "/api/v1":
		answer(http.StatusOK, metav1.APIResourceList{GroupVersion: "v1"})
	case path == "/apis":
		answer(http.StatusOK, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}})
	case strings.HasSuffix(path, "/cronjobs"):
		list(&batchv1.CronJobList{TypeMeta: metav1.TypeMeta{Kind: "CronJobList", APIVersion: "batch/v1"}, Items: s.cronJobs})
	case strings.HasSuffix(path, "/pods"):
		list(&corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: s.pods})
	case strings.HasSuffix(path, "/nodes"):
		list(&corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}, Items: s.nodes})
	case strings.HasSuffix(path, "/leases"):
		var found []coordinationv1.Lease
		for _, l := range s.leases {
			if r.URL.Query().Get("fieldSelector") == "metadata.name="+l.Name {
				found = append(found, l)
			}
		}
		list(&coordinationv1.LeaseList{TypeMeta: metav1.TypeMeta{Kind: "LeaseList", APIVersion: "coordination.k8s.io/v1"}, Items: found})
	default:
		answer(http.StatusNotFound, metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
	}
}

// statusMemory chooses as sources do.
type statusMemory struct{ *runMemory }

func (m statusMemory) Runs(_ context.Context, q journal.Query) ([]run.Run, error) {
	return slices.DeleteFunc(slices.Clone(m.runs), func(r run.Run) bool { return !lookup.Chooses(&q, &r) }), nil
}

func (m statusMemory) Omissions(_ context.Context, q journal.Query) ([]run.Omission, error) {
	return slices.DeleteFunc(slices.Clone(m.omissions), func(o run.Omission) bool { return !lookup.Between(o.ScheduledTime, &q) }), nil
}

func readyNode(name string) corev1.Node {
	return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, {Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse},
	}}}
}

// kubeconfigOf writes a kubeconfig for the server, and gives its path.
func kubeconfigOf(t testing.TB, s http.Handler) string {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := "{apiVersion: v1, kind: Config, clusters: [{name: a, cluster: {server: '" + server.URL + "'}}], contexts: [{name: a, context: {cluster: a, namespace: shop}}], current-context: a}"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// askStatus runs the command on a cluster whose runs a source remembers.
func askStatus(t testing.TB, s *apiServer, memory lookup.Source, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := &statusCommand{Streams: Streams{Out: &out, Err: &out}, now: func() time.Time { return statusNow }, screen: func() (int, int) { return 0, 0 }}
	c.open = func(context.Context) (lookup.Source, *cluster.Server, error) {
		if s == nil {
			return memory, nil, nil
		}
		server, err := c.target.Cluster.Connect()
		return memory, server, err
	}
	cmd := c.command()
	if s != nil {
		args = append(args, "--kubeconfig", kubeconfigOf(t, s))
	}
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func codeOf(err error) int {
	if err == nil {
		return 0
	}
	if coded, ok := errors.AsType[*exitcode.Error](err); ok {
		return coded.Code
	}
	return exitcode.Failed
}

// statusScene is a server, and what is remembered of its runs.
func statusScene(t testing.TB) (*apiServer, statusMemory) {
	t.Helper()
	bad := failedRun("shop", "bad", time.Hour, time.Minute, 3)
	attempt := run.Attempt{ContainerID: "c1", RunUID: bad.UID, Namespace: "shop", Pod: "bad-1-x", Container: "main", Started: bad.Started, Ended: bad.Ended, ExitCode: 3, Reason: "Error"}
	stuck := runOf("shop", "stuck", time.Minute)
	m := &runMemory{
		runs:     []run.Run{stuck, bad},
		attempts: []run.Attempt{attempt},
		logs:     map[string]string{"c1": criText(bad.Started, "starting", "\x1b[31mno such table\x1b[0m")},
	}
	cron := func(name, schedule string) batchv1.CronJob {
		return *cronJob("shop", name, schedule).(*batchv1.CronJob)
	}
	waiting := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "stuck-1-x", UID: "pod", OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: "stuck-1", UID: stuck.UID, Controller: new(true)}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such host"}}}}},
	}
	return &apiServer{
		cronJobs: []batchv1.CronJob{cron("bad", "30 * * * *"), cron("stuck", "0 * * * *")}, nodes: []corev1.Node{readyNode("tower")}, pods: []corev1.Pod{waiting}, readyz: "[+]ping ok\nreadyz check passed\n",
		leases: []coordinationv1.Lease{{ObjectMeta: metav1.ObjectMeta{Name: "kube-controller-manager", Namespace: "kube-system"},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: new("cp-1"), RenewTime: &metav1.MicroTime{Time: ago(time.Second)}, LeaseDurationSeconds: new(int32(15))}}},
	}, statusMemory{m}
}

func TestStatusCommand(t *testing.T) {
	s, m := statusScene(t)
	text, err := askStatus(t, s, m)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "status-command.txt", regexp.MustCompile(`/\S*/kubeconfig`).ReplaceAllString(text, "KUBECONFIG"))

	if _, err := askStatus(t, s, m, "--exit-code"); codeOf(err) != exitcode.Failed {
		t.Errorf("--exit-code ends with %v", err)
	}
	if text, err := askStatus(t, &apiServer{nodes: s.nodes}, statusMemory{&runMemory{}}, "--exit-code"); err != nil || !strings.HasPrefix(text, "all is well: 0 running, 0 schedules\n") {
		t.Errorf("--exit-code where all is well: %v\n%s", err, text)
	}

	text, err = askStatus(t, s, m, "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var d statusDocument
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if d.APIVersion != apiVersion || d.Kind != "Status" || d.Well || !d.Served || d.Schedules != 2 || len(d.Failed) != 1 || len(d.Running) != 1 || !d.Running[0].Stuck {
		t.Errorf("got %s", text)
	}
	if got := strings.Join(d.Failed[0].Output, "|"); got != "starting|no such table" {
		t.Errorf("the output is %q", got)
	}
	if strings.Contains(text, "null") {
		t.Errorf("it has null: %s", text)
	}
}

// What may not be read is said, and is no error.
func TestStatusForbidden(t *testing.T) {
	s, m := statusScene(t)
	s.forbidden = []string{"/api/v1/nodes", "/apis/batch/v1", "/api/v1/namespaces/shop/pods", "/readyz", "/apis/coordination.k8s.io"}
	text, err := askStatus(t, s, m)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Note: CronJobs are not known: /apis/batch/v1 is forbidden", "Note: what Pods wait for is not known", "Note: whether the API server is ready is not known",
		"?  not known: /api/v1/nodes is forbidden", "?  not known: /apis/coordination.k8s.io is forbidden", "cronjob/bad"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// Labels choose schedules, and runs by those.
func TestStatusLabels(t *testing.T) {
	s, m := statusScene(t)
	s.cronJobs = s.cronJobs[:1] // what the server chooses
	text, err := askStatus(t, s, m, "-l", "team=a")
	if err != nil || strings.Contains(text, "stuck") || !strings.Contains(text, "cronjob/bad") {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := askStatus(t, nil, m, "-l", "team=a"); codeOf(err) != exitcode.Usage {
		t.Errorf("labels without an API server: %v", err)
	}
}

func TestStatusRefusals(t *testing.T) {
	for name, args := range map[string][]string{
		"an argument":         {"cronjob/x"},
		"a span that is none": {"--since", "yesterday"},
		"no span":             {"--since", "0s"},
		"a span to come":      {"--since=-1h"},
		"no zone":             {"--zone", "Mars/Base"},
		"no labels":           {"-l", "a in"},
		"watch for a program": {"--watch", "-o", "json"},
		"watch with a code":   {"--watch", "--exit-code"},
		"watch of all":        {"--watch", "--all"},
		"watch, no terminal":  {"--watch"},
		"no format":           {"-o", "yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			if text, err := askStatus(t, nil, statusMemory{&runMemory{}}, args...); err == nil {
				t.Errorf("it was taken:\n%s", text)
			}
		})
	}
	_, err := askStatus(t, nil, statusMemory{&runMemory{}}, "--watch")
	if codeOf(err) != exitcode.Usage || !strings.Contains(err.Error(), "while sleep 2; do carillon status") {
		t.Errorf("--watch without a terminal: %v", err)
	}
}

// What is remembered is shown although no API server answers.
func TestStatusWithoutServer(t *testing.T) {
	_, m := statusScene(t)
	text, err := askStatus(t, nil, m, "--journal", t.TempDir(), "-A")
	if err != nil || !strings.Contains(text, "1 failing") || !strings.Contains(text, "│ no such table") || strings.Contains(text, "DUE IN") {
		t.Errorf("%v\n%s", err, text)
	}
}

// A server that is not ready says so, and why.
func TestStatusNotReady(t *testing.T) {
	s, m := statusScene(t)
	s.readyz = "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n"
	text, err := askStatus(t, s, m, "--exit-code")
	if codeOf(err) != exitcode.Failed || !strings.Contains(text, "not ready, because of etcd") {
		t.Errorf("%v\n%s", err, text)
	}
}
