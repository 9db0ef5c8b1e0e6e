// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package standalone

import (
	"net"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/carillon-dev/carillon/internal/controlplane"
)

// Metrics are served where they were asked for, on loopback unless a host was named, and what cannot be is refused with
// the flag's name.
func TestMetricsAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for asked, want := range map[string]string{"": "", "0": "", "127.0.0.1:0": "127.0.0.1:", ":0": "127.0.0.1:"} {
		got, err := metricsAddress(asked)
		if err != nil || !strings.HasPrefix(got, want) || (want == "") != (got == "") || strings.HasSuffix(got, ":0") {
			t.Errorf("%q gave %q, %v", asked, got, err)
		}
	}
	for _, asked := range []string{taken.Addr().String(), "9090", "127.0.0.1:ninety", "192.0.2.1:0"} {
		if got, err := metricsAddress(asked); err == nil || !strings.Contains(err.Error(), "--metrics-bind-address") {
			t.Errorf("%q gave %q, %v", asked, got, err)
		}
	}
}

// The store's metrics are what the last look found.
func TestStoreMetrics(t *testing.T) {
	m := storeMetrics{func() controlplane.StoreUsage {
		return controlplane.StoreUsage{Size: 5, InUse: 4, Quota: 10, DiskFree: 7, Full: true}
	}}
	const want = `
# HELP carillon_store_disk_free_bytes Free space on the store's disk.
# TYPE carillon_store_disk_free_bytes gauge
carillon_store_disk_free_bytes 7
# HELP carillon_store_full 1 while the store refuses to be written to, 0 otherwise.
# TYPE carillon_store_full gauge
carillon_store_full 1
# HELP carillon_store_in_use_bytes What of the store's file is not free for new data.
# TYPE carillon_store_in_use_bytes gauge
carillon_store_in_use_bytes 4
# HELP carillon_store_quota_bytes How large the store may become (--quota-backend-bytes).
# TYPE carillon_store_quota_bytes gauge
carillon_store_quota_bytes 10
# HELP carillon_store_size_bytes Size of the store's file, which the quota limits.
# TYPE carillon_store_size_bytes gauge
carillon_store_size_bytes 5
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
