// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"strings"
	"testing"
)

// Options that cannot work are refused by New, before anything is touched.
func TestOptions(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"only a directory":       {Options{DataDir: "/nowhere"}, ""},
		"an address":             {Options{DataDir: "/nowhere", Listen: "[::1]:6443"}, ""},
		"no directory":           {Options{}, "no data directory"},
		"no port":                {Options{DataDir: "/nowhere", Listen: "127.0.0.1"}, "not host:port"},
		"a port name":            {Options{DataDir: "/nowhere", Listen: "127.0.0.1:https"}, "a number"},
		"a port out of range":    {Options{DataDir: "/nowhere", Listen: "127.0.0.1:65536"}, "65535"},
		"a negative port number": {Options{DataDir: "/nowhere", Listen: "127.0.0.1:-1"}, "65535"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := New(test.options)
			if test.want == "" {
				if err != nil || c.Kubeconfig() != "/nowhere/kubeconfig" || c.AdminConfig() != nil || c.Address() != "" {
					t.Errorf("got %v, %v", c, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
