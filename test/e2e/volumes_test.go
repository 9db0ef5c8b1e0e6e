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

	corev1 "k8s.io/api/core/v1"
)

// Every kind of volume that Jobs use appears where it should, with the content
// that it should have, and read-only ones cannot be written.
func TestVolumes(t *testing.T) {
	host := t.TempDir()
	if err := os.WriteFile(filepath.Join(host, "given"), []byte("from the host\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const objects = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: blue, size: big}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {password: "s3cret"}
---
`
	tests := map[string]struct {
		script  string
		volumes string
		mounts  string
		want    string // what it writes
	}{
		"emptyDir": {
			"echo hello > /scratch/x && cat /scratch/x",
			"- name: v\n  emptyDir: {}", "- name: v\n  mountPath: /scratch", "hello\n",
		},
		"emptyDir in memory": {
			"echo hello > /scratch/x && cat /scratch/x",
			"- name: v\n  emptyDir: {medium: Memory, sizeLimit: 1Mi}", "- name: v\n  mountPath: /scratch", "hello\n",
		},
		"configMap": {
			"cat /etc/settings/colour; echo; ls /etc/settings | sort | tr '\\n' ' '; echo",
			"- name: v\n  configMap: {name: settings}", "- name: v\n  mountPath: /etc/settings", "blue\ncolour size \n",
		},
		"configMap, one item under another name": {
			"ls /s; cat /s/c; echo",
			"- name: v\n  configMap: {name: settings, items: [{key: colour, path: c}]}", "- name: v\n  mountPath: /s", "c\nblue\n",
		},
		"configMap cannot be written": {
			"(echo red > /s/colour) 2>/dev/null || echo refused",
			"- name: v\n  configMap: {name: settings}", "- name: v\n  mountPath: /s\n  readOnly: true", "refused\n",
		},
		"secret": {
			"cat /keys/password; echo; stat -L -c %a /keys/password",
			"- name: v\n  secret: {secretName: keys, defaultMode: 0400}", "- name: v\n  mountPath: /keys", "s3cret\n400\n",
		},
		"projected": {
			"cat /all/colour /all/password; echo; cat /all/name; echo; test -s /all/token && echo token",
			"- name: v\n  projected:\n    sources:\n    - configMap: {name: settings}\n    - secret: {name: keys}\n    - downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.namespace}}]}\n    - serviceAccountToken: {path: token}",
			"- name: v\n  mountPath: /all", "blues3cret\ndefault\ntoken\n",
		},
		"downwardAPI": {
			"cat /about/labels; echo",
			"- name: v\n  downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: \"metadata.labels['batch.kubernetes.io/job-name']\"}}]}", "- name: v\n  mountPath: /about", "NAME\n",
		},
		"hostPath": {
			"cat /host/given; echo to the host > /host/made",
			"- name: v\n  hostPath: {path: " + host + "}", "- name: v\n  mountPath: /host", "from the host\n",
		},
		"hostPath, read only": {
			"cat /host/given; (echo x > /host/never) 2>/dev/null || echo refused",
			"- name: v\n  hostPath: {path: " + host + "}", "- name: v\n  mountPath: /host\n  readOnly: true", "from the host\nrefused\n",
		},
		"hostPath, one file": {
			"cat /one",
			"- name: v\n  hostPath: {path: " + host + "/given, type: File}", "- name: v\n  mountPath: /one", "from the host\n",
		},
		"subPath": {
			"cat /part/colour-only; echo",
			"- name: v\n  configMap: {name: settings}", "- name: v\n  mountPath: /part/colour-only\n  subPath: colour", "blue\n",
		},
		"subPath that is made": {
			"echo deep > /part/x; cat /part/x",
			"- name: v\n  emptyDir: {}", "- name: v\n  mountPath: /part\n  subPath: a/b", "deep\n",
		},
		"what is not on a volume is thrown away": {
			"echo x > /var/tmp/carillon-e2e-scratch && cat /var/tmp/carillon-e2e-scratch",
			"- name: v\n  emptyDir: {}", "- name: v\n  mountPath: /unused", "x\n",
		},
	}
	var manifest strings.Builder
	manifest.WriteString(objects)
	names := map[string]string{}
	for name, tt := range tests {
		names[name] = fmt.Sprintf("volume-%d", len(names))
		manifest.WriteString(shellJob{name: names[name], script: "set -e\n" + tt.script, pod: "volumes:\n" + tt.volumes, mounts: tt.mounts}.String())
	}
	dataDir := newDataDir(t)
	u := startReady(t, dataDir, "-f", write(t, manifest.String()))
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			job := names[name]
			if end := u.finished(job); end.Outcome != "complete" {
				t.Errorf("ended %+v", end)
			}
			want := strings.ReplaceAll(tt.want, "NAME", job)
			if got := u.kubectl("logs", "job/"+job); got != want {
				t.Errorf("wrote %q, want %q", got, want)
			}
		})
	}
	if data, err := os.ReadFile(filepath.Join(host, "made")); err != nil || string(data) != "to the host\n" {
		t.Errorf("hostPath: %q, %v", data, err)
	}
	for _, path := range []string{filepath.Join(host, "never"), "/var/tmp/carillon-e2e-scratch"} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s: %v", path, err)
			os.Remove(path)
		}
	}
	u.stop()
	wantNothingLeft(t, dataDir, "")
}

// RuntimeClass host runs a Pod on the machine's own files: what it writes stays.
func TestHostRuntimeClass(t *testing.T) {
	dir := t.TempDir()
	u := startUp(t, newDataDir(t), "-f", write(t, shellJob{name: "host",
		script: fmt.Sprintf("echo stays > %s/written && pwd", dir), pod: "runtimeClassName: host"}.String()))
	if end := u.finished("host"); end.Outcome != "complete" {
		t.Errorf("ended %+v", end)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "written")); err != nil || string(data) != "stays\n" {
		t.Errorf("wrote %q, %v", data, err)
	}
}

// A Pod finds the API server where its environment says, and its token is
// accepted there.
func TestPodReachesTheAPI(t *testing.T) {
	manifest := shellJob{name: "caller", script: `T=/var/run/secrets/kubernetes.io/serviceaccount
curl -s --cacert $T/ca.crt -H "Authorization: Bearer $(cat $T/token)" https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT/api/v1/namespaces/default/pods | grep -o 'system:serviceaccount:default:default'`}.String()
	manifest = strings.Replace(manifest, "automountServiceAccountToken: false", "automountServiceAccountToken: true", 1)
	if _, err := os.Stat("/usr/bin/curl"); err != nil {
		t.Skip("needs curl")
	}
	u := startUp(t, newDataDir(t), "-f", write(t, manifest))
	if end := u.finished("caller"); end.Outcome != "complete" {
		t.Errorf("ended %+v: %v", end, u.outputs("caller"))
	}
}

// Init containers come first, each after the other; a sidecar lives as long as
// the Job's own container and does not keep the Pod from ending.
func TestInitContainersAndSidecars(t *testing.T) {
	u := startUp(t, newDataDir(t), "-f", write(t, `apiVersion: batch/v1
kind: Job
metadata: {name: parts}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 5
      volumes: [{name: v, emptyDir: {}}]
      initContainers:
      - {name: one, image: none, command: [/bin/sh, -c, "echo one >> /v/order"], volumeMounts: [{name: v, mountPath: /v}]}
      - {name: side, image: none, restartPolicy: Always, command: [/bin/sh, -c, "trap 'exit 0' TERM; echo side >> /v/order; while true; do sleep 0.05; done"],
         startupProbe: {exec: {command: [grep, side, /v/order]}, periodSeconds: 1}, volumeMounts: [{name: v, mountPath: /v}]}
      - {name: two, image: none, command: [/bin/sh, -c, "echo two >> /v/order"], volumeMounts: [{name: v, mountPath: /v}]}
      containers:
      - {name: main, image: none, command: [/bin/sh, -c, "cat /v/order"], volumeMounts: [{name: v, mountPath: /v}]}
`))
	if end := u.finished("parts"); end.Outcome != "complete" {
		t.Errorf("ended %+v", end)
	}
	if got := u.kubectl("logs", "job/parts", "-c", "main"); got != "one\nside\ntwo\n" {
		t.Errorf("order %q", got)
	}
	u.pod("parts", "succeeded", func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded })
}

// A container without a command fails with a message that says why, and its Job
// comes to an end.
func TestContainerWithoutACommand(t *testing.T) {
	u := startUp(t, newDataDir(t), "-f", write(t, "apiVersion: batch/v1\nkind: Job\nmetadata: {name: bare}\nspec:\n  backoffLimit: 0\n  template:\n    spec:\n      restartPolicy: Never\n      containers: [{name: main, image: host}]\n"))
	if end := u.finished("bare"); end.Outcome != "failed" {
		t.Errorf("ended %+v", end)
	}
	if got := u.kubectl("get", "pods", "-o", "jsonpath={.items[0].status.containerStatuses[0].state.terminated.message}"); !strings.Contains(got, "command") {
		t.Errorf("message %q", got)
	}
}
