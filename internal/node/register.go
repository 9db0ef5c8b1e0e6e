// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	v1core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
	nodeutil "k8s.io/kubernetes/pkg/util/node"
)

// startingReason is the reason of the Ready condition from Start until the
// kubelet reports for the first time in this life.
const startingReason = "NodeStarting"

// register makes the Node object, or brings that of an earlier life up to
// date, before the kubelet does.
//
// The addresses are the ones that are true here: the kubelet listens on this
// machine, at listenIP, and its API server is on the same machine. Left to
// itself the kubelet would look the node's name up in DNS for each status and
// look for a default route, and have no address at all without a network; then
// "kubectl logs" and "exec" fail. It leaves addresses alone when it is told
// that a cloud provider sets them (see kubeletServer), and the taint which goes
// with that is only put on Nodes that the kubelet makes itself.
//
// The capacity is there from the start, for a Pod that finds a node with room
// for none waits at least a second in the scheduler, with a warning as its
// first event.
//
// A new Node has the taints from its first moment; those of a Node that is there
// are not the kubelet's to change (see tainter).
//
// The Ready condition is set to Unknown, so that waitReady does not take the
// word of an earlier life for the kubelet's.
func register(ctx context.Context, client kubernetes.Interface, name, listenIP string, capacity corev1.ResourceList, taints []corev1.Taint) error {
	nodes := client.CoreV1().Nodes()
	want := nodeObject(name, listenIP, capacity, metav1.Now())
	want.Spec.Taints = taints
	_, err := nodes.Create(ctx, want, metav1.CreateOptions{})
	if err == nil {
		return nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("registering node %s: %w", name, err)
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		have, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		have.Status.Addresses = want.Status.Addresses
		have.Status.Capacity, have.Status.Allocatable = capacity, capacity
		setCondition(&have.Status, want.Status.Conditions[0])
		_, err = nodes.UpdateStatus(ctx, have, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("bringing node %s up to date: %w", name, err)
	}
	return nil
}

// nodeObject is a Node that no kubelet has reported for yet.
func nodeObject(name, listenIP string, capacity corev1.ResourceList, now metav1.Time) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:   name,
				corev1.LabelOSStable:   runtime.GOOS,
				corev1.LabelArchStable: runtime.GOARCH,
			},
		},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: addressOf(listenIP)},
				{Type: corev1.NodeHostName, Address: name},
			},
			Conditions: []corev1.NodeCondition{{
				Type:               corev1.NodeReady,
				Status:             corev1.ConditionUnknown,
				Reason:             startingReason,
				Message:            "The node is starting.",
				LastHeartbeatTime:  now,
				LastTransitionTime: now,
			}},
		},
	}
}

// addressOf is where the node can be reached when it listens on ip.
func addressOf(ip string) string {
	if parsed := net.ParseIP(ip); parsed == nil || parsed.IsUnspecified() {
		return "127.0.0.1"
	}
	return ip
}

func setCondition(status *corev1.NodeStatus, condition corev1.NodeCondition) {
	for i := range status.Conditions {
		if status.Conditions[i].Type == condition.Type {
			status.Conditions[i] = condition
			return
		}
	}
	status.Conditions = append(status.Conditions, condition)
}

// rewatchDelay is how long waitReady pauses after a watch that ended or failed.
const rewatchDelay = 200 * time.Millisecond

// waitReady returns nil once the kubelet has reported the Node as ready in this
// life, and the context's error when that ends first.
func waitReady(ctx context.Context, client kubernetes.Interface, name string) error {
	for {
		if ready, err := watchReady(ctx, client.CoreV1().Nodes(), name); err == nil && ready {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rewatchDelay):
		}
	}
}

// watchReady follows the Node until it is ready (true) or the watch ends.
func watchReady(ctx context.Context, nodes v1core.NodeInterface, name string) (bool, error) {
	watcher, err := nodes.Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String(),
	})
	if err != nil {
		return false, err
	}
	defer watcher.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case event, open := <-watcher.ResultChan():
			if !open {
				return false, nil
			}
			if node, ok := event.Object.(*corev1.Node); ok && event.Type != watch.Deleted && nodeutil.IsNodeReady(node) {
				return true, nil
			}
		}
	}
}
