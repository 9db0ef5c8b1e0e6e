// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Every metric of the Job controller is explained in docs/metrics.md, with its labels.
func TestMetricsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	described := regexp.MustCompile(`fqName: "(\w+)".*variableLabels: \{([^}]*)\}`)
	for _, c := range []prometheus.Collector{
		syncDuration, syncsTotal, jobsFinished, podsFinished, externalJobs, failurePolicyPods, trackedPods,
		finishedIndexes, podsCreation, staleSyncSkips, statusWrites, statusRejected, podWrites,
	} {
		descs := make(chan *prometheus.Desc, 1)
		c.Describe(descs)
		d := described.FindStringSubmatch((<-descs).String())
		if d == nil {
			t.Fatal("the description of a metric reads otherwise now")
		}
		row := regexp.MustCompile("(?m)^\\| `" + d[1] + "` \\|(.*)$").FindStringSubmatch(string(text))
		if row == nil {
			t.Errorf("%s is not explained", d[1])
			continue
		}
		for label := range strings.SplitSeq(d[2], ",") {
			if !strings.Contains(row[1], "`"+label+"`") {
				t.Errorf("%s: the label %s is not explained", d[1], label)
			}
		}
	}
}
