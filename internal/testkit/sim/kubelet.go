// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Fate is what becomes of a pod. The zero fate is one that succeeds at once.
type Fate struct {
	// Node on which it runs; empty: it is never scheduled.
	Node string
	// Bind, Start and Run are how long it waits for a node, then starts, then runs.
	Bind, Start, Run time.Duration
	// Exit is how it ends.
	Exit int32
	// Hangs: it runs until it is deleted.
	Hangs bool
	// Restarts is how often its container starts again before it ends.
	Restarts int
	// Stop is how long it goes on when it is told to stop; beyond the grace period it is killed.
	Stop time.Duration
	// StopExit is how it ends then, if it is not killed.
	StopExit int32
	// Doom is what happens to it when it has run, instead of ending.
	Doom Doom
	// Skew is how wrong the clock of its node is.
	Skew time.Duration
}

// Doom is an end that a pod does not choose.
type Doom int

// The dooms.
const (
	// NoDoom: it ends by itself.
	NoDoom Doom = iota
	// Evicted: it is marked as disrupted and deleted.
	Evicted
	// NodeLost: its node is gone; the pod garbage collector marks it as failed and deletes it by force.
	NodeLost
)

// Kubelet is the scheduler, all nodes, and the pod garbage collector.
type Kubelet struct {
	server *Server
	// Fate tells what becomes of a pod when it is created.
	Fate func(*corev1.Pod) Fate

	fates    map[types.UID]Fate
	stopping map[types.UID]bool
	lost     map[types.UID]bool
}

const (
	kubeletName = "kubelet"
	podGCName   = "pod-gc"
)

// NewKubelet starts all nodes.
func (s *Server) NewKubelet(fate func(*corev1.Pod) Fate) *Kubelet {
	k := &Kubelet{server: s, Fate: fate, fates: map[types.UID]Fate{}, stopping: map[types.UID]bool{}, lost: map[types.UID]bool{}}
	s.OnChange(func(c *Change) {
		if pod, ok := c.New.(*corev1.Pod); ok && !c.Gone {
			k.saw(pod, c.Old == nil)
		}
	})
	return k
}

func (k *Kubelet) saw(pod *corev1.Pod, created bool) {
	w, uid := k.server.World, pod.UID
	if created {
		f := k.Fate(pod)
		k.fates[uid] = f
		if f.Node != "" {
			w.After(f.Bind, func() { k.bind(pod, f) })
		}
		return
	}
	if pod.DeletionTimestamp == nil || k.stopping[uid] {
		return
	}
	k.stopping[uid] = true
	switch f := k.fates[uid]; {
	case ended(pod):
	case pod.Spec.NodeName == "":
		w.After(20*time.Second, func() { k.discard(pod, "") })
	case k.lost[uid]:
	default:
		grace := time.Duration(0)
		if g := pod.DeletionGracePeriodSeconds; g != nil {
			grace = time.Duration(*g) * time.Second
		}
		exit := f.StopExit
		if f.Stop > grace {
			exit = 137
		}
		w.After(min(f.Stop, grace)+20*time.Millisecond, func() {
			k.end(pod, exit)
			k.forceDelete(pod, kubeletName)
		})
	}
}

// pod is the pod as it is now; nil if it is gone.
func (k *Kubelet) pod(pod *corev1.Pod) *corev1.Pod {
	now, _ := k.server.Get("Pod", pod.Namespace, pod.Name).(*corev1.Pod)
	if now == nil || now.UID != pod.UID {
		return nil
	}
	return now
}

// change changes a pod, if it is there and has not ended.
func (k *Kubelet) change(pod *corev1.Pod, by, verb string, change func(*corev1.Pod)) bool {
	now := k.pod(pod)
	if now == nil || ended(now) {
		return false
	}
	updated := now.DeepCopy()
	change(updated)
	k.server.commit(by, verb, now, updated)
	return true
}

func (k *Kubelet) bind(pod *corev1.Pod, f Fate) {
	now := k.pod(pod)
	if now == nil || now.DeletionTimestamp != nil {
		return // nobody schedules what is to go
	}
	k.change(pod, "scheduler", "bind", func(p *corev1.Pod) { p.Spec.NodeName = f.Node })
	k.server.World.After(f.Start, func() { k.start(pod, f) })
}

