// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package standalone

import (
	"os"
	"strings"

	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

// maxName bounds what is read back; a name has at most 63 bytes.
const maxName = 1 << 10

// fallbackName names a node whose machine has no name that Kubernetes takes.
const fallbackName = "localhost"

// nodeName gives the node's name and keeps it in the data directory: Pods are bound to the name, so it must not change
// when the machine's does, as laptops' do with the network they are in.
func nodeName(dir string) (string, error) {
	if text, err := privatedir.ReadFile(datadir.NodeName(dir), maxName); err == nil {
		if name := strings.TrimSpace(string(text)); name != "" && asNodeName(name) == name {
			return name, nil
		}
	}
	// A machine without a name gets the fallback.
	host, _ := os.Hostname()
	name := asNodeName(host)
	return name, privatedir.WriteFile(datadir.NodeName(dir), []byte(name+"\n"))
}

// asNodeName turns a machine's name into a label of at most 63 lower-case letters, digits and inner dashes, as the name
// of a node must be: the first part of a qualified name, with other characters replaced.
func asNodeName(host string) string {
	host, _, _ = strings.Cut(strings.ToLower(host), ".")
	host = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, host)
	if len(host) > 63 {
		host = host[:63]
	}
	if host = strings.Trim(host, "-"); host == "" {
		return fallbackName
	}
	return host
}
