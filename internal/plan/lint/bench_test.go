// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/plan/lint"
)

// A file of a thousand CronJobs.
func BenchmarkCheck(b *testing.B) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, `---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: job-%d
spec:
  schedule: "%d %d * * *"  # carillon-lint ignore=no-time-zone: it runs in UTC
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: c
            image: busybox
`, i, i%60, i%24)
	}
	objects := read(b, "jobs.yaml", text.String())
	options := lint.Options{Now: now, Texts: map[string]string{"jobs.yaml": text.String()}}
	for b.Loop() {
		lint.Check(objects, options)
	}
}
