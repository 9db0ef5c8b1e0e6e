// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// schedulerProcess is the upstream scheduler with its default profile, running. It is built from the scheduler's
// library and not its command, which would elect a leader, serve a port and end the process when it loses an election.
type schedulerProcess struct {
	running sync.WaitGroup
	cancel  context.CancelFunc
}

// startScheduler runs the scheduler as the administrator whose config is given, and returns before it has seen the
// cluster.
func startScheduler(admin *rest.Config) (*schedulerProcess, error) {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Background()))
	s := &schedulerProcess{cancel: cancel}
	if err := s.start(ctx, admin); err != nil {
		s.close()
		return nil, fmt.Errorf("start the scheduler: %w", err)
	}
	return s, nil
}

func (s *schedulerProcess) start(ctx context.Context, admin *rest.Config) error {
	config := rest.CopyConfig(admin)
	config.UserAgent = "kube-scheduler"
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	typed := rest.CopyConfig(config)
	typed.ContentType = "application/vnd.kubernetes.protobuf"
	typed.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(typed)
	if err != nil {
		return err
	}

	shared := scheduler.NewInformerFactory(client, 0)
	custom := dynamicinformer.NewDynamicSharedInformerFactory(dynamicClient, 0)
	broadcaster := events.NewEventBroadcasterAdapter(client)
	recorders := profile.RecorderFactory(func(name string) events.EventRecorderLogger { return broadcaster.NewRecorder(name) })
	sched, err := scheduler.New(ctx, client, shared, custom, recorders, scheduler.WithKubeConfig(config))
	if err != nil {
		return err
	}

	s.running.Go(func() {
		broadcaster.StartRecordingToSink(ctx.Done())
		defer broadcaster.Shutdown()
		shared.Start(ctx.Done())
		custom.Start(ctx.Done())
		shared.WaitForCacheSync(ctx.Done())
		custom.WaitForCacheSync(ctx.Done())
		if err := sched.WaitForHandlersSync(ctx); err != nil {
			return // only when ctx ended
		}
		sched.Run(ctx)
	})
	s.running.Go(func() {
		<-ctx.Done()
		shared.Shutdown()
		custom.Shutdown()
	})
	return nil
}

// close ends the scheduler and waits for it. Pods that it had not bound yet are scheduled by the next one.
func (s *schedulerProcess) close() {
	s.cancel()
	s.running.Wait()
}
