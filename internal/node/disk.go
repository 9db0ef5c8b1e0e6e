// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
)

// diskGuard keeps Pods from filling the disk that the store is on. The kubelet
// evicts the Pod that uses most when less than the reserve is free, but it looks
// every ten seconds, in which a Pod writes gigabytes, and a store that finds the
// disk full ends the process. So the guard looks as often as the free space
// could be gone, and stops all containers where they are when half of the
// reserve is. They go on when the kubelet's evictions have brought the reserve
// back. What takes all of the space in one system call (fallocate) is faster.
type diskGuard struct {
	reserve    uint64
	available  func() (uint64, error)
	running    func() bool // whether a container runs that could be stopped
	pause      func()
	resume     func()
	onPressure func(low bool, available uint64) // told of each change
	log        logr.Logger
}

// diskState is how much is free.
type diskState int

const (
	diskRoomy    diskState = iota // more than the reserve
	diskLow                       // less: nothing new is started, the kubelet evicts
	diskCritical                  // less than half: containers are paused until it is roomy
)

// nextDiskState is the state that follows on one, by what is free now.
func nextDiskState(before diskState, available, reserve uint64) diskState {
	switch {
	case available >= reserve:
		return diskRoomy
	case available < reserve/2, before == diskCritical:
		return diskCritical
	}
	return diskLow
}

const (
	// fastestWrite is more than any disk takes in a second.
	fastestWrite     = 8 << 30
	minCheckInterval = 10 * time.Millisecond
	maxCheckInterval = time.Second
)

// checkInterval is after which time half of the reserve could be gone at the
// earliest.
func checkInterval(available, reserve uint64) time.Duration {
	headroom := saturatingSub(available, reserve/2)
	if headroom >= fastestWrite {
		return maxCheckInterval
	}
	return max(minCheckInterval, time.Duration(headroom)*time.Second/fastestWrite)
}

// run guards until ctx ends, and leaves nothing paused.
func (g *diskGuard) run(ctx context.Context) {
	state := diskRoomy
	defer func() {
		if state == diskCritical {
			g.resume()
		}
	}()
	for {
		available, err := g.available()
		wait := maxCheckInterval
		if err == nil {
			state = g.transition(state, nextDiskState(state, available, g.reserve), available)
			switch {
			case state == diskCritical:
				// What the kubelet started meanwhile is paused as well.
				g.pause()
				wait = maxCheckInterval / 4
			case g.running():
				wait = checkInterval(available, g.reserve)
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// transition acts on a change of state.
func (g *diskGuard) transition(before, state diskState, available uint64) diskState {
	if before == diskCritical && state != diskCritical {
		g.resume()
		g.log.Info("containers go on: there is space again", "available", available, "reserve", g.reserve)
	}
	if before != diskCritical && state == diskCritical {
		g.pause()
		g.log.Info("containers are paused until Pods were evicted: the disk is nearly full", "available", available, "reserve", g.reserve)
	}
	if (before == diskRoomy) != (state == diskRoomy) {
		g.onPressure(state != diskRoomy, available)
	}
	return state
}

// diskReserve is how much of the node's disk is to be kept free, and how much is.
func (n *Node) diskReserve(stats *machineStats) (reserve, available uint64, err error) {
	info, err := stats.RootFsInfo()
	if err != nil {
		return 0, 0, err
	}
	reserve, err = reserveOf(n.options.EvictionHard, info.Capacity)
	return reserve, info.Available, err
}

// guardDisk starts a guard of the node's disk, and the taints that go with it,
// which both end with ctx. done is closed when the guard has ended.
func (n *Node) guardDisk(ctx context.Context, stats *machineStats, reserve uint64, recorder record.EventRecorder) (done chan struct{}, err error) {
	done = make(chan struct{})
	_, available, err := n.diskReserve(stats)
	if err != nil {
		return nil, err
	}
	say := func(available uint64) {
		recorder.Event(&corev1.ObjectReference{Kind: "Node", Name: n.options.Name, UID: types.UID(n.options.Name)}, corev1.EventTypeWarning, ReasonDiskPressure,
			fmt.Sprintf("the disk of %s has %d MiB left, less than the %d MiB that are kept free for the store: new Pods wait, and those that use most of it are evicted; free some space there (or see --eviction-hard)",
				n.options.DataDir, available>>20, reserve>>20))
	}
	tell := func(bool) {}
	if n.options.Admin != nil {
		admin, err := kubernetes.NewForConfig(n.options.Admin)
		if err != nil {
			return nil, fmt.Errorf("taints of the node: %w", err)
		}
		taints := newTainter(n.options.Name, admin, n.options.Logger)
		if available < reserve {
			// Before the kubelet is there and Pods that it would refuse are bound.
			if err := taints.now(ctx); err != nil {
				return nil, fmt.Errorf("taints of the node: %w", err)
			}
		}
		tell = taints.tell
		go taints.run(ctx)
	}
	guard := &diskGuard{
		reserve: reserve,
		available: func() (uint64, error) {
			info, err := stats.RootFsInfo()
			return info.Available, err
		},
		running: func() bool { return false },
		pause:   func() {},
		resume:  func() {},
		onPressure: func(low bool, available uint64) {
			tell(low)
			if low {
				say(available)
			}
		},
		log: n.options.Logger,
	}
	if n.runtime != nil {
		guard.pause, guard.resume = n.runtime.Pause, n.runtime.Resume
		guard.running = func() bool {
			pods, _ := n.runtime.DrainEstimate(0)
			return pods > 0
		}
	}
	go func() {
		defer close(done)
		guard.run(ctx)
	}()
	return done, nil
}
