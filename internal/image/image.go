// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import "time"

// Image is what the store knows of one image.
type Image struct {
	// ID is the digest of the image's config, sha256:…; it names the image's content on this platform.
	ID string
	// Names are the full names with tags by which it was pulled or imported: docker.io/library/busybox:latest.
	Names []string
	// Digests are the names with digests that the registry gave it, of an index or of a manifest:
	// docker.io/library/busybox@sha256:…
	Digests []string
	// Config is what the image says about its processes.
	Config Config
	// Size is how many bytes the files of its layers hold. Layers that other images have too count fully.
	Size int64
	// Pulled is when it came to this store.
	Pulled time.Time
	// LastUsed is when a container began to use it, or when it was pulled.
	LastUsed time.Time
}

// Config is what an image says about the processes that run in it.
type Config struct {
	User       string            `json:"user,omitempty"`
	Env        []string          `json:"env,omitempty"`
	Entrypoint []string          `json:"entrypoint,omitempty"`
	Cmd        []string          `json:"cmd,omitempty"`
	WorkingDir string            `json:"workingDir,omitempty"`
	StopSignal string            `json:"stopSignal,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	Volumes    []string          `json:"volumes,omitempty"`
}
