// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import "k8s.io/kubernetes/pkg/volume/util/hostutil"

// hostUtil asks the host about paths. Unlike upstream's it does not bind-mount
// the kubelet's directory on itself to make it shared: that mount would outlive
// the process, make the data directory undeletable, and needs root.
type hostUtil struct{ *hostutil.HostUtil }

var _ hostutil.HostUtils = hostUtil{}

func (hostUtil) MakeRShared(string) error { return nil }
