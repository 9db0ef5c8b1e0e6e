// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

var rightsSpecs = []spec{
	{name: "user 0 of a container has some capabilities, and none that reach beyond it", run: func(c *check) {
		for _, set := range []string{"CapEff", "CapBnd"} {
			has := c.capabilities(set, func(*runtimeapi.LinuxContainerSecurityContext) {})
			for _, n := range []int{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_SETUID, unix.CAP_NET_BIND_SERVICE, unix.CAP_KILL} {
				if !slices.Contains(has, n) {
					c.Errorf("%s: %d is not among %v", set, n, has)
				}
			}
			for _, n := range []int{unix.CAP_SYS_ADMIN, unix.CAP_SYS_MODULE, unix.CAP_SYS_PTRACE, unix.CAP_NET_ADMIN, unix.CAP_SYS_BOOT, unix.CAP_BPF} {
				if slices.Contains(has, n) {
					c.Errorf("%s: %d is among %v", set, n, has)
				}
			}
		}
	}},
	{name: "another user has no capabilities", run: func(c *check) {
		c.equal("effective", c.run(c.containerOf("user-name", "caps:CapEff", "caps:CapPrm", "caps:CapAmb")), []string{"[]", "[]", "[]"})
	}},
	{name: "a capability can be added", run: func(c *check) {
		for _, set := range []string{"CapEff", "CapBnd"} {
			has := c.capabilities(set, func(sc *runtimeapi.LinuxContainerSecurityContext) {
				sc.Capabilities = &runtimeapi.Capability{AddCapabilities: []string{"SYS_PTRACE"}}
			})
			if !slices.Contains(has, unix.CAP_SYS_PTRACE) || slices.Contains(has, unix.CAP_SYS_ADMIN) {
				c.Errorf("%s: %v", set, has)
			}
		}
	}},
	{name: "a capability can be dropped", run: func(c *check) {
		has := c.capabilities("CapBnd", func(sc *runtimeapi.LinuxContainerSecurityContext) {
			sc.Capabilities = &runtimeapi.Capability{DropCapabilities: []string{"CHOWN"}}
		})
		if slices.Contains(has, unix.CAP_CHOWN) || !slices.Contains(has, unix.CAP_KILL) {
			c.Errorf("%v", has)
		}
	}},
	{name: "all capabilities can be dropped, and one added", run: func(c *check) {
		for _, set := range []string{"CapEff", "CapBnd"} {
			has := c.capabilities(set, func(sc *runtimeapi.LinuxContainerSecurityContext) {
				sc.Capabilities = &runtimeapi.Capability{DropCapabilities: []string{"ALL"}, AddCapabilities: []string{"NET_BIND_SERVICE"}}
			})
			c.equal(set, has, []int{unix.CAP_NET_BIND_SERVICE})
		}
	}},
	{name: "an ambient capability is that of another user too", run: func(c *check) {
		if c.ordinary {
			c.Skip("as an ordinary user only user 0 of a container has capabilities, and on nothing of the machine")
		}
		config := c.containerOf("user-name", "caps:CapEff", "caps:CapAmb")
		config.Linux.SecurityContext.Capabilities = &runtimeapi.Capability{AddAmbientCapabilities: []string{"NET_BIND_SERVICE"}}
		only := fmt.Sprint([]int{unix.CAP_NET_BIND_SERVICE})
		c.equal("output", c.run(config), []string{only, only})
	}, differs: map[string]string{containerd: "1.6 does not know the field yet"}},
	{name: "an unknown capability is refused", run: func(c *check) {
		config := c.container("ids")
		config.Linux.SecurityContext.Capabilities = &runtimeapi.Capability{AddCapabilities: []string{"NO_SUCH_CAPABILITY"}}
		c.refused("it", c.tryBegin(c.sandbox(), config))
	}, differs: map[string]string{containerd: "runc leaves out what it does not know"}},
	{name: "NoNewPrivs is set when it is asked for, and only then", run: func(c *check) {
		for _, want := range []bool{true, false} {
			config := c.container("status:NoNewPrivs")
			config.Linux.SecurityContext.NoNewPrivs = want
			c.equal("flag", c.run(config)[0], map[bool]string{true: "1", false: "0"}[want])
		}
	}},
	{name: "the seccomp profile RuntimeDefault is a filter, which what is executed in the container has as well", run: func(c *check) {
		c.equal("mode", c.run(c.container("status:Seccomp"))[0], "2")
		ctr := c.beginWaiting(c.sandbox(), c.container())
		c.equal("mode of exec", string(c.exec(ctr, "status:Seccomp").Stdout), "2\n")
	}},
	{name: "the seccomp profile Unconfined is no filter", run: func(c *check) {
		if c.ordinary {
			c.Skip("as an ordinary user a filter stands in for the changes of user that the kernel does not allow")
		}
		config := c.container("status:Seccomp")
		config.Linux.SecurityContext.Seccomp.ProfileType = runtimeapi.SecurityProfile_Unconfined
		c.equal("mode", c.run(config)[0], "0")
	}},
	{name: "a seccomp profile of this machine decides about system calls", run: func(c *check) {
		profile := filepath.Join(c.TempDir(), "profile.json")
		c.must(os.WriteFile(profile, []byte(`{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO", "errnoRet": 95}]}`), 0o644))
		config := c.container("mkdir:/tmp/new", "mkdir:/data/new", "pwd")
		config.Linux.SecurityContext.Seccomp = &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Localhost, LocalhostRef: profile}
		c.equal("output", c.run(config), []string{"error: operation not supported", "error: operation not supported", "/data"})
	}},
	{name: "a seccomp profile that is not there is refused", run: func(c *check) {
		config := c.container("pwd")
		config.Linux.SecurityContext.Seccomp = &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Localhost, LocalhostRef: filepath.Join(c.TempDir(), "missing.json")}
		c.refused("it", c.tryBegin(c.sandbox(), config))
	}},
	{name: "with ReadonlyRootfs nothing can be written but volumes and /dev/shm", run: func(c *check) {
		config := c.container("write:/data/new", "write:/tmp/new", "write:/new", "write:/volume/new", "write:/dev/shm/new")
		config.Linux.SecurityContext.ReadonlyRootfs = true
		config.Mounts = []*runtimeapi.Mount{{HostPath: c.TempDir(), ContainerPath: "/volume"}}
		const refused = "error: read-only file system"
		c.equal("output", c.run(config), []string{refused, refused, refused, "wrote", "wrote"})
	}},
	{name: "masked paths show nothing", run: func(c *check) {
		config := c.container("cat:/proc/version", "ls:/proc/irq")
		config.Linux.SecurityContext.MaskedPaths = []string{"/proc/version", "/proc/irq", "/proc/no-such-file"}
		c.equal("output", c.run(config), []string{"", "[]"})
	}},
	{name: "read-only paths cannot be written", run: func(c *check) {
		config := c.container("open:/proc/sys/vm/swappiness", "cat:/proc/self/comm")
		config.Linux.SecurityContext.ReadonlyPaths = []string{"/proc/sys", "/proc/no-such-file"}
		refused := "error: read-only file system"
		if c.ordinary {
			refused = "error: permission denied" // which comes first
		}
		c.equal("output", c.run(config), []string{refused, "probe"})
	}},
	{name: "/sys is read-only", run: func(c *check) {
		if out := c.run(c.container("open:/sys/kernel/mm/transparent_hugepage/enabled"))[0]; !strings.Contains(out, "read-only") && !strings.Contains(out, "denied") && !strings.Contains(out, "no such file") {
			c.Errorf("%s", out)
		}
	}},
	{name: "a privileged container has all capabilities of the machine, no filter and /sys to write", run: func(c *check) {
		c.needsUsers()
		config := c.sandboxConfig()
		config.Linux.SecurityContext.Privileged = true
		p := c.runSandbox(config)
		ctr := c.container("caps:CapEff", "status:Seccomp", "open:/sys/kernel/uevent_seqnum", "open:/proc/sys/vm/swappiness")
		ctr.Linux.SecurityContext.Privileged = true
		own, err := capabilityNumbers("CapBnd")
		c.must(err)
		out := c.runIn(p, ctr)
		c.equal("capabilities and filter", out[:2], []any{own, "0"})
		for _, line := range out[2:] {
			if strings.Contains(line, "read-only") {
				c.Error(line)
			}
		}
	}},
}

// capabilities are the numbers of a set of user 0 in a container.
func (c *check) capabilities(set string, change func(*runtimeapi.LinuxContainerSecurityContext)) []int {
	c.Helper()
	config := c.container("caps:" + set)
	change(config.Linux.SecurityContext)
	var has []int
	for n := range 64 {
		has = append(has, n)
	}
	text := " " + strings.Trim(c.run(config)[0], "[]") + " "
	return slices.DeleteFunc(has, func(n int) bool { return !strings.Contains(text, " "+strconv.Itoa(n)+" ") })
}
