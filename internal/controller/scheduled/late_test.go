// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/volcano"
)

// crdServer is an API server whose only API, Volcano's, is installed and removed while clients are connected.
type crdServer struct {
	mu        sync.Mutex
	installed bool
	since     int // version at which it was installed
	version   int
	objects   map[string]map[string]any // by "resource/name"
	watches   map[string][]chan string  // by resource; each takes lines
	asked     int                       // lists and watches of the API
}

const volcanoPath = "/apis/batch.volcano.sh/v1alpha1"

func (s *crdServer) install(cronJob map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.installed = true
	s.version++
	s.since = s.version
	cronJob["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(s.version)
	s.objects = map[string]map[string]any{"cronjobs/tick": cronJob}
}

// remove is what an API server does when a CRD is deleted: its objects go, its watches end, its paths are not found.
func (s *crdServer) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, obj := range s.objects {
		s.send(key, "DELETED", obj)
	}
	for _, watches := range s.watches {
		for _, w := range watches {
			close(w)
		}
	}
	s.installed, s.objects, s.watches = false, nil, map[string][]chan string{}
}

func (s *crdServer) send(key, event string, obj map[string]any) {
	resource, _, _ := strings.Cut(key, "/")
	line, _ := json.Marshal(map[string]any{"type": event, "object": obj})
	for _, w := range s.watches[resource] {
		w <- string(line)
	}
}

// jobs are the UIDs of the controllers of the Jobs that were created.
func (s *crdServer) jobs() (owners []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, obj := range s.objects {
		if strings.HasPrefix(key, "jobs/") {
			ref := obj["metadata"].(map[string]any)["ownerReferences"].([]any)[0].(map[string]any)
			owners = append(owners, ref["uid"].(string))
		}
	}
	return owners
}

func (s *crdServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	answer := func(code int, body any) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(body)
		s.mu.Unlock()
	}
	path := strings.TrimPrefix(r.URL.Path, volcanoPath)
	switch {
	case r.URL.Path == "/api":
		answer(200, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case r.URL.Path == "/apis" && s.installed:
		v := metav1.GroupVersionForDiscovery{GroupVersion: "batch.volcano.sh/v1alpha1", Version: "v1alpha1"}
		answer(200, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
			Groups: []metav1.APIGroup{{Name: "batch.volcano.sh", Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v}}})
	case r.URL.Path == "/apis":
		answer(200, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}})
	case !s.installed || !strings.HasPrefix(r.URL.Path, volcanoPath):
		answer(404, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: 404,
			Reason: metav1.StatusReasonNotFound, Message: "the server could not find the requested resource"})
	case path == "":
		answer(200, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "batch.volcano.sh/v1alpha1",
			APIResources: []metav1.APIResource{{Name: "cronjobs", Kind: "CronJob", Namespaced: true}, {Name: "jobs", Kind: "Job", Namespaced: true}}})
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") != "" && s.before(r.URL.Query().Get("resourceVersion")):
		answer(410, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: 410,
			Reason: metav1.StatusReasonExpired, Message: "too old resource version"})
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") != "":
		s.watch(w, r, strings.Trim(path, "/"))
	case r.Method == http.MethodGet && strings.Count(path, "/") == 1:
		s.asked++
		items := []any{}
		for key, obj := range s.objects {
			if strings.HasPrefix(key, path[1:]+"/") {
				items = append(items, obj)
			}
		}
		answer(200, map[string]any{"kind": "List", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": fmt.Sprint(s.version)}, "items": items})
	case r.Method == http.MethodPost:
		var obj map[string]any
		_ = json.NewDecoder(r.Body).Decode(&obj)
		s.version++
		metadata := obj["metadata"].(map[string]any)
		metadata["uid"], metadata["resourceVersion"] = fmt.Sprint("uid-", s.version), fmt.Sprint(s.version)
		key := "jobs/" + metadata["name"].(string)
		s.objects[key] = obj
		s.send(key, "ADDED", obj)
		answer(201, obj)
	default: // a status write: what it says is of no interest here
		answer(200, s.objects["cronjobs/tick"])
	}
}

// before tells whether the version is one of before the API was installed.
func (s *crdServer) before(version string) bool {
	n, err := strconv.Atoi(version)
	return err == nil && n > 0 && n < s.since
}

