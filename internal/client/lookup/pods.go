// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// pods reads the Pods of runs, and what their containers write, from an API server.
type pods struct{ client kubernetes.Interface }

// TypedClient speaks to the API server in protobuf: lists of thousands of objects take a fifth of the time.
func TypedClient(server *cluster.Server) (kubernetes.Interface, error) {
	config := rest.CopyConfig(server.Config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return kubernetes.NewForConfig(config)
}

// of gives the Pods of a run.
func (p pods) of(ctx context.Context, r *run.Run) ([]corev1.Pod, error) {
	client := p.client.CoreV1().Pods(r.Namespace)
	if r.Kind == "Pod" {
		pod, err := client.Get(ctx, r.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && pod.UID != r.UID {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return []corev1.Pod{*pod}, nil
	}
	options := metav1.ListOptions{Limit: cluster.PageSize}
	if isJob(r) {
		options.LabelSelector = batchv1.ControllerUidLabel + "=" + string(r.UID)
	}
	var found []corev1.Pod
	for {
		page, err := client.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			if OwnedBy(&page.Items[i], r) {
				found = append(found, page.Items[i])
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return found, nil
		}
	}
}

// OwnedBy tells whether a Pod belongs to a run, or is one.
func OwnedBy(pod *corev1.Pod, r *run.Run) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == r.UID })
}

// attempts gives the attempts of a run that its Pods tell of.
func (p pods) attempts(ctx context.Context, r *run.Run) ([]run.Attempt, error) {
	found, err := p.of(ctx, r)
	if err != nil {
		return nil, err
	}
	var attempts []run.Attempt
	for i := range found {
		for _, a := range run.AttemptsOf(&found[i]) {
			a.RunUID = r.UID // a Pod may belong to it by another object between them
			attempts = append(attempts, a)
		}
	}
	sortAttempts(attempts)
	return attempts, nil
}

// attemptsOfAll gives the attempts of several runs by their UIDs, with one question for the Jobs of each namespace.
func (p pods) attemptsOfAll(ctx context.Context, runs []run.Run) (map[types.UID][]run.Attempt, error) {
	found := map[types.UID][]run.Attempt{}
	jobs := map[string][]string{}
	for i := range runs {
		if r := &runs[i]; isJob(r) {
			jobs[r.Namespace] = append(jobs[r.Namespace], string(r.UID))
			continue
		}
		attempts, err := p.attempts(ctx, &runs[i])
		if err != nil {
			return nil, err
		}
		found[runs[i].UID] = attempts
	}
	for namespace, uids := range jobs {
		options := metav1.ListOptions{Limit: cluster.PageSize, LabelSelector: batchv1.ControllerUidLabel + " in (" + strings.Join(uids, ",") + ")"}
		for {
			page, err := p.client.CoreV1().Pods(namespace).List(ctx, options)
			if err != nil {
				return nil, err
			}
			for i := range page.Items {
				uid := run.RunOf(&page.Items[i])
				found[uid] = append(found[uid], run.AttemptsOf(&page.Items[i])...)
			}
			if options.Continue = page.Continue; options.Continue == "" {
				break
			}
		}
	}
	return found, nil
}

func isJob(r *run.Run) bool {
	return r.Kind == jobKind.Kind && r.APIVersion == jobKind.GroupVersion().String()
}

// sortAttempts orders attempts by their end; those that run come last.
func sortAttempts(attempts []run.Attempt) {
	slices.SortStableFunc(attempts, func(a, b run.Attempt) int {
		switch {
		case a.Ended.IsZero() != b.Ended.IsZero() && a.Ended.IsZero():
			return 1
		case a.Ended.IsZero() != b.Ended.IsZero():
			return -1
		case !a.Ended.Equal(b.Ended):
			return a.Ended.Compare(b.Ended)
		}
		return a.Started.Compare(b.Started)
	})
}

// log gives what an attempt has written, in the format of CRI: its last lines, or all for 0. fs.ErrNotExist says that
// nothing is left of it.
func (p pods) log(ctx context.Context, a *run.Attempt, lines int) (io.ReadCloser, error) {
	client := p.client.CoreV1().Pods(a.Namespace)
	gone := fmt.Errorf("the output of container %s of Pod %s is gone: %w", a.Container, a.Pod, fs.ErrNotExist)
	pod, err := client.Get(ctx, a.Pod, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) || err == nil && a.PodUID != "" && pod.UID != a.PodUID:
		return nil, gone
	case err != nil:
		return nil, err
	}
	executions := run.AttemptsOf(pod)
	is := slices.IndexFunc(executions, func(b run.Attempt) bool { return b.ContainerID == a.ContainerID })
	if is < 0 {
		return nil, gone
	}
	restarted := is+1 < len(executions) && executions[is+1].Container == a.Container
	options := &corev1.PodLogOptions{Container: a.Container, Timestamps: true, Previous: restarted}
	if lines > 0 {
		options.TailLines = new(int64(lines))
	}
	stream, err := client.GetLogs(a.Pod, options).Stream(ctx)
	if apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) {
		return nil, gone
	}
	if err != nil {
		return nil, err
	}
	log := newCRIReader(stream)
	if log.Lost() {
		_ = stream.Close() // nothing was read that matters
		return nil, gone
	}
	return log, nil
}

// lostLog begins what a kubelet sends in place of a log that it has no more.
const lostLog = "unable to retrieve container logs for "

// Lost tells whether the log is that message in its place. It must be asked before anything is read.
func (c *criReader) Lost() bool {
	begin, _ := c.from.Peek(len(lostLog)) // what cannot be read now is told when it is read
	return bytes.Equal(begin, []byte(lostLog))
}
