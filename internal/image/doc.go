// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package image pulls OCI images, keeps them in a store that all control planes of a user share, and hands their layers
// to containers.
//
//	store, err := image.Open(ctx, image.Options{})       // ~/.cache/carillon/images
//	name, err := image.ParseName("python:3.12")          // docker.io/library/python:3.12
//	img, err := store.Pull(ctx, name, nil, nil)          // with the credentials of docker or podman
//	use, err := store.Use(img.ID)                        // until use.Close, or as long as a child has use.File
//
// A tour:
//
//   - names.go        what a text in image: means
//   - credentials.go  who we are for a registry
//   - mirrors.go      where else a registry's images are
//   - platform.go     which image of an index is for this machine
//   - errors.go       why an image is not to be had, for people and for callers
//   - store.go        the directory, and opening it
//   - image.go        what is known of an image
//   - registry.go     what a registry is asked, transport.go how
//   - manifest.go     what it answers
//   - blobs.go        downloads that go on after cuts
//   - pull.go         from a name to an image in the store
//   - bring.go        making its layers, from the bottom up while others still come
//   - progress.go     how far a pull is
//   - find.go         looking images up
//   - use.go          layers for a container, and the lock that keeps them
//   - gc.go           removing images, and which ones go first
//   - archive.go      images out of files: what docker saves, layout.go OCI layouts, archivefiles.go the files
//   - usage.go        what the store takes on disk
//   - layers.go, record.go, lock.go  what is in the directory
//   - helper.go       what applies layers: package unpack
//
// # Invariants
//
// What has a name in images/ or layers/ is whole, wherever a process was killed or the machine stopped; the next pull
// goes on with what is there. A blob is fetched once, however many processes want it. Nothing is unpacked, or read as a
// manifest or a config, before it has its digest, and a layer's content has the one that the image's config says. An
// image that a container uses is not removed. Credentials go to the registry they are for, and to whom that names for
// tokens; never along with a redirect. Memory does not grow with a layer.
//
// The certificates of registries are checked as by any Go program: SSL_CERT_FILE and SSL_CERT_DIR name authorities of
// one's own. Proxies are those of the environment.
//
// The package is below the runtime and knows nothing of Kubernetes.
package image
