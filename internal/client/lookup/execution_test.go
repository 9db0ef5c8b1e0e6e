// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// executionNow is when containers of these tests begin.
var executionNow = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// podServer is an API server with one Pod, whose answers follow each other; the last one stays.
type podServer struct {
	t    *testing.T
	pods []*corev1.Pod
	logs []string // "404" and the like are errors
	asks []string
}

// RoundTrip implements http.RoundTripper.
func (s *podServer) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := func(code int, body []byte) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
	}
	if strings.HasSuffix(r.URL.Path, "/log") {
		q := r.URL.Query()
		s.asks = append(s.asks, strings.TrimSpace(strings.Join([]string{q.Get("previous"), q.Get("follow"), q.Get("sinceTime")}, " ")))
		log := s.logs[0]
		if len(s.logs) > 1 {
			s.logs = s.logs[1:]
		}
		if code, err := strconv.Atoi(log); err == nil {
			return answer(code, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":`+log+`}`))
		}
		return answer(http.StatusOK, []byte(log))
	}
	pod := s.pods[0]
	if len(s.pods) > 1 {
		s.pods = s.pods[1:]
	}
	if pod == nil {
		return answer(http.StatusNotFound, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
	}
	body, err := json.Marshal(pod)
	if err != nil {
		s.t.Error(err)
	}
	return answer(http.StatusOK, body)
}

// podWith is a Pod whose container was restarted that often; ended tells of the current execution.
func podWith(restarts int32, ended bool) *corev1.Pod {
	id := func(n int32) string { return "carillon://id" + strconv.Itoa(int(n)) }
	over := func(n int32) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{ContainerID: id(n), StartedAt: metav1.NewTime(executionNow), FinishedAt: metav1.NewTime(executionNow.Add(time.Second))}
	}
	status := corev1.ContainerStatus{Name: "c", RestartCount: restarts, ContainerID: id(restarts)}
	if restarts > 0 {
		status.LastTerminationState.Terminated = over(restarts - 1)
	}
	if status.State.Running = &(corev1.ContainerStateRunning{StartedAt: metav1.NewTime(executionNow)}); ended {
		status.State = corev1.ContainerState{Terminated: over(restarts)}
	}
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "p"},
		Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{status}},
	}
}

// What a container writes is read whole and once, whatever happens between the questions that the API answers.
func TestExecution(t *testing.T) {
	line := func(n int) string {
		return executionNow.Add(time.Duration(n)*time.Second).Format(time.RFC3339) + " line " + strconv.Itoa(n) + "\n"
	}
	running, over, restarted, gone := podWith(0, false), podWith(0, true), podWith(1, false), (*corev1.Pod)(nil)
	for name, test := range map[string]struct {
		pods     []*corev1.Pod
		logs     []string
		want     string
		asks     string // previous, follow and sinceTime of each
		complete bool
	}{
		"it has ended": {
			pods: []*corev1.Pod{over}, logs: []string{line(1) + line(2)}, want: "line 1,line 2,", asks: "", complete: true,
		},
		"it ends while it is followed": {
			pods: []*corev1.Pod{running, running, over}, logs: []string{line(1), line(1) + line(2)},
			want: "line 1,line 2,", asks: "true; 2026-05-04T12:00:01Z", complete: true,
		},
		"the connection breaks within a line": {
			pods: []*corev1.Pod{running, running, running, running, over}, logs: []string{line(1) + strings.TrimSuffix(line(2), " 2\n"), line(2) + line(3), line(3)},
			want: "line 1,line 2,line 3,", asks: "true;true 2026-05-04T12:00:02Z; 2026-05-04T12:00:03Z", complete: true,
		},
		"the node has no log yet": {
			pods: []*corev1.Pod{running, running, running, running, over}, logs: []string{"400", "500", line(1)}, want: "line 1,", asks: "true;true;true;2026-05-04T12:00:01Z", complete: true,
		},
		"it is restarted before its log is open": {
			pods: []*corev1.Pod{running, restarted}, logs: []string{line(9), line(1)}, want: "line 1,", asks: "true;true", complete: true,
		},
		"it is no more the one before": {
			pods: []*corev1.Pod{podWith(2, false)}, logs: []string{line(9)},
		},
		"the Pod goes": {
			pods: []*corev1.Pod{running, running, gone}, logs: []string{line(1)}, want: "line 1,", asks: "true",
		},
		"another Pod of its name": {
			pods: []*corev1.Pod{func() *corev1.Pod { p := podWith(0, false); p.UID = "q"; return p }()}, logs: []string{line(9)},
		},
		"the node has lost its log": {
			pods: []*corev1.Pod{over}, logs: []string{"unable to retrieve container logs for carillon://id0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &podServer{t: t, pods: test.pods, logs: test.logs}
				client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://plane", Transport: server, QPS: -1})
				if err != nil {
					t.Fatal(err)
				}
				e := &Execution{Client: client, Attempt: run.Attempt{ContainerID: "id0", Namespace: "default", Pod: "p", PodUID: "p", Container: "c"}}
				got := ""
				complete, err := e.Read(t.Context(), func(p crilog.Piece) error {
					if got += string(p.Text); p.Ending == crilog.Newline {
						got += ","
					}
					return nil
				})
				if err != nil || complete != test.complete || got != test.want {
					t.Errorf("got %q, complete %t, %v", got, complete, err)
				}
				if asks := strings.Join(server.asks, ";"); test.asks != "" && strings.ReplaceAll(asks, " ", "") != strings.ReplaceAll(test.asks, " ", "") {
					t.Errorf("asked for %q, want %q", asks, test.asks)
				}
			})
		})
	}
}
