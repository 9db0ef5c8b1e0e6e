// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"

	"github.com/carillon-dev/carillon/internal/kube/fence"
)

// leaseLock is the lock of leader election, whose renewals the fence sees; nil without leader election. publish lets it
// publish events, once there is a manager.
func leaseLock(cfg *rest.Config, options Options, limits *fence.Fence) (lock resourcelock.Interface, publish func(ctrl.Manager), err error) {
	publish = func(ctrl.Manager) {}
	if !options.LeaderElect {
		return nil, publish, nil
	}
	lock, err = leaderelection.NewResourceLock(cfg, noRecorders{}, leaderelection.Options{
		LeaderElection: true, LeaderElectionID: LeaseName, LeaderElectionNamespace: options.LeaderElectionNamespace, RenewDeadline: fence.RenewDeadline,
	})
	if err != nil && options.LeaderElectionNamespace == "" {
		return nil, nil, fmt.Errorf("manager: %w; outside of a cluster, say which namespace holds the lease with --leader-elect-namespace", err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("manager: %w", err)
	}
	if lease, ok := lock.(*resourcelock.LeaseLock); ok {
		publish = func(m ctrl.Manager) {
			lease.LockConfig.EventRecorder = m.GetEventRecorderFor(lease.Identity()) //nolint:staticcheck // what leader election takes
		}
	}
	return limits.Lock(lock), publish, nil
}

// noRecorders gives no recorder.
type noRecorders struct{}

// GetEventRecorderFor implements recorder.Provider.
func (noRecorders) GetEventRecorderFor(string) record.EventRecorder { return nil }

// GetEventRecorder implements recorder.Provider.
func (noRecorders) GetEventRecorder(string) events.EventRecorder { return nil }
