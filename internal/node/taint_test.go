// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// The taints follow the conditions and the guard; those of others stay as they
// are, in their order.
func TestPressureTaints(t *testing.T) {
	noSchedule := func(key string) corev1.Taint {
		return corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule}
	}
	disk, memory := noSchedule(corev1.TaintNodeDiskPressure), noSchedule(corev1.TaintNodeMemoryPressure)
	theirs := corev1.Taint{Key: "example.com/mine", Effect: corev1.TaintEffectNoExecute}
	theirDisk := corev1.Taint{Key: corev1.TaintNodeDiskPressure, Effect: corev1.TaintEffectNoExecute}
	for name, tc := range map[string]struct {
		has     []corev1.Taint
		under   []corev1.NodeConditionType
		low     bool
		want    []corev1.Taint
		changed bool
	}{
		"nothing":                {nil, nil, false, nil, false},
		"the kubelet says so":    {[]corev1.Taint{theirs}, []corev1.NodeConditionType{corev1.NodeDiskPressure}, false, []corev1.Taint{theirs, disk}, true},
		"the guard says so":      {nil, nil, true, []corev1.Taint{disk}, true},
		"both":                   {[]corev1.Taint{disk}, []corev1.NodeConditionType{corev1.NodeDiskPressure}, true, []corev1.Taint{disk}, false},
		"two":                    {[]corev1.Taint{disk}, []corev1.NodeConditionType{corev1.NodeMemoryPressure}, true, []corev1.Taint{disk, memory}, true},
		"over":                   {[]corev1.Taint{disk, theirs, memory}, nil, false, []corev1.Taint{theirs}, true},
		"another effect is kept": {[]corev1.Taint{theirDisk}, nil, false, []corev1.Taint{theirDisk}, false},
	} {
		node := &corev1.Node{Spec: corev1.NodeSpec{Taints: tc.has}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
			{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse},
		}}}
		for _, kind := range tc.under {
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: kind, Status: corev1.ConditionTrue})
		}
		got, changed := pressureTaints(node, tc.low)
		if !slices.Equal(got, tc.want) || changed != tc.changed {
			t.Errorf("%s: %v %v, want %v %v", name, got, changed, tc.want, tc.changed)
		}
	}
}

// When the disk has room again the taint stays until the kubelet can know it too, which refuses Pods until then; each
// refusal is a failure of a Job.
func TestTaintOutlastsLowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "here"}})
		tainter := newTainter("here", client, logr.Discard())
		go tainter.run(t.Context())
		want := func(when string, tainted bool) {
			t.Helper()
			synctest.Wait()
			node, err := client.CoreV1().Nodes().Get(t.Context(), "here", metav1.GetOptions{})
			if err != nil || len(node.Spec.Taints) > 0 != tainted {
				t.Fatalf("%s: taints %v (%v), want some: %v", when, node.Spec.Taints, err, tainted)
			}
		}
		want("at first", false)
		tainter.tell(true)
		want("low", true)
		tainter.tell(false)
		time.Sleep(kubeletLag - time.Second)
		tainter.tell(true)
		synctest.Wait()
		tainter.tell(false)
		want("over, and low once more", true)
		time.Sleep(kubeletLag - time.Second)
		want("not over for long enough", true)
		time.Sleep(2 * time.Second)
		want("over for long enough", false)
	})
}
