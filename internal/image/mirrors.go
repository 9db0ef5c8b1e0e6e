// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/distribution/reference"
)

// endpoint is a place where images of a registry are: the registry itself or a mirror.
type endpoint struct {
	registry name.Registry
	prefix   string // before the repository's path; of mirrors only
	mirror   bool
	http     bool // asked for as http://
}

// ParseMirror reads a --registry-mirror: REGISTRY=URL, or URL alone for docker.io. The URL may have a path, which goes
// before the repository's.
func ParseMirror(text string) (registry, endpoint string, err error) {
	registry, endpoint, ok := strings.Cut(text, "=")
	if !ok || strings.Contains(registry, "://") {
		registry, endpoint = "docker.io", text
	}
	if _, err := parseEndpoint(endpoint); err != nil {
		return "", "", err
	}
	named, err := reference.ParseNormalizedNamed(registry + "/repository/name")
	if err != nil || reference.Path(named) != "repository/name" {
		return "", "", fmt.Errorf("%q is not a registry: it is a host, with a port if need be, as in quay.io=https://mirror.example", registry)
	}
	return reference.Domain(named), endpoint, nil
}

func parseEndpoint(text string) (endpoint, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Host == "", u.RawQuery != "", u.Fragment != "", u.User != nil:
		return endpoint{}, fmt.Errorf("%q is not a mirror: it is a URL, https://HOST or http://HOST, with a path if need be, and without a user", text)
	}
	e := endpoint{prefix: strings.Trim(strings.TrimSuffix(strings.Trim(u.Path, "/"), "v2"), "/"), mirror: true, http: u.Scheme == "http"}
	var options []name.Option
	if e.http {
		options = append(options, name.Insecure)
	}
	e.registry, err = name.NewRegistry(u.Host, options...)
	return e, err
}

// endpoints are where to ask for an image, one after the other: the mirrors, then the registry.
func (s *Store) endpoints(n Name) ([]endpoint, error) {
	var all []endpoint
	for _, text := range s.mirrors[n.Registry()] {
		e, err := parseEndpoint(text)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	r, err := name.NewRegistry(n.Registry())
	return append(all, endpoint{registry: r}), err
}

// host is what an endpoint is called in messages.
func (e endpoint) host() string { return e.registry.RegistryStr() }

// loopback reports whether host, with or without a port, is this machine.
func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}
