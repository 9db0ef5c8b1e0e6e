// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"slices"
	"strconv"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The user and groups of a process, as the program prints them.
var userSpecs = []spec{
	{name: "a container runs as user 0 when neither it nor its image names a user", run: func(c *check) {
		out := c.run(c.container("ids"))[0]
		if c.ordinary {
			c.equal("ids", out, "0 0 []")
			return
		}
		// The groups that /etc/group of the image puts root in.
		c.equal("ids", out, "0 0 [777]")
	}},
	{name: "the image's user is a number", run: func(c *check) {
		want := "1234 2345 [777]"
		if c.ordinary {
			want = "1234 2345 []"
		}
		c.equal("ids", c.run(c.containerOf("user-number", "ids"))[0], want)
	}},
	{name: "the image's user is a number that its files do not know", run: func(c *check) {
		c.equal("ids", c.run(c.containerOf("user-unknown", "ids"))[0], "4321 0 []")
	}, differs: map[string]string{containerd: "1.6 adds the groups that the image puts root in, unless the caller names the user, as the kubelet does"}},
	{name: "the image's user is a name", run: func(c *check) {
		want := "1234 2345 [777]"
		if c.ordinary {
			want = "1234 2345 []"
		}
		c.equal("ids", c.run(c.containerOf("user-name", "ids"))[0], want)
	}},
	{name: "the image's user comes with a group", run: func(c *check) {
		for _, image := range []string{"user-number-group", "user-name-group"} {
			c.equal(image, c.run(c.containerOf(image, "ids"))[0], "1234 777 []")
		}
	}},
	{name: "RunAsUser is who runs the command, with the group that the image knows of it", run: func(c *check) {
		for user, want := range map[int64]string{1234: "1234 2345 [777]", 4321: "4321 0 []", 0: "0 0 [777]"} {
			if c.ordinary {
				want = want[:slices.Index([]byte(want), '[')] + "[]"
			}
			config := c.containerOf("user-unknown", "ids")
			config.Linux.SecurityContext.RunAsUser = &runtimeapi.Int64Value{Value: user}
			c.equal("user "+strconv.FormatInt(user, 10), c.run(config)[0], want)
		}
	}},
	{name: "RunAsUsername is looked up in the image", run: func(c *check) {
		want := "1234 2345 [777]"
		if c.ordinary {
			want = "1234 2345 []"
		}
		config := c.container("ids")
		config.Linux.SecurityContext.RunAsUsername = "app"
		c.equal("ids", c.run(config)[0], want)
	}},
	{name: "RunAsUsername that the image does not know is refused", run: func(c *check) {
		config := c.container("ids")
		config.Linux.SecurityContext.RunAsUsername = "no-such-user"
		c.refused("it", c.tryBegin(c.sandbox(), config))
	}},
	{name: "RunAsGroup is the group of the command", run: func(c *check) {
		config := c.container("ids")
		config.Linux.SecurityContext.RunAsUser = &runtimeapi.Int64Value{Value: 4321}
		config.Linux.SecurityContext.RunAsGroup = &runtimeapi.Int64Value{Value: 5432}
		c.equal("of a number", c.run(config)[0], "4321 5432 []")
		config = c.container("ids")
		config.Linux.SecurityContext.RunAsUsername = "nobody"
		config.Linux.SecurityContext.RunAsGroup = &runtimeapi.Int64Value{Value: 5432}
		c.equal("of a name", c.run(config)[0], "65534 5432 []")
	}},
	{name: "RunAsGroup without a user is refused", run: func(c *check) {
		config := c.container("ids")
		config.Linux.SecurityContext.RunAsGroup = &runtimeapi.Int64Value{Value: 5432}
		c.refused("it", c.tryBegin(c.sandbox(), config))
	}},
	{name: "supplemental groups come in addition to those of the image", run: func(c *check) {
		c.needsUsers()
		config := c.containerOf("user-name", "ids")
		config.Linux.SecurityContext.SupplementalGroups = []int64{3000, 777, 3001}
		c.equal("ids", c.run(config)[0], "1234 2345 [777 3000 3001]")
	}},
	{name: "with the policy Strict the groups of the image do not count", run: func(c *check) {
		c.needsUsers()
		c.needsGroupsPolicy()
		config := c.containerOf("user-name", "ids")
		config.Linux.SecurityContext.SupplementalGroups = []int64{3000}
		config.Linux.SecurityContext.SupplementalGroupsPolicy = runtimeapi.SupplementalGroupsPolicy_Strict
		c.equal("ids", c.run(config)[0], "1234 2345 [3000]")
	}},
	{name: "the status of a container tells who runs it", run: func(c *check) {
		c.needsGroupsPolicy()
		ctr := c.beginWaiting(c.sandbox(), c.containerOf("user-name"))
		user := c.status(ctr).GetUser().GetLinux()
		c.equal("user and group", []int64{user.GetUid(), user.GetGid()}, []int64{1234, 2345})
		if !c.ordinary && !slices.Contains(user.GetSupplementalGroups(), 777) {
			c.Errorf("groups %v", user.GetSupplementalGroups())
		}
	}},
	{name: "what is executed in a container runs as its user, in its directory and with its environment", run: func(c *check) {
		config := c.containerOf("user-name")
		config.Envs = []*runtimeapi.KeyValue{{Key: "OWN", Value: []byte("value")}}
		config.WorkingDir = "/data"
		ctr := c.beginWaiting(c.sandbox(), config)
		want := "1234 2345 [777]"
		if c.ordinary {
			want = "1234 2345 []"
		}
		c.equal("output", string(c.exec(ctr, "ids", "pwd", "env:OWN").Stdout), want+"\n/data\nvalue\n")
	}},
}

// needsGroupsPolicy skips a spec when the runtime does not say that it knows policies for groups.
func (c *check) needsGroupsPolicy() {
	c.Helper()
	st, err := c.runtime.Status(c.ctx(), &runtimeapi.StatusRequest{})
	c.must(err)
	if !st.GetFeatures().GetSupplementalGroupsPolicy() {
		c.Skip("this runtime does not have the feature SupplementalGroupsPolicy")
	}
}
