// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/journal/ended"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// settlement brings a restored store into the state that it would have after a loss of the machine on which it was. It
// must be done here: a kubelet that finds a Pod bound to its node, and no container of it, starts one, whatever the Pod
// did elsewhere.
type settlement struct {
	kv       etcdserverpb.KVClient
	attempts attemptsOf
	manifest *Manifest
	suspend  bool
	now      time.Time

	lost, ended int
	suspended   Suspended
}

// attemptsOf tells what is known of the containers of a Pod that have ended: the last one of each name.
type attemptsOf interface {
	of(ctx context.Context, pod *corev1.Pod) (map[string]run.Attempt, error)
}

func (s *settlement) settle(ctx context.Context) error {
	if s.suspend {
		if err := s.suspendAll(ctx); err != nil {
			return err
		}
	}
	var failed error
	err := eachObject(ctx, s.kv, "pods", typed(corev1.SchemeGroupVersion.WithKind("Pod"), func(pod *corev1.Pod) bool {
		changed, err := s.settlePod(ctx, pod)
		if failed == nil {
			failed = err
		}
		return changed
	}))
	return errors.Join(err, failed)
}

func (s *settlement) settlePod(ctx context.Context, pod *corev1.Pod) (changed bool, err error) {
	switch {
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return false, nil
	case pod.Spec.NodeName == "":
		// It has run nowhere.
		return s.suspend && gate(pod), nil
	case pod.Spec.RestartPolicy == corev1.RestartPolicyAlways && !s.suspend:
		// It is there to run, and to be started as often as that takes.
		return false, nil
	}
	known, err := s.attempts.of(ctx, pod)
	if err != nil {
		return false, err
	}
	if endPod(pod, known, metav1.NewTime(s.manifest.Created)) {
		s.ended++
	} else {
		s.lost++
	}
	return true, nil
}

// recordedAttempts knows what the journal of a restored state knows, and what was on its way there.
type recordedAttempts struct {
	journal *journal.Reader // nil: there is none
	waiting map[types.UID][]run.Attempt
}

// openAttempts reads a data directory.
func openAttempts(dir string) (*recordedAttempts, error) {
	r := &recordedAttempts{waiting: map[types.UID][]run.Attempt{}}
	reader, err := journal.OpenReader(datadir.Journal(dir))
	switch {
	case err == nil:
		r.journal = reader
	case !errors.Is(err, journal.ErrNone) && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	entries, err := ended.Open(datadir.EndedContainers(dir), ended.Options{LogBytes: -1, Entries: -1})
	if err != nil {
		r.close()
		return nil, err
	}
	defer entries.Close() //nolint:errcheck // it is only read
	for _, id := range entries.List() {
		a, err := entries.Attempt(id)
		if err != nil {
			r.close()
			return nil, err
		}
		r.waiting[a.PodUID] = append(r.waiting[a.PodUID], a)
	}
	return r, nil
}

func (r *recordedAttempts) close() {
	if r.journal != nil {
		_ = r.journal.Close() // it is only read
	}
}

// of implements attemptsOf.
func (r *recordedAttempts) of(ctx context.Context, pod *corev1.Pod) (map[string]run.Attempt, error) {
	found := r.waiting[pod.UID]
	if r.journal != nil {
		owner := pod.UID
		if job := metav1.GetControllerOf(pod); job != nil {
			owner = job.UID
		}
		recorded, err := r.journal.Attempts(ctx, owner)
		if err != nil {
			return nil, err
		}
		found = append(found, recorded...)
	}
	last := map[string]run.Attempt{}
	for _, a := range found {
		if before, ok := last[a.Container]; a.PodUID == pod.UID && !a.Ended.IsZero() && (!ok || a.Ended.After(before.Ended)) {
			last[a.Container] = a
		}
	}
	return last, nil
}
