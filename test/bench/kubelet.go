// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
)

// kubelet ends each Pod as soon as it appears, or after a while, and tells when a Job's finish was seen.
type kubelet struct {
	runs time.Duration // how long a Pod runs
	mu   sync.Mutex
	// ended is when the finish of each Job was seen; born and died, when a watch showed each Pod first and
	// when its end was written, in this order.
	ended      map[string]time.Time
	born, died []time.Time
	done       chan string
}

// An ending writes that a Pod has succeeded, as it was last seen.
type ending func(context.Context, *corev1.Pod) error

func playKubelet(ctx context.Context, o options, s *side, runs time.Duration) (*kubelet, error) {
	end := throughAPI(s.client)
	if o.kubelet == "store" {
		store, err := clientv3.New(clientv3.Config{Context: ctx, Endpoints: []string{"unix://" + filepath.Join(filepath.Dir(s.kubeconfig), "etcd.sock")}})
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = store.Close() }) // its server ends, too
		end = intoStore(store, end)
	}
	k := &kubelet{runs: runs, ended: map[string]time.Time{}, done: make(chan string, 100000)}
	factory := informers.NewSharedInformerFactory(s.client, 0)
	pods := make(chan *corev1.Pod, 100000)
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		if pod := obj.(*corev1.Pod); pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil {
			k.mu.Lock()
			k.born = append(k.born, time.Now())
			k.mu.Unlock()
			pods <- pod
		}
	}})
	if err != nil {
		return nil, err
	}
	for range 16 {
		go k.endPods(ctx, pods, end)
	}
	if _, err = factory.Batch().V1().Jobs().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, obj any) {
		k.see(obj.(*batchv1.Job))
	}}); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return k, nil
}

func (k *kubelet) endPods(ctx context.Context, pods <-chan *corev1.Pod, end ending) {
	for {
		select {
		case <-ctx.Done():
			return
		case pod := <-pods:
			if err := sleepUntil(ctx, time.Now().Add(k.runs)); err != nil {
				return
			}
			if err := end(ctx, pod); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "end of a Pod:", err)
			}
			k.mu.Lock()
			k.died = append(k.died, time.Now())
			k.mu.Unlock()
		}
	}
}

// see notes the first sight of a Job's end.
func (k *kubelet) see(job *batchv1.Job) {
	ended := slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
	if !ended {
		return
	}
	k.mu.Lock()
	_, known := k.ended[job.Name]
	if !known {
		k.ended[job.Name] = time.Now()
	}
	k.mu.Unlock()
	if !known {
		k.done <- job.Name
	}
}

func (k *kubelet) wait(ctx context.Context, n int) error {
	for range n {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-k.done:
		}
	}
	return nil
}

// rate is ends a second among the ends from fraction a to fraction b of all.
func (k *kubelet) rate(prefix string, a, b float64) float64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	var at []time.Time
	for name, t := range k.ended {
		if strings.HasPrefix(name, prefix) {
			at = append(at, t)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	i, j := int(a*float64(len(at))), int(b*float64(len(at)))-1
	if j <= i {
		return 0
	}
	return float64(j-i) / at[j].Sub(at[i]).Seconds()
}

// throughAPI ends Pods as a kubelet does, in one request.
func throughAPI(client kubernetes.Interface) ending {
	succeeded := []byte(`{"status":{"phase":"Succeeded"}}`)
	return func(ctx context.Context, pod *corev1.Pod) error {
		_, err := client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, succeeded, metav1.PatchOptions{}, "status")
		return err
	}
}

// intoStore ends Pods behind the API server's back: it learns of it from the store's own watch, as one server of
// several learns of what another wrote. So the machine's time goes to the controllers and their requests; an end that
// goes through the API costs the server more than the creation of the Pod. A Pod that is not any more as it was seen
// takes the ordinary way.
func intoStore(store *clientv3.Client, otherwise ending) ending {
	codec := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	versioned := scheme.Codecs.CodecForVersions(codec, codec, corev1.SchemeGroupVersion, corev1.SchemeGroupVersion)
	return func(ctx context.Context, pod *corev1.Pod) error {
		seen, err := strconv.ParseInt(pod.ResourceVersion, 10, 64)
		if err != nil {
			return err
		}
		pod = pod.DeepCopy()
		pod.ResourceVersion = "" // which the store itself keeps
		pod.Status.Phase = corev1.PodSucceeded
		var data bytes.Buffer
		if err := versioned.Encode(pod, &data); err != nil {
			return err
		}
		key := "/registry/pods/" + pod.Namespace + "/" + pod.Name
		answer, err := store.Txn(ctx).
			If(clientv3.Compare(clientv3.ModRevision(key), "=", seen)).
			Then(clientv3.OpPut(key, data.String())).
			Commit()
		if err != nil || answer.Succeeded {
			return err
		}
		return otherwise(ctx, pod)
	}
}
