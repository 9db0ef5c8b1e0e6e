// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	nodeutil "k8s.io/kubernetes/pkg/util/node"
)

// A Node has the addresses that are true on this machine, and is not ready
// until the kubelet says so, whatever an earlier life left in the API.
func TestRegister(t *testing.T) {
	left := nodeObject("here", "192.0.2.1", nil, metav1.Now())
	left.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
	}
	left.Labels["own"] = "kept"
	room := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("7")}
	tests := map[string]struct {
		client *fake.Clientset
		own    string
	}{
		"first life":  {fake.NewClientset(), ""},
		"second life": {fake.NewClientset(left), "kept"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if err := register(t.Context(), tt.client, "here", "127.0.0.1", room, nil); err != nil {
				t.Fatal(err)
			}
			got, err := tt.client.CoreV1().Nodes().Get(t.Context(), "here", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}, {Type: corev1.NodeHostName, Address: "here"}}
			if diff := cmp.Diff(want, got.Status.Addresses); diff != "" {
				t.Errorf("addresses, -want +got:\n%s", diff)
			}
			if !got.Status.Allocatable.Pods().Equal(resource.MustParse("7")) {
				t.Errorf("room for pods: %v", got.Status.Allocatable)
			}
			if nodeutil.IsNodeReady(got) {
				t.Error("ready before the kubelet said so")
			}
			if got.Labels[corev1.LabelHostname] != "here" || got.Labels["own"] != tt.own {
				t.Errorf("labels: %v", got.Labels)
			}
			if len(got.Spec.Taints) > 0 {
				t.Errorf("taints: %v", got.Spec.Taints)
			}
		})
	}
}

// The wait ends when the Node is ready, and with the context.
func TestWaitReady(t *testing.T) {
	client := fake.NewClientset()
	if err := register(t.Context(), client, "here", "0.0.0.0", nil, nil); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- waitReady(t.Context(), client, "here") }()
	for { // until the wait has its watch, an update would go unseen by the fake
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			canceled, cancel := context.WithCancel(t.Context())
			cancel()
			if err := waitReady(canceled, fake.NewClientset(), "here"); err == nil {
				t.Error("ready without a node")
			}
			return
		case <-time.After(time.Millisecond):
		}
		node, err := client.CoreV1().Nodes().Get(t.Context(), "here", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		setCondition(&node.Status, corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue})
		if _, err := client.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAddressOf(t *testing.T) {
	for ip, want := range map[string]string{"127.0.0.1": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "127.0.0.1", "192.0.2.4": "192.0.2.4", "x": "127.0.0.1"} {
		if got := addressOf(ip); got != want {
			t.Errorf("%s: %s, want %s", ip, got, want)
		}
	}
}
