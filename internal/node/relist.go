// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// relister makes the kubelet look at Pods that are being deleted.
//
// A Pod's worker in the kubelet ends a Pod in steps, and before each it waits
// for news of the Pod that are younger than the step before. With container
// events in use such news come from the runtime alone, and of a Pod that never
// had a sandbox (it waits for a ConfigMap that does not exist, say) the runtime
// has none to tell: the deletion of such a Pod would take ten seconds.
type relister struct {
	look func(types.UID) // asks for one look, without waiting for it
	// news are the Pods that began or ceased to be deleted.
	news chan deletion
}

type deletion struct {
	pod  types.UID
	over bool
}

const (
	// relistEvery is how often a Pod that is being deleted is looked at, and
	// relistsAtOnce how many Pods are at most each time: a look costs the
	// runtime two listings.
	relistEvery   = 100 * time.Millisecond
	relistsAtOnce = 20
)

func newRelister(look func(types.UID)) *relister {
	return &relister{look: look, news: make(chan deletion)}
}

// watch tells the relister about the node's Pods until ctx ends.
func (r *relister) watch(ctx context.Context, client kubernetes.Interface, nodeName string) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", nodeName).String()
		}),
		informers.WithTransform(onlyDeletion))
	see := func(object any) {
		if pod, ok := object.(*corev1.Pod); ok && pod.DeletionTimestamp != nil {
			r.tell(ctx, deletion{pod: pod.UID})
		}
	}
	forget := func(object any) {
		if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = unknown.Obj
		}
		if pod, ok := object.(*corev1.Pod); ok {
			r.tell(ctx, deletion{pod: pod.UID, over: true})
		}
	}
	// Adding a handler to an informer that has not started cannot fail.
	_, _ = factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    see,
		UpdateFunc: func(_, object any) { see(object) },
		DeleteFunc: forget,
	})
	factory.Start(ctx.Done())
	r.run(ctx)
}

// onlyDeletion keeps of a Pod what the relister looks at.
func onlyDeletion(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID,
			ResourceVersion: pod.ResourceVersion, DeletionTimestamp: pod.DeletionTimestamp,
		}}, nil
	}
	return object, nil
}

func (r *relister) tell(ctx context.Context, news deletion) {
	select {
	case r.news <- news:
	case <-ctx.Done():
	}
}

// run asks for looks until ctx ends. While nothing is being deleted it sleeps.
func (r *relister) run(ctx context.Context) {
	var queue []types.UID // who was looked at longest ago comes first
	waiting := map[types.UID]bool{}
	var tick <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case news := <-r.news:
			switch {
			case news.over:
				delete(waiting, news.pod)
			case !waiting[news.pod]:
				waiting[news.pod] = true
				queue = append(queue, news.pod)
			}
			if tick == nil && len(waiting) > 0 {
				tick = time.After(relistEvery)
			}
		case <-tick:
			queue = r.round(queue, waiting)
			tick = nil
			if len(queue) > 0 {
				tick = time.After(relistEvery)
			}
		}
	}
}

// round asks for a look at the first of the queue and puts them at its end.
// Those that are gone leave the queue.
func (r *relister) round(queue []types.UID, waiting map[types.UID]bool) []types.UID {
	var looked []types.UID
	for len(queue) > 0 && len(looked) < relistsAtOnce {
		if pod := queue[0]; waiting[pod] {
			r.look(pod)
			looked = append(looked, pod)
		}
		queue = queue[1:]
	}
	return append(queue, looked...)
}
