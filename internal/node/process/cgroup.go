// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	libcgroups "github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/mounts"
	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// cgroups are the directories below which containers get their cgroups: one of
// the unified hierarchy, or one for each controller of the old kind. Without
// any, limits are not enforced.
type cgroups struct {
	unified string            // "" when not usable
	v1      map[string]string // controller to directory
}

// controllers are those that limits of containers need.
var controllers = []string{"memory", "cpu", "pids"}

// devicesController decides which devices a container may open; only the old
// kind of cgroups has it as files.
const devicesController = "devices"

// findCgroups looks for a place where cgroups can be made. The result says
// what is missing, for one warning.
func findCgroups(name string) (cgroups, string) {
	paths, err := libcgroups.ParseCgroupFile("/proc/self/cgroup")
	if err != nil {
		return cgroups{}, "limits on memory and CPU are not enforced: this kernel has no cgroups"
	}
	table, err := mounts.Table()
	if err != nil {
		return cgroups{}, "limits on memory and CPU are not enforced: " + err.Error()
	}
	unified, old := cgroupMounts(table)
	cg := cgroups{v1: map[string]string{}}
	if unified != "" && len(old) == 0 {
		// Everything with the unified hierarchy. Its cgroups either hold
		// processes or hand controllers down, so ours can not lie below the
		// one that we are in.
		parent := unified
		if os.Geteuid() != 0 {
			parent = filepath.Join(unified, filepath.Dir(filepath.Clean("/"+paths[""])))
		}
		dir := filepath.Join(parent, name)
		if err := prepareUnified(parent, dir); err != nil {
			return cgroups{}, "limits on memory and CPU are not enforced: " + err.Error() + "; run as root, or let systemd delegate a cgroup (Delegate=yes)"
		}
		cg.unified = dir
		return cg, ""
	}
	var missing []string
	for _, c := range controllers {
		mount := old[c]
		if mount == "" {
			missing = append(missing, c)
			continue
		}
		dir := filepath.Join(mount, paths[c], name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			missing = append(missing, c)
			continue
		}
		cg.v1[c] = dir
	}
	if mount := old[devicesController]; mount != "" && os.Geteuid() == 0 {
		// Where it can not be had there are other guards: see security.md.
		dir := filepath.Join(mount, paths[devicesController], name)
		if err := os.Mkdir(dir, 0o755); err == nil || errors.Is(err, fs.ErrExist) {
			cg.v1[devicesController] = dir
		}
	}
	if len(missing) > 0 {
		return cg, "limits are not enforced for: " + strings.Join(missing, ", ") + " (the cgroups of this machine can not be written; run as root)"
	}
	return cg, ""
}