func (k *Kubelet) start(pod *corev1.Pod, f Fate) {
	w := k.server.World
	running := k.change(pod, kubeletName, "start", func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		setReady(p, corev1.ConditionTrue, k.time(f))
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: p.Spec.Containers[0].Name, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: k.time(f)}},
		}}
	})
	if !running {
		return
	}
	for i := range f.Restarts {
		w.After(f.Run*time.Duration(i+1)/time.Duration(f.Restarts+1), func() {
			k.change(pod, kubeletName, "restart", func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount++ })
		})
	}
	if f.Hangs {
		return
	}
	w.After(f.Run, func() {
		switch f.Doom {
		case Evicted:
			k.change(pod, "taint-eviction", "disrupt", func(p *corev1.Pod) { disrupt(p, "DeletionByTaintManager", k.time(f)) })
			k.remove(pod, "taint-eviction", nil)
		case NodeLost:
			k.server.World.Story.Tell(kubeletName, "%s is lost, and with it %s", f.Node, pod.Name)
			k.lost[pod.UID] = true
			w.After(40*time.Second, func() { k.discard(pod, "DeletionByPodGC") })
		default:
			k.end(pod, f.Exit)
			if now := k.pod(pod); now != nil && now.DeletionTimestamp != nil {
				k.forceDelete(pod, kubeletName)
			}
		}
	})
}

// Finish lets a pod that hangs end.
func (k *Kubelet) Finish(pod *corev1.Pod) {
	if k.fates[pod.UID].Node == "" {
		f := Fate{Node: "spare"}
		k.fates[pod.UID] = f
		k.bind(pod, f)
		return
	}
	if pod.Status.Phase == corev1.PodRunning {
		k.end(pod, 0)
	}
}

// end ends the containers of a pod.
func (k *Kubelet) end(pod *corev1.Pod, exit int32) {
	f := k.fates[pod.UID]
	k.change(pod, kubeletName, "end", func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodSucceeded
		if exit != 0 {
			p.Status.Phase = corev1.PodFailed
		}
		setReady(p, corev1.ConditionFalse, k.time(f))
		var restarts int32
		if len(p.Status.ContainerStatuses) > 0 {
			restarts = p.Status.ContainerStatuses[0].RestartCount
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: p.Spec.Containers[0].Name, RestartCount: restarts,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exit, FinishedAt: k.time(f)}},
		}}
	})
}

// discard is what the pod garbage collector does with a pod that no node looks after.
func (k *Kubelet) discard(pod *corev1.Pod, disruption string) {
	k.change(pod, podGCName, "fail", func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		setReady(p, corev1.ConditionFalse, k.server.Clock.stamp())
		if disruption != "" {
			disrupt(p, disruption, k.server.Clock.stamp())
		}
	})
	k.forceDelete(pod, podGCName)
}

func (k *Kubelet) forceDelete(pod *corev1.Pod, by string) { k.remove(pod, by, new(int64)) }

func (k *Kubelet) remove(pod *corev1.Pod, by string, grace *int64) {
	// Gone is as good as deleted.
	_ = k.server.Delete(by, "Pod", pod.Namespace, pod.Name, Deletion{UID: pod.UID, Grace: grace})
}

// time is what the clock of the pod's node shows.
func (k *Kubelet) time(f Fate) metav1.Time {
	return metav1.NewTime(k.server.Clock.Now().Add(f.Skew).Truncate(time.Second))
}

func setReady(pod *corev1.Pod, status corev1.ConditionStatus, at metav1.Time) {
	set(pod, corev1.PodCondition{Type: corev1.PodReady, Status: status, LastTransitionTime: at})
}

func disrupt(pod *corev1.Pod, reason string, at metav1.Time) {
	set(pod, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: at})
}

func set(pod *corev1.Pod, c corev1.PodCondition) {
	conditions := pod.Status.Conditions
	if i := slices.IndexFunc(conditions, func(o corev1.PodCondition) bool { return o.Type == c.Type }); i >= 0 {
		conditions[i] = c
		return
	}
	pod.Status.Conditions = append(conditions, c)
}

// Nodes are the names of n nodes.
func Nodes(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("node-%d", i+1)
	}
	return names
}
