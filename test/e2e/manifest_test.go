// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write puts a manifest into a file of its own and returns the path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// shellJob is a Job whose one container runs a shell script. More lines may be
// given for the Pod's spec and the Job's, indented as they stand there.
type shellJob struct {
	name    string
	script  string
	pod     string // lines of spec.template.spec, without indentation
	mounts  string // lines of volumeMounts, without indentation
	job     string // lines of spec, without indentation
	restart string // restartPolicy; empty means Never
}

func (j shellJob) String() string {
	restart := j.restart
	if restart == "" {
		restart = "Never"
	}
	job := j.job
	if job == "" {
		job = "backoffLimit: 0"
	}
	text := fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata:
  name: %s
spec:
%s
  template:
    spec:
      restartPolicy: %s
      automountServiceAccountToken: false
%s
      containers:
      - name: main
        image: none
        command: ["/bin/sh", "-c"]
        args:
        - |
%s
`, j.name, indent(job, 2), restart, indent(j.pod, 6), indent(j.script, 10))
	if j.mounts != "" {
		text += "        volumeMounts:\n" + indent(j.mounts, 8)
	}
	return text + "\n---\n"
}

// hostDir gives a Pod a directory of the host at the same path.
func hostDir(dir string) (volumes, mounts string) {
	return fmt.Sprintf("volumes:\n- name: host\n  hostPath:\n    path: %s\n    type: Directory", dir),
		fmt.Sprintf("- name: host\n  mountPath: %s", dir)
}

func indent(text string, by int) string {
	if text == "" {
		return ""
	}
	margin := strings.Repeat(" ", by)
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return margin + strings.Join(lines, "\n"+margin)
}
