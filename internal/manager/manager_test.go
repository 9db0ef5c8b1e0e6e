// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/carillon-dev/carillon/internal/kube/loadgate"
)

// The controllers that run are those asked for, or the default of the place.
func TestSelected(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		want    []string
		err     string
	}{
		"on a cluster":             {want: []string{"cronjob", "job"}},
		"standalone: all":          {options: Options{Standalone: true}, want: []string{"cronjob", "job", "timetable", "ttl-after-finished"}},
		"asked for":                {options: Options{Controllers: []string{"ttl-after-finished"}}, want: []string{"ttl-after-finished"}},
		"asked for in standalone":  {options: Options{Standalone: true, Controllers: []string{"job"}}, want: []string{"job"}},
		"asked for twice: one run": {options: Options{Controllers: []string{"job", "cronjob", "job"}}, want: []string{"cronjob", "job"}},
		"unknown": {
			options: Options{Controllers: []string{"cronjob", "cronjobs", ""}},
			err:     `no controller is called "cronjobs", ""; there are: cronjob, job, timetable, ttl-after-finished`,
		},
		"none": {options: Options{Controllers: []string{}}, err: "no controller is asked for; there are: cronjob, job, timetable, ttl-after-finished"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := selected(test.options)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("selected (-want +got):\n%s", diff)
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v, want one with %q", err, test.err)
			}
		})
	}
}

// What is urgent in one controller holds back what can wait in the others, and the events of all.
func TestControllersShareOneGate(t *testing.T) {
	s := shared{gate: loadgate.New(clock.RealClock{})}
	if s.cronJob(Options{}).Gate != s.gate {
		t.Error("the CronJob controller has a gate of its own")
	}
	if s.job(Options{}).Gate != s.gate {
		t.Error("the Job controller has a gate of its own")
	}
}

// What keeps a manager from starting is said at once, with what to do about it.
func TestNewSaysWhatIsWrong(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	forbidding := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "who are you?", http.StatusUnauthorized)
	}))
	defer forbidding.Close()
	for name, test := range map[string]struct {
		options Options
		want    []string
	}{
		"no configuration":   {want: []string{"Options.Config"}},
		"unknown controller": {options: Options{Config: &rest.Config{}, Controllers: []string{"x"}}, want: []string{`"x"`, "cronjob"}},
		"nobody listens": {
			options: Options{Config: &rest.Config{Host: "http://" + closed.Addr().String()}},
			want:    []string{"cannot reach the API server", closed.Addr().String(), "--kubeconfig"},
		},
		"credentials are refused": {
			options: Options{Config: &rest.Config{Host: forbidding.URL}},
			want:    []string{"cannot reach the API server", forbidding.URL, "provide credentials"},
		},
		"not usable": {
			options: Options{Config: &rest.Config{Host: "https://127.0.0.1", TLSClientConfig: rest.TLSClientConfig{CAFile: "/no/such/file"}}},
			want:    []string{"not usable", "/no/such/file"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(test.options)
			for _, part := range test.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v, want %q in it", err, part)
				}
			}
		})
	}
}

// An API server that is too old is worth a line in the log.
func TestOldServer(t *testing.T) {
	for version, warned := range map[string]bool{"v1.31.9": true, "v1.32.0": false, "v1.36.3+k3s1": false, "odd": false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"major":"1","minor":"x","gitVersion":%q}`, version)
		}))
		var lines []string
		log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
		if err := reach(&rest.Config{Host: server.URL}, log); err != nil {
			t.Error(err)
		}
		server.Close()
		if (len(lines) > 0) != warned {
			t.Errorf("%s: logged %v, want a warning: %v", version, lines, warned)
		}
	}
}

// Rate limits and the encoding of the given configuration are lifted on a copy.
func TestClientConfig(t *testing.T) {
	given := &rest.Config{Host: "https://example.org", QPS: 20, Burst: 30, ContentConfig: rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf"}}
	got := clientConfig(given)
	if got.QPS != -1 || got.RateLimiter != nil || got.ContentType != "" || got.Host != given.Host || !strings.HasPrefix(got.UserAgent, "carillon-manager/") {
		t.Errorf("got %v", got)
	}
	if given.QPS != 20 || given.UserAgent != "" {
		t.Error("the caller's configuration was changed")
	}
	if named := clientConfig(&rest.Config{UserAgent: "me"}); named.UserAgent != "me" {
		t.Errorf("user agent %s", named.UserAgent)
	}
}

// What is asked for reaches the controllers, whose own defaults are those of the flags, and less than one is refused.
func TestSyncs(t *testing.T) {
	if DefaultSyncs != (Syncs{CronJobs: 64, Jobs: 32, TTLs: 5}) {
		t.Errorf("defaults %v", DefaultSyncs)
	}
	for _, wrong := range []Syncs{{CronJobs: -1}, {Jobs: -1}, {TTLs: -1}} {
		if _, err := New(Options{Config: &rest.Config{}, Syncs: wrong}); err == nil || !strings.Contains(err.Error(), "-1") {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	o, s := Options{Syncs: Syncs{CronJobs: 3, Jobs: 7}}, shared{}
	if got := s.cronJob(o).ConcurrentSyncs; got != 3 {
		t.Errorf("%d CronJobs at the same time", got)
	}
	if got := s.job(o).ConcurrentSyncs; got != 7 {
		t.Errorf("%d Jobs at the same time", got)
	}
}
