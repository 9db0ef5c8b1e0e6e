// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/ptr"
)

// An ordinary user's node fails a Pod that asks for another user or group, and
// names the field; ids that are its own are no obstacle.
func TestRefuser(t *testing.T) {
	container := func(security *corev1.SecurityContext) corev1.PodSpec {
		return corev1.PodSpec{Containers: []corev1.Container{{Name: "ok"}, {Name: "main", SecurityContext: security}}}
	}
	pod := func(security *corev1.PodSecurityContext) corev1.PodSpec {
		return corev1.PodSpec{SecurityContext: security}
	}
	ofImage := func(spec corev1.PodSpec) corev1.PodSpec {
		for i := range spec.Containers {
			spec.Containers[i].Image = "busybox"
		}
		return spec
	}
	mixed := container(nil)
	mixed.Containers[1].Image, mixed.SecurityContext = "host", &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](7)}
	overridden := container(&corev1.SecurityContext{RunAsUser: ptr.To[int64](1000)})
	overridden.Containers[1].Image, overridden.SecurityContext = "host", &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](7)}
	onHost := ofImage(container(&corev1.SecurityContext{RunAsUser: ptr.To[int64](7)}))
	onHost.RuntimeClassName = ptr.To(RuntimeClassHost)
	grouped := func(security corev1.PodSecurityContext, v corev1.VolumeSource) corev1.PodSpec {
		spec := ofImage(container(nil))
		spec.SecurityContext, spec.Volumes = &security, []corev1.Volume{{Name: "v", VolumeSource: v}}
		return spec
	}
	images := map[string]struct {
		spec corev1.PodSpec
		want string
	}{
		"another user of an image":    {ofImage(container(&corev1.SecurityContext{RunAsUser: ptr.To[int64](7), RunAsGroup: ptr.To[int64](8)})), ""},
		"another user of its Pod":     {corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](7)}, Containers: ofImage(container(nil)).Containers}, ""},
		"volumes' group":              {grouped(corev1.PodSecurityContext{FSGroup: ptr.To[int64](7)}, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), ""},
		"group of another's volume":   {grouped(corev1.PodSecurityContext{FSGroup: ptr.To[int64](7)}, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}), "spec.securityContext.fsGroup is 7, but carillon runs as an ordinary user and can use 100, 50 only"},
		"other groups":                {grouped(corev1.PodSecurityContext{SupplementalGroups: []int64{100, 7}}, corev1.VolumeSource{}), "spec.securityContext.supplementalGroups is 7"},
		"groups that we are in":       {grouped(corev1.PodSecurityContext{SupplementalGroups: []int64{100, 50}, FSGroup: ptr.To[int64](50)}, corev1.VolumeSource{}), ""},
		"the group that it runs as":   {grouped(corev1.PodSecurityContext{SupplementalGroups: []int64{7}, RunAsGroup: ptr.To[int64](7)}, corev1.VolumeSource{}), ""},
		"one on the machine's files":  {mixed, "spec.securityContext.runAsUser"},
		"which says whom it runs as":  {overridden, ""},
		"RuntimeClass host":           {onHost, "spec.containers[main].securityContext.runAsUser"},
		"the machine's files by name": {corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "host:latest", SecurityContext: &corev1.SecurityContext{RunAsUser: ptr.To[int64](7)}}}}, "spec.containers[main].securityContext.runAsUser"},
	}
	for name, tt := range images {
		got := refuser{uid: 1000, gid: 100, groups: []int64{100, 50}}.Admit(&lifecycle.PodAdmitAttributes{Pod: &corev1.Pod{Spec: tt.spec}})
		if got.Admit != (tt.want == "") || !strings.HasPrefix(got.Message, tt.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	tests := map[string]struct {
		spec corev1.PodSpec
		want string // the field; empty means that the Pod is let through
	}{
		"nothing asked":     {corev1.PodSpec{}, ""},
		"empty contexts":    {pod(&corev1.PodSecurityContext{}), ""},
		"own user":          {pod(&corev1.PodSecurityContext{RunAsUser: ptr.To[int64](1000), RunAsGroup: ptr.To[int64](100), FSGroup: ptr.To[int64](100)}), ""},
		"other user":        {pod(&corev1.PodSecurityContext{RunAsUser: ptr.To[int64](0)}), "spec.securityContext.runAsUser"},
		"other group":       {pod(&corev1.PodSecurityContext{RunAsGroup: ptr.To[int64](0)}), "spec.securityContext.runAsGroup"},
		"volumes' group":    {pod(&corev1.PodSecurityContext{FSGroup: ptr.To[int64](1)}), "spec.securityContext.fsGroup"},
		"container's user":  {container(&corev1.SecurityContext{RunAsUser: ptr.To[int64](7)}), "spec.containers[main].securityContext.runAsUser"},
		"container's group": {container(&corev1.SecurityContext{RunAsGroup: ptr.To[int64](7)}), "spec.containers[main].securityContext.runAsGroup"},
		"container's own":   {container(&corev1.SecurityContext{RunAsUser: ptr.To[int64](1000)}), ""},
		"init container": {corev1.PodSpec{InitContainers: []corev1.Container{{Name: "i", SecurityContext: &corev1.SecurityContext{RunAsUser: ptr.To[int64](7)}}}},
			"spec.initContainers[i].securityContext.runAsUser"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := refuser{uid: 1000, gid: 100, localFiles: true}.Admit(&lifecycle.PodAdmitAttributes{Pod: &corev1.Pod{Spec: tt.spec}})
			if got.Admit != (tt.want == "") {
				t.Fatalf("got %+v", got)
			}
			if !strings.HasPrefix(got.Message, tt.want) {
				t.Errorf("message %q does not start with %q", got.Message, tt.want)
			}
			if !got.Admit && got.Reason != reasonNeedsRoot {
				t.Errorf("reason %q", got.Reason)
			}
		})
	}
	other := refuser{uid: 1000, gid: 100, localFiles: true, othersRuntime: true}
	if got := other.Admit(&lifecycle.PodAdmitAttributes{Pod: &corev1.Pod{Spec: pod(&corev1.PodSecurityContext{SupplementalGroups: []int64{7}})}}); !got.Admit {
		t.Errorf("groups that another runtime gives: %+v", got)
	}
}
