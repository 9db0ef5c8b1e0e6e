// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/internal/kube/fanout"
)

// kubelet plays the scheduler and the nodes of a namespace by nothing but writes of statuses: it moves pods through
// their phases. ends says how a running pod ends; "" lets it run.
type kubelet struct {
	client    kubernetes.Interface
	namespace string
	store     cache.Store
	look      chan struct{}

	mu   sync.Mutex
	ends func(*corev1.Pod) (phase corev1.PodPhase, exitCode int32)
	// slow: pods that are being deleted stay.
	slow bool
	// direct: pods end at once, without a node and without running.
	direct bool
	// restarts is how often containers fail and are started again in their pod.
	restarts int32
	// acted is the resource version of a pod at which something was done to it.
	acted map[types.UID]string
}

// nodeName is the node that pods are bound to.
const nodeName = "fake"

// idleLook is when the kubelet looks again, should a write have failed.
const idleLook = 20 * time.Millisecond

func startKubelet(w *world) *kubelet {
	w.Helper()
	// Pods of a node that does not exist are ended by the pod garbage collector, sooner or later.
	if _, err := w.client.CoreV1().Nodes().Create(w.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		w.Fatal(err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithNamespace(w.namespace))
	informer := factory.Core().V1().Pods().Informer()
	k := &kubelet{client: w.client, namespace: w.namespace, store: informer.GetStore(), look: make(chan struct{}, 1), acted: map[types.UID]string{}}
	k.endWith(corev1.PodSucceeded, 0)
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { k.wake() },
		UpdateFunc: func(any, any) { k.wake() },
	}); err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			k.round(ctx)
			select {
			case <-ctx.Done():
			case <-k.look:
			case <-time.After(idleLook):
			}
		}
	})
	w.Cleanup(func() {
		cancel()
		running.Wait()
		factory.Shutdown()
	})
	return k
}

func (k *kubelet) wake() {
	select {
	case k.look <- struct{}{}:
	default:
	}
}

func (k *kubelet) change(f func()) {
	k.mu.Lock()
	f()
	k.mu.Unlock()
	k.wake()
}

func (k *kubelet) end(how func(*corev1.Pod) (corev1.PodPhase, int32)) {
	k.change(func() { k.ends = how })
}

func (k *kubelet) endWith(phase corev1.PodPhase, exitCode int32) {
	k.end(func(*corev1.Pod) (corev1.PodPhase, int32) { return phase, exitCode })
}

func (k *kubelet) keepRunning() { k.endWith("", 0) }

func (k *kubelet) beSlow(slow bool) { k.change(func() { k.slow = slow }) }

// round does the next step of every pod.
func (k *kubelet) round(ctx context.Context) {
	var pods []*corev1.Pod
	var steps []func(context.Context) error
	k.mu.Lock()
	for _, obj := range k.store.List() {
		pod, ok := obj.(*corev1.Pod)
		if !ok || k.acted[pod.UID] == pod.ResourceVersion {
			continue
		}
		if step := k.step(pod); step != nil {
			pods, steps = append(pods, pod), append(steps, step)
		}
	}
	k.mu.Unlock()
	errs := fanout.Each(ctx, 8, len(steps), func(ctx context.Context, i int) error { return steps[i](ctx) })
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, err := range errs {
		if err == nil { // else, most often a conflict, it is tried again on what the store shows then
			k.acted[pods[i].UID] = pods[i].ResourceVersion
		}
	}
}

// step gives what is to be done to a pod now; nil: nothing.
func (k *kubelet) step(pod *corev1.Pod) func(context.Context) error {
	api := k.client.CoreV1().Pods(k.namespace)
	over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	switch {
	case pod.DeletionTimestamp != nil && k.slow, over && pod.DeletionTimestamp == nil:
		return nil
	case pod.DeletionTimestamp != nil:
		return func(ctx context.Context) error {
			if !over {
				if err := k.write(ctx, pod, corev1.PodFailed, 143, 0); err != nil {
					return err
				}
			}
			if grace := pod.DeletionGracePeriodSeconds; grace != nil && *grace == 0 {
				return nil
			}
			return api.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
		}
	case k.direct:
		phase, code := k.ends(pod)
		if phase == "" || pod.Status.Phase == phase {
			return nil
		}
		return func(ctx context.Context) error { return k.write(ctx, pod, phase, code, 0) }
	case pod.Spec.NodeName == "":
		return func(ctx context.Context) error {
			return api.Bind(ctx, &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: nodeName},
			}, metav1.CreateOptions{})
		}
	case pod.Status.Phase == corev1.PodPending:
		return func(ctx context.Context) error { return k.write(ctx, pod, corev1.PodRunning, 0, 0) }
	case pod.Status.Phase == corev1.PodRunning:
		if restarts := k.restarts; len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].RestartCount < restarts {
			return func(ctx context.Context) error { return k.write(ctx, pod, corev1.PodRunning, 1, restarts) }
		}
		if phase, code := k.ends(pod); phase != "" {
			return func(ctx context.Context) error { return k.write(ctx, pod, phase, code, k.restarts) }
		}
	}
	return nil
}

// write writes what a kubelet would about containers that are in this phase after so many restarts.
func (k *kubelet) write(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase, exitCode, restarts int32) error {
	now := metav1.Now()
	next := pod.DeepCopy()
	next.Status.Phase = phase
	ended := &corev1.ContainerStateTerminated{ExitCode: exitCode, FinishedAt: now}
	ready, state, last := corev1.ConditionTrue, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}, corev1.ContainerState{}
	if phase != corev1.PodRunning {
		ready, state = corev1.ConditionFalse, corev1.ContainerState{Terminated: ended}
	} else if restarts > 0 {
		last.Terminated = ended
	}
	next.Status.Conditions = slices.DeleteFunc(next.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	next.Status.Conditions = append(next.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: ready, LastTransitionTime: now})
	next.Status.ContainerStatuses = nil
	for _, c := range next.Spec.Containers {
		next.Status.ContainerStatuses = append(next.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, State: state, LastTerminationState: last, RestartCount: restarts,
		})
	}
	_, err := k.client.CoreV1().Pods(k.namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	return err
}
