// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
)

// pressures are the conditions of a Node under which nothing new is scheduled
// on it, and the taints that say so to the scheduler. On a cluster the node
// lifecycle controller sets them. Without them Pods are bound to the node,
// whose kubelet refuses them, and each is a failure of its Job.
var pressures = []struct {
	condition corev1.NodeConditionType
	taint     string
}{
	{corev1.NodeDiskPressure, corev1.TaintNodeDiskPressure},
	{corev1.NodeMemoryPressure, corev1.TaintNodeMemoryPressure},
	{corev1.NodePIDPressure, corev1.TaintNodePIDPressure},
}

// pressureTaints are the taints that a Node should have: those of others as
// they are, and ours by its conditions, or because the disk is known to be low
// before the kubelet reports it.
func pressureTaints(node *corev1.Node, diskLow bool) (taints []corev1.Taint, changed bool) {
	taints = slices.Clone(node.Spec.Taints)
	for _, p := range pressures {
		want := diskLow && p.condition == corev1.NodeDiskPressure || slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == p.condition && c.Status == corev1.ConditionTrue
		})
		ours := func(t corev1.Taint) bool { return t.Key == p.taint && t.Effect == corev1.TaintEffectNoSchedule }
		switch has := slices.ContainsFunc(taints, ours); {
		case has && !want:
			taints, changed = slices.DeleteFunc(taints, ours), true
		case want && !has:
			taints, changed = append(taints, corev1.Taint{Key: p.taint, Effect: corev1.TaintEffectNoSchedule}), true
		}
	}
	return taints, changed
}

// tainter keeps a Node's taints true. admin is not the kubelet's identity,
// which may not change taints.
type tainter struct {
	name  string
	admin kubernetes.Interface
	low   chan bool // what the disk guard said last; buffered
	log   logr.Logger
}

func newTainter(name string, admin kubernetes.Interface, log logr.Logger) *tainter {
	return &tainter{name: name, admin: admin, low: make(chan bool, 1), log: log}
}

// tell passes on whether the disk is low, without waiting. It is called by one
// goroutine at a time.
func (t *tainter) tell(low bool) {
	select {
	case <-t.low: // nobody has looked yet, and this is newer
	default:
	}
	t.low <- low
}

// now taints the Node as one whose disk is low, before run is called.
func (t *tainter) now(ctx context.Context) error {
	t.tell(true)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := t.admin.CoreV1().Nodes().Get(ctx, t.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return t.taint(ctx, node, true)
	})
}

const (
	// retaintDelay is how long the tainter waits after a write that failed.
	retaintDelay = time.Second
	// kubeletLag is how long after the disk guard the kubelet can see that the disk is not low any more: it looks
	// every ten seconds, says so pressureTransition later, and refuses Pods until then. Its condition of the Node, which
	// keeps the taint as well, may come after that.
	kubeletLag = pressureTransition + 15*time.Second
)

// run follows the Node until ctx ends.
func (t *tainter) run(ctx context.Context) {
	nodes := make(chan *corev1.Node)
	factory := informers.NewSharedInformerFactoryWithOptions(t.admin, 0, informers.WithTweakListOptions(func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, t.name).String()
	}))
	see := func(object any) {
		if node, ok := object.(*corev1.Node); ok {
			select {
			case nodes <- node:
			case <-ctx.Done():
			}
		}
	}
	// Adding a handler to an informer that has not started cannot fail.
	_, _ = factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    see,
		UpdateFunc: func(_, object any) { see(object) },
	})
	factory.Start(ctx.Done())
	var node *corev1.Node
	low := false
	var again, over <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case node = <-nodes:
		case now := <-t.low:
			switch {
			case now:
				low, over = true, nil
			case low && over == nil:
				over = time.After(kubeletLag)
			}
		case <-over:
			low, over = false, nil
		case <-again:
		}
		again = nil
		if node == nil {
			continue
		}
		if err := t.taint(ctx, node, low); err != nil && ctx.Err() == nil {
			// Most often a conflict, and the newer Node is on its way.
			t.log.V(1).Info("tainting the node", "err", err.Error())
			again = time.After(retaintDelay)
		}
	}
}

// taint writes the taints that node should have, if it has others.
func (t *tainter) taint(ctx context.Context, node *corev1.Node, low bool) error {
	taints, changed := pressureTaints(node, low)
	if !changed {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		// Taints of others that came since are not overwritten.
		"metadata": map[string]any{"resourceVersion": node.ResourceVersion},
		"spec":     map[string]any{"taints": taints},
	})
	if err != nil {
		return err
	}
	_, err = t.admin.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
