// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// "carillon up --metrics-bind-address" serves metrics, of the controllers and of
// the store, over TLS that the plane's own authority vouches for, and to those
// alone who were allowed to read them.
func TestUpServesMetrics(t *testing.T) {
	dataDir := newDataDir(t)
	u := startReady(t, dataDir, "--metrics-bind-address", ":0", "-f", write(t, shellJob{name: "counted", script: "true"}.String()))
	told := u.wait("the address", func(l line) bool {
		return l.Type == "info" && strings.HasPrefix(l.Message, "metrics: https://127.0.0.1:")
	})
	_, url, _ := strings.Cut(told.Message, " ")
	u.finished("counted")

	authority, err := os.ReadFile(filepath.Join(dataDir, "control-plane", "pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		t.Fatal("no authority")
	}
	client := &http.Client{Timeout: forever, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	get := func(token string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}

	// As docs/metrics.md has it.
	u.kubectl("create", "serviceaccount", "prometheus")
	u.kubectl("create", "serviceaccount", "stranger")
	u.kubectl("create", "clusterrolebinding", "prometheus", "--clusterrole=system:monitoring", "--serviceaccount=default:prometheus")
	if status, _ := get(""); status != http.StatusUnauthorized {
		t.Errorf("nobody is answered with %d", status)
	}
	if status, _ := get(u.kubectl("create", "token", "stranger")); status != http.StatusForbidden {
		t.Errorf("a stranger is answered with %d", status)
	}
	token := u.kubectl("create", "token", "prometheus", "--duration=8760h")
	var body string
	until(t, "the metrics", func() bool { // the roles of the plane come a moment after its start
		var status int
		status, body = get(token)
		return status == http.StatusOK
	})
	for _, want := range []string{
		"carillon_store_quota_bytes 2.147483648e+09", "carillon_store_full 0", "carillon_store_in_use_bytes ", "carillon_store_disk_free_bytes ",
		"carillon_cronjob_runs_total", `job_controller_jobs_finished_total{completion_mode="NonIndexed",reason="CompletionsReached",result="succeeded"} 1`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in:\n%.2000s", want, body)
		}
	}
}
