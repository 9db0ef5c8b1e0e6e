// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/kubernetes/pkg/kubelet/eviction"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
)

const (
	// reservedBytes and reservedInodes are what is kept free for the store and
	// for the records of what ran, on a disk that is large enough: in absolute
	// terms, for the store does not grow with the disk. A tenth of a large disk,
	// Kubernetes' default, would keep a laptop from running anything.
	reservedBytes  = 512 << 20
	reservedInodes = 10_000
	// reservedPart of a small disk is kept free.
	reservedPart = 4

	// volumeStatsPeriod is how often emptyDirs are measured; the kubelet adds up
	// to as much again. It looks at the results every ten seconds.
	volumeStatsPeriod = 5 * time.Second
	// pressureTransition is how long the node is still said to be under pressure
	// when the space is there again. It bounds how often that can change; with
	// Kubernetes' five minutes a machine would stand still for as long because
	// of one Pod.
	pressureTransition = 30 * time.Second
)

// CheckEvictionHard reports what the kubelet would not understand.
func CheckEvictionHard(thresholds map[string]string) error {
	if _, err := eviction.ParseThresholdConfig(nil, thresholds, nil, nil, nil); err != nil {
		return fmt.Errorf("eviction thresholds (such as nodefs.available<1Gi): %w", err)
	}
	return nil
}

// defaultEvictionHard are the thresholds for a filesystem of that size.
func defaultEvictionHard(size, inodes uint64) map[string]string {
	thresholds := map[string]string{
		string(evictionapi.SignalNodeFsAvailable): strconv.FormatUint(min(reservedBytes, size/reservedPart), 10),
	}
	// Some filesystems make inodes as they need them and say 0.
	if inodes > 0 {
		thresholds[string(evictionapi.SignalNodeFsInodesFree)] = strconv.FormatUint(min(reservedInodes, inodes/reservedPart), 10)
	}
	return thresholds
}

// completeEviction chooses the thresholds if nobody else has.
func (n *Node) completeEviction(stats *machineStats) error {
	if n.options.EvictionHard != nil {
		return nil
	}
	info, err := stats.RootFsInfo()
	if err != nil {
		return err
	}
	var inodes uint64
	if info.Inodes != nil {
		inodes = *info.Inodes
	}
	n.options.EvictionHard = defaultEvictionHard(info.Capacity, inodes)
	return nil
}

// reserveOf is how many bytes of a filesystem of that size the thresholds keep
// free, 0 for none.
func reserveOf(thresholds map[string]string, size uint64) (uint64, error) {
	parsed, err := eviction.ParseThresholdConfig(nil, thresholds, nil, nil, nil)
	if err != nil {
		return 0, err
	}
	for _, threshold := range parsed {
		if threshold.Signal != evictionapi.SignalNodeFsAvailable {
			continue
		}
		if threshold.Value.Quantity != nil {
			return uint64(max(0, threshold.Value.Quantity.Value())), nil
		}
		return uint64(float64(size) * float64(threshold.Value.Percentage)), nil
	}
	return 0, nil
}