// prepareUnified makes dir and hands it the controllers.
func prepareUnified(parent, dir string) error {
	enable := func(at string) {
		for _, c := range controllers {
			// One by one: a controller that is missing must not keep the
			// others away.
			_ = os.WriteFile(filepath.Join(at, "cgroup.subtree_control"), []byte("+"+c), 0)
		}
	}
	if os.Geteuid() == 0 {
		enable(parent)
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	enable(dir)
	got, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err == nil && !strings.Contains(string(got), "memory") {
		err = errors.New("the memory controller is not available in " + dir)
	}
	if err != nil {
		_ = os.Remove(dir)
	}
	return err
}

// cgroupMounts finds where the unified hierarchy is mounted, and the old ones by
// controller.
func cgroupMounts(table []mounts.Mount) (unified string, old map[string]string) {
	old = map[string]string{}
	for _, m := range table {
		switch m.Type {
		case "cgroup2":
			unified = m.Point
		case "cgroup":
			for o := range strings.SplitSeq(m.Options, ",") {
				if o == devicesController || slices.Contains(controllers, o) {
					old[o] = m.Point
				}
			}
		}
	}
	return unified, old
}

// plan says which cgroups a container gets: those that bound its processes and
// its devices always, others where it has limits. pidsMax is the most
// processes and threads, 0 for no limit; devices are lines for the devices
// controller, nil for no rules.
func (cg cgroups) plan(id string, res *runtimeapi.LinuxContainerResources, pidsMax int64, devices []string) *shim.Cgroup {
	plan := &shim.Cgroup{}
	if cg.unified != "" {
		files := append(pidsValues(pidsMax), unifiedValues(res)...)
		plan.Dirs = append(plan.Dirs, shim.CgroupDir{Path: filepath.Join(cg.unified, id), Unified: true, Files: files})
	}
	for _, c := range slices.Sorted(maps.Keys(cg.v1)) {
		values := v1Values(c, res)
		switch c {
		case "pids":
			values = pidsValues(pidsMax)
		case devicesController:
			values = deviceValues(devices)
		}
		if len(values) == 0 && c != "pids" {
			continue
		}
		plan.Dirs = append(plan.Dirs, shim.CgroupDir{Path: filepath.Join(cg.v1[c], id), Files: values})
	}
	if len(plan.Dirs) == 0 {
		return nil
	}
	return plan
}

func pidsValues(most int64) []shim.CgroupValue {
	if most <= 0 {
		return nil
	}
	return []shim.CgroupValue{{File: "pids.max", Value: strconv.FormatInt(most, 10)}}
}

func cgroupDirs(plan *shim.Cgroup) []shim.CgroupDir {
	if plan == nil {
		return nil
	}
	return plan.Dirs
}

// minShares is what the kubelet sends for a container that requests no CPU.
const minShares = 2

func limited(res *runtimeapi.LinuxContainerResources) bool {
	return res.GetMemoryLimitInBytes() > 0 || res.GetCpuQuota() > 0 || res.GetCpuShares() > minShares || len(res.GetUnified()) > 0
}

func unifiedValues(res *runtimeapi.LinuxContainerResources) []shim.CgroupValue {
	var v []shim.CgroupValue
	if m := res.GetMemoryLimitInBytes(); m > 0 {
		v = append(v, shim.CgroupValue{File: "memory.max", Value: strconv.FormatInt(m, 10)})
		// Not libcgroups.ConvertMemorySwapToCgroupV2Value, to which a swap limit that is not set is no limit; here it
		// is 0.
		swap := max(res.GetMemorySwapLimitInBytes()-m, 0)
		v = append(v, shim.CgroupValue{File: "memory.swap.max", Value: strconv.FormatInt(swap, 10)})
	}
	if q := res.GetCpuQuota(); q > 0 {
		v = append(v, shim.CgroupValue{File: "cpu.max", Value: strconv.FormatInt(q, 10) + " " + strconv.FormatInt(period(res), 10)})
	}
	if s := res.GetCpuShares(); s >= minShares {
		w := libcgroups.ConvertCPUSharesToCgroupV2Value(uint64(s))
		v = append(v, shim.CgroupValue{File: "cpu.weight", Value: strconv.FormatUint(w, 10)})
	}
	for _, k := range slices.Sorted(maps.Keys(res.GetUnified())) {
		if !strings.Contains(k, "/") {
			v = append(v, shim.CgroupValue{File: k, Value: res.GetUnified()[k]})
		}
	}
	return v
}

func v1Values(controller string, res *runtimeapi.LinuxContainerResources) []shim.CgroupValue {
	var v []shim.CgroupValue
	switch controller {
	case "memory":
		if m := res.GetMemoryLimitInBytes(); m > 0 {
			v = append(v,
				shim.CgroupValue{File: "memory.limit_in_bytes", Value: strconv.FormatInt(m, 10)},
				shim.CgroupValue{File: "memory.memsw.limit_in_bytes", Value: strconv.FormatInt(max(res.GetMemorySwapLimitInBytes(), m), 10)})
		}
	case "cpu":
		if s := res.GetCpuShares(); s > minShares {
			v = append(v, shim.CgroupValue{File: "cpu.shares", Value: strconv.FormatInt(s, 10)})
		}
		if q := res.GetCpuQuota(); q > 0 {
			v = append(v,
				shim.CgroupValue{File: "cpu.cfs_period_us", Value: strconv.FormatInt(period(res), 10)},
				shim.CgroupValue{File: "cpu.cfs_quota_us", Value: strconv.FormatInt(q, 10)})
		}
	}
	return v
}

func period(res *runtimeapi.LinuxContainerResources) int64 {
	if p := res.GetCpuPeriod(); p > 0 {
		return p
	}
	return 100000
}

// UpdateContainerResources changes limits of a running container that has
// cgroups for them.
func (r *Runtime) UpdateContainerResources(_ context.Context, req *runtimeapi.UpdateContainerResourcesRequest) (*runtimeapi.UpdateContainerResourcesResponse, error) {
	c, err := r.container(req.GetContainerId())
	if err != nil {
		return nil, err
	}
	res := req.GetLinux()
	values := map[string][]shim.CgroupValue{}
	for _, dir := range c.rec.Cgroups {
		values[dir] = unifiedValues(res)
		for name, base := range r.cgroups.v1 {
			if filepath.Dir(dir) == base {
				values[dir] = v1Values(name, res)
			}
		}
	}
	if limited(res) && !slices.ContainsFunc(c.rec.Cgroups, func(dir string) bool { return len(values[dir]) > 0 }) {
		return nil, status.Errorf(codes.FailedPrecondition, "container %q was started without limits, or limits are not enforced on this machine: they can not be set while it runs", c.config.GetMetadata().GetName())
	}
	for dir, values := range values {
		var failed error
		// The old kernels want the larger of two limits changed first; trying
		// twice does it in either order.
		for range 2 {
			failed = nil
			for _, v := range values {
				if err := os.WriteFile(filepath.Join(dir, v.File), []byte(v.Value), 0); err != nil && !errors.Is(err, fs.ErrNotExist) && !strings.Contains(v.File, "memsw") {
					failed = err
				}
			}
		}
		if failed != nil {
			return nil, status.Errorf(codes.Internal, "changing limits: %v", failed)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.resources = res
	return &runtimeapi.UpdateContainerResourcesResponse{}, nil
}

// removeCgroups removes what a shim that was killed could not.
func removeCgroups(dirs []string) {
	for _, dir := range dirs {
		for range 100 {
			err := os.Remove(dir)
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				break
			}
			time.Sleep(5 * time.Millisecond) //nolint:forbidigo // the last process is on its way out, and nobody comes back for what stays
		}
	}
}

// removeEmpty removes the directories that hold the containers' cgroups, when
// none is left.
func (cg cgroups) removeEmpty() {
	if cg.unified != "" {
		_ = os.Remove(cg.unified)
	}
	for _, dir := range cg.v1 {
		_ = os.Remove(dir)
	}
}

// killCgroup kills all processes of a cgroup.
func killCgroup(dir string) {
	if os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0) == nil {
		return
	}
	for _, pid := range cgroupProcesses(dir) {
		shim.SignalIf(pid, unix.SIGKILL, func() bool { return slices.Contains(cgroupProcesses(dir), pid) })
	}
}

// cgroupProcesses lists the processes of a cgroup.
func cgroupProcesses(dir string) []int {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil
	}
	var pids []int
	for f := range strings.FieldsSeq(string(b)) {
		if pid, err := strconv.Atoi(f); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