// watch streams until the API is removed or the client goes; it unlocks.
func (s *crdServer) watch(w http.ResponseWriter, r *http.Request, resource string) {
	s.asked++
	lines := make(chan string, 100)
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for key, obj := range s.objects {
			if strings.HasPrefix(key, resource+"/") {
				line, _ := json.Marshal(map[string]any{"type": "ADDED", "object": obj})
				lines <- string(line)
			}
		}
		kind := map[string]string{"cronjobs": "CronJob", "jobs": "Job"}[resource]
		lines <- fmt.Sprintf(`{"type":"BOOKMARK","object":{"apiVersion":"batch.volcano.sh/v1alpha1","kind":%q,"metadata":{"resourceVersion":"%d",`+
			`"annotations":{"k8s.io/initial-events-end":"true"}}}}`, kind, s.version)
	}
	if s.watches == nil {
		s.watches = map[string][]chan string{}
	}
	s.watches[resource] = append(s.watches[resource], lines)
	s.mu.Unlock()
	w.WriteHeader(200)
	for {
		w.(http.Flusher).Flush()
		select {
		case line, ok := <-lines:
			if !ok {
				return
			}
			fmt.Fprintln(w, line)
		case <-r.Context().Done():
			return
		}
	}
}

// silent takes events.
type silent struct{}

func (silent) Create(context.Context, *corev1.Event) error         { return nil }
func (silent) Patch(context.Context, string, string, []byte) error { return nil }

// A kind's controller waits for its API without asking for it, starts by itself when the API appears and says so,
// outlives its removal, and serves it again when it is back.
func TestLateKind(t *testing.T) {
	s := &crdServer{}
	server := httptest.NewServer(s)
	defer server.Close()
	var mu sync.Mutex
	var lines []string
	log := funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, args)
	}, funcr.Options{})
	logged := func(text string) bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, text) })
	}
	eventually := func(what string, ok func() bool) {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) { return ok(), nil })
		if err != nil {
			t.Fatalf("%s: %v; logged:\n%s", what, err, strings.Join(lines, "\n"))
		}
	}
	mgr, err := ctrl.NewManager(&rest.Config{Host: server.URL, QPS: -1}, ctrl.Options{Logger: log, GracefulShutdownTimeout: new(time.Second),
		Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: ptr.To(true)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := Add(mgr, Options{Kinds: []kind.Kind{volcano.Kind{}}, Discovery: 10 * time.Millisecond, ConcurrentSyncs: 1, StatusWriters: 1, Sink: silent{}}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	eventually("it says that it waits", func() bool { return logged("The API is not served; the controller starts by itself when it appears") })
	asked := func() int { s.mu.Lock(); defer s.mu.Unlock(); return s.asked }
	if n := asked(); n > 0 {
		t.Errorf("asked for CronJobs %d times where there are none", n)
	}
	cronJob := func(uid string) map[string]any {
		before := time.Now().Add(-10 * time.Minute).UTC().Format(time.RFC3339)
		return map[string]any{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "CronJob",
			"metadata": map[string]any{"name": "tick", "namespace": "batch", "uid": uid, "creationTimestamp": before},
			"spec":     map[string]any{"schedule": "* * * * *", "jobTemplate": map[string]any{"spec": map[string]any{}}}}
	}
	s.install(cronJob("first"))
	eventually("it says that it starts", func() bool { return logged("The API is served now") && logged("Controller started") })
	eventually("the first CronJob runs", func() bool { return slices.Contains(s.jobs(), "first") })

	for metric, labels := range map[string]string{"workqueue_adds_total": "name", "workqueue_depth": "name",
		"controller_runtime_reconcile_total": "controller", "controller_runtime_active_workers": "controller"} {
		if !slices.ContainsFunc(slices.Collect(maps.Values(read(t, metric))), func(m *dto.Metric) bool {
			return slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool {
				return l.GetName() == labels && l.GetValue() == "cronjobs.batch.volcano.sh"
			})
		}) {
			t.Errorf("there is no %s of this kind", metric)
		}
	}

	s.remove()
	eventually("it stays up", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("the manager ended: %v", err)
		default:
		}
		return logged("Controller started") && len(s.jobs()) == 0
	})
	before := asked()
	s.install(cronJob("second"))
	eventually("the second CronJob runs", func() bool { return slices.Contains(s.jobs(), "second") })
	if asked() == before {
		t.Error("the run came out of nowhere")
	}
}
