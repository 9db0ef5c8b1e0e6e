// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"encoding/json"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

var runtimeSpecs = []spec{
	{name: "Version names the runtime and says v1 of the API", run: func(c *check) {
		v, err := c.runtime.Version(c.ctx(), &runtimeapi.VersionRequest{Version: "v1"})
		c.must(err)
		if v.RuntimeName == "" || v.RuntimeVersion == "" || v.Version == "" || v.RuntimeApiVersion != "v1" {
			c.Errorf("%v", v)
		}
	}},
	{name: "Status says whether the runtime and the network are ready, and the runtime is", run: func(c *check) {
		st, err := c.runtime.Status(c.ctx(), &runtimeapi.StatusRequest{})
		c.must(err)
		conditions := map[string]bool{}
		for _, condition := range st.Status.Conditions {
			conditions[condition.Type] = condition.Status
		}
		_, told := conditions[runtimeapi.NetworkReady]
		if !told || !conditions[runtimeapi.RuntimeReady] {
			c.Errorf("%v", st.Status)
		}
		if len(st.Info) > 0 {
			c.Errorf("more than was asked for: %v", st.Info)
		}
	}},
	{name: "a verbose Status says more, in JSON", run: func(c *check) {
		st, err := c.runtime.Status(c.ctx(), &runtimeapi.StatusRequest{Verbose: true})
		c.must(err)
		c.checkInfo(st.Info)
	}, differs: map[string]string{containerd: "lastCNILoadStatus is bare text"}},
	{name: "RuntimeConfig names a cgroup driver", run: func(c *check) {
		config, err := c.runtime.RuntimeConfig(c.ctx(), &runtimeapi.RuntimeConfigRequest{})
		c.needs("RuntimeConfig", err)
		c.must(err)
		if config.Linux == nil {
			c.Errorf("%v", config)
		}
	}},
	{name: "UpdateRuntimeConfig takes the addresses of Pods", run: func(c *check) {
		_, err := c.runtime.UpdateRuntimeConfig(c.ctx(), &runtimeapi.UpdateRuntimeConfigRequest{RuntimeConfig: &runtimeapi.RuntimeConfig{NetworkConfig: &runtimeapi.NetworkConfig{PodCidr: "10.0.0.0/24"}}})
		c.must(err)
	}},
	{name: "each runtime handler of Status is named once, and the default one is there", run: func(c *check) {
		st, err := c.runtime.Status(c.ctx(), &runtimeapi.StatusRequest{})
		c.must(err)
		if len(st.RuntimeHandlers) == 0 {
			c.Skip("this runtime does not list its handlers")
		}
		named := map[string]int{}
		for _, h := range st.RuntimeHandlers {
			named[h.Name]++
		}
		for name, n := range named {
			if n != 1 {
				c.Errorf("%q is there %d times", name, n)
			}
		}
		if named[""] == 0 {
			c.Errorf("no default: %v", st.RuntimeHandlers)
		}
	}},
}

// checkInfo looks at what a verbose answer has more: some values, each in JSON.
func (c *check) checkInfo(info map[string]string) {
	c.Helper()
	if len(info) == 0 {
		c.Error("nothing more is told")
	}
	for key, text := range info {
		if !json.Valid([]byte(text)) {
			c.Errorf("%s is not JSON: %s", key, text)
		}
	}
}
