// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// freeAddr is a loopback address where nothing listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func get(url string) (status int, body string, err error) {
	resp, err := http.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

// Of two managers one leads and is ready. When it goes, the other one takes over at once, and no run is lost or made
// twice (A17).
func TestLeadership(t *testing.T) {
	w := newWorld(t, manager.Options{Controllers: []string{manager.TTLAfterFinished}}) // only for its namespace and clock
	options := func() manager.Options {
		return manager.Options{
			Config: w.plane.Config(), Clock: w.clock, Zone: time.UTC, Controllers: []string{manager.CronJob},
			LeaderElect: true, LeaderElectionNamespace: w.namespace,
			HealthAddr: freeAddr(t), MetricsAddr: freeAddr(t), MetricsInsecure: true,
		}
	}
	first, second := options(), options()
	stopFirst := w.run(first)
	standby, _ := w.launch(second)

	ready := func(o manager.Options, status int, text string) {
		t.Helper()
		w.eventually("readiness", func(context.Context) error {
			got, body, err := get("http://" + o.HealthAddr + "/readyz?verbose")
			if err == nil && (got != status || !strings.Contains(body, text)) {
				err = fmt.Errorf("%d %s", got, body)
			}
			return err
		})
	}
	ready(first, http.StatusOK, "controllers ok")
	ready(second, http.StatusInternalServerError, "controllers failed")
	if status, _, err := get("http://" + second.HealthAddr + "/healthz"); err != nil || status != http.StatusOK {
		t.Errorf("a standby is healthy, but /healthz says %d, %v", status, err)
	}

	cj := w.createCronJob(make.CronJob(w.namespace, "tick").Schedule("* * * * *"))
	w.pass(1)
	w.runs(cj, 1, 1)
	stopFirst()
	w.pass(1)
	select {
	case <-standby.Ready():
	case <-time.After(patience):
		t.Fatal("the standby does not take over")
	}
	ready(second, http.StatusOK, "controllers ok")
	w.runs(cj, 2, 2)

	_, metrics, err := get("http://" + second.MetricsAddr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"cronjob_controller_job_creation_skew_duration_seconds_bucket{le=\"512\"}",
		"carillon_cronjob_start_lateness_seconds_count{kind=\"cronjobs.batch\"}",
		"carillon_cronjob_last_start_lateness_seconds{kind=\"cronjobs.batch\"}",
		"carillon_cronjob_runs_total{kind=\"cronjobs.batch\",outcome=\"started\",reason=\"\"}",
		"workqueue_depth{controller=\"cronjob\",name=\"cronjob\",priority=\"0\"}",
		"leader_election_master_status{name=\"carillon-manager\"} 1",
	} {
		if !strings.Contains(metrics, name) {
			t.Errorf("no %s in the metrics", name)
		}
	}
}
