// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"path/filepath"
	"strings"

	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
)

// legacyLogDir is where the kubelet puts a symbolic link to each container's
// log, whatever its configuration says.
const legacyLogDir = "/var/log/containers"

// quietOS is the operating system as the kubelet sees it, without the links in
// /var/log/containers: they would outlive the data directory, and an ordinary
// user cannot make them.
type quietOS struct{ kubecontainer.RealOS }

var _ kubecontainer.OSInterface = quietOS{}

func (q quietOS) Symlink(target, link string) error {
	if isLegacyLog(link) {
		return nil
	}
	return q.RealOS.Symlink(target, link)
}

func (q quietOS) Glob(pattern string) ([]string, error) {
	if isLegacyLog(pattern) {
		return nil, nil
	}
	return q.RealOS.Glob(pattern)
}

func (q quietOS) Remove(path string) error {
	if isLegacyLog(path) {
		return nil
	}
	return q.RealOS.Remove(path)
}

func isLegacyLog(path string) bool {
	return strings.HasPrefix(filepath.Clean(path), legacyLogDir+"/")
}
