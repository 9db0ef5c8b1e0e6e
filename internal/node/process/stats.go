// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// usage remembers the last look at each container's CPU time, from which the
// present rate comes.
type usage struct {
	mu   sync.Mutex
	last map[string]cpuSample
}

type cpuSample struct {
	at    time.Time
	total uint64 // ns
	rate  uint64 // ns per second
}

func (u *usage) forget(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.last, id)
}

// rate returns the CPU time used per second since the look before.
func (u *usage) rate(id string, now time.Time, total uint64) uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = map[string]cpuSample{}
	}
	before, ok := u.last[id]
	if ok && now.Sub(before.at) < 100*time.Millisecond {
		return before.rate // too close together to say anything
	}
	s := cpuSample{at: now, total: total}
	if ok && total >= before.total {
		s.rate = uint64(float64(total-before.total) / now.Sub(before.at).Seconds())
	}
	u.last[id] = s
	return s.rate
}

// clockTick is the unit of times in /proc, which Linux fixes at 1/100 s for
// programs.
const clockTick = 10 * time.Millisecond

// processUse is what a set of processes uses.
type processUse struct {
	cpu    uint64 // ns, with that of children that ended
	rss    uint64 // bytes
	faults uint64
	major  uint64
	count  uint64
}

// usageOf adds up the processes of a container. The shim is the parent of all,
// so what ended is in the times of its children; its own are left out.
func usageOf(shimPID int, tree shim.Processes) processUse {
	var u processUse
	add := func(pid int, own bool) {
		stat, err := shim.ReadProcessStat(pid)
		if err != nil || !tree.Has(pid, stat.StartTicks) {
			return // another process by now
		}
		// The numbers of proc_pid_stat(5).
		const minflt, cminflt, majflt, cmajflt, utime, stime, cutime, cstime, rssPages = 10, 11, 12, 13, 14, 15, 16, 17, 24
		ticks := stat.Field(cutime) + stat.Field(cstime)
		u.faults += stat.Field(cminflt)
		u.major += stat.Field(cmajflt)
		if own {
			ticks += stat.Field(utime) + stat.Field(stime)
			u.faults += stat.Field(minflt)
			u.major += stat.Field(majflt)
			u.rss += stat.Field(rssPages) * uint64(os.Getpagesize())
			u.count++
		}
		u.cpu += ticks * uint64(clockTick)
	}
	add(shimPID, false)
	for _, pid := range tree.Descendants(shimPID) {
		add(pid, true)
	}
	return u
}

// ContainerStats tells what a container uses.
func (r *Runtime) ContainerStats(_ context.Context, req *runtimeapi.ContainerStatsRequest) (*runtimeapi.ContainerStatsResponse, error) {
	c, err := r.container(req.GetContainerId())
	if err != nil {
		return nil, err
	}
	return &runtimeapi.ContainerStatsResponse{Stats: r.statsOf(c, shim.ProcessTree())}, nil
}

// ListContainerStats tells what running containers use.
func (r *Runtime) ListContainerStats(_ context.Context, req *runtimeapi.ListContainerStatsRequest) (*runtimeapi.ListContainerStatsResponse, error) {
	return &runtimeapi.ListContainerStatsResponse{Stats: r.listStats(req.GetFilter())}, nil
}

// StreamContainerStats sends what ListContainerStats returns.
func (r *Runtime) StreamContainerStats(req *runtimeapi.StreamContainerStatsRequest, stream runtimeapi.RuntimeService_StreamContainerStatsServer) error {
	return sendParts(r.listStats(req.GetFilter()), func(part []*runtimeapi.ContainerStats) error {
		return stream.Send(&runtimeapi.StreamContainerStatsResponse{ContainerStats: part})
	})
}

func (r *Runtime) listStats(f *runtimeapi.ContainerStatsFilter) []*runtimeapi.ContainerStats {
	r.mu.Lock()
	var list []*container
	for _, c := range r.containers {
		if c.state == stateRunning && strings.HasPrefix(c.rec.ID, f.GetId()) && strings.HasPrefix(c.rec.Sandbox, f.GetPodSandboxId()) && selects(f.GetLabelSelector(), c.config.GetLabels()) {
			list = append(list, c)
		}
	}
	r.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	tree := shim.ProcessTree()
	var stats []*runtimeapi.ContainerStats
	for _, c := range list {
		stats = append(stats, r.statsOf(c, tree))
	}
	return stats
}

func (r *Runtime) statsOf(c *container, tree shim.Processes) *runtimeapi.ContainerStats {
	now := time.Now()
	st := &runtimeapi.ContainerStats{
		Attributes: &runtimeapi.ContainerAttributes{Id: c.rec.ID, Metadata: c.config.GetMetadata(), Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations()},
	}
	size, inodes := layerBytes(c.dir)
	if id, err := shim.ReadIdentity(c.dir); err == nil && id.Alive() {
		size += rootMemory("/proc/" + strconv.Itoa(id.PID) + "/root")
	}
	st.WritableLayer = &runtimeapi.FilesystemUsage{
		Timestamp: now.UnixNano(), FsId: &runtimeapi.FilesystemIdentifier{Mountpoint: r.opts.RootDir},
		UsedBytes: &runtimeapi.UInt64Value{Value: size}, InodesUsed: &runtimeapi.UInt64Value{Value: inodes},
	}
	u, ok := r.useOf(c, tree)
	if !ok {
		return st
	}
	st.Cpu = cpuUsage(now, u.cpu, r.usage.rate(c.rec.ID, now, u.cpu))
	st.Memory = memoryUsage(now, u, c.resources.GetMemoryLimitInBytes())
	return st
}

func (r *Runtime) useOf(c *container, tree shim.Processes) (processUse, bool) {
	id, err := shim.ReadIdentity(c.dir)
	if err != nil || !id.Alive() {
		return processUse{}, false
	}
	return usageOf(id.PID, tree), true
}

func cpuUsage(now time.Time, total, rate uint64) *runtimeapi.CpuUsage {
	return &runtimeapi.CpuUsage{
		Timestamp:            now.UnixNano(),
		UsageCoreNanoSeconds: &runtimeapi.UInt64Value{Value: total},
		UsageNanoCores:       &runtimeapi.UInt64Value{Value: rate},
	}
}

func memoryUsage(now time.Time, u processUse, limit int64) *runtimeapi.MemoryUsage {
	m := &runtimeapi.MemoryUsage{
		Timestamp:       now.UnixNano(),
		WorkingSetBytes: &runtimeapi.UInt64Value{Value: u.rss},
		UsageBytes:      &runtimeapi.UInt64Value{Value: u.rss},
		RssBytes:        &runtimeapi.UInt64Value{Value: u.rss},
		PageFaults:      &runtimeapi.UInt64Value{Value: u.faults},
		MajorPageFaults: &runtimeapi.UInt64Value{Value: u.major},
	}
	if limit > 0 && uint64(limit) > u.rss {
		m.AvailableBytes = &runtimeapi.UInt64Value{Value: uint64(limit) - u.rss}
	}
	return m
}

// PodSandboxStats tells what the containers of a sandbox use together.
func (r *Runtime) PodSandboxStats(_ context.Context, req *runtimeapi.PodSandboxStatsRequest) (*runtimeapi.PodSandboxStatsResponse, error) {
	r.mu.Lock()
	s := r.sandboxes[req.GetPodSandboxId()]
	r.mu.Unlock()
	if s == nil {
		return nil, status.Errorf(codes.NotFound, "no sandbox %q", req.GetPodSandboxId())
	}
	return &runtimeapi.PodSandboxStatsResponse{Stats: r.sandboxStats(s, shim.ProcessTree())}, nil
}

// ListPodSandboxStats tells what ready sandboxes use.
func (r *Runtime) ListPodSandboxStats(_ context.Context, req *runtimeapi.ListPodSandboxStatsRequest) (*runtimeapi.ListPodSandboxStatsResponse, error) {
	return &runtimeapi.ListPodSandboxStatsResponse{Stats: r.listSandboxStats(req.GetFilter())}, nil
}

// StreamPodSandboxStats sends what ListPodSandboxStats returns.
func (r *Runtime) StreamPodSandboxStats(req *runtimeapi.StreamPodSandboxStatsRequest, stream runtimeapi.RuntimeService_StreamPodSandboxStatsServer) error {
	return sendParts(r.listSandboxStats(req.GetFilter()), func(part []*runtimeapi.PodSandboxStats) error {
		return stream.Send(&runtimeapi.StreamPodSandboxStatsResponse{PodSandboxStats: part})
	})
}

func (r *Runtime) listSandboxStats(f *runtimeapi.PodSandboxStatsFilter) []*runtimeapi.PodSandboxStats {
	r.mu.Lock()
	var list []*sandbox
	for _, s := range r.sandboxes {
		if !s.rec.Stopped && strings.HasPrefix(s.rec.ID, f.GetId()) && selects(f.GetLabelSelector(), s.config.GetLabels()) {
			list = append(list, s)
		}
	}
	r.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	tree := shim.ProcessTree()
	var stats []*runtimeapi.PodSandboxStats
	for _, s := range list {
		stats = append(stats, r.sandboxStats(s, tree))
	}
	return stats
}

func (r *Runtime) sandboxStats(s *sandbox, tree shim.Processes) *runtimeapi.PodSandboxStats {
	r.mu.Lock()
	var running []*container
	for _, c := range r.containersOf(s.rec.ID) {
		if c.state == stateRunning {
			running = append(running, c)
		}
	}
	r.mu.Unlock()
	now := time.Now()
	linux := &runtimeapi.LinuxPodSandboxStats{}
	var sum processUse
	var rate uint64
	for _, c := range running {
		linux.Containers = append(linux.Containers, r.statsOf(c, tree))
		if u, ok := r.useOf(c, tree); ok {
			sum.cpu += u.cpu
			sum.rss += u.rss
			sum.faults += u.faults
			sum.major += u.major
			sum.count += u.count
			rate += r.usage.rate(c.rec.ID, now, u.cpu)
		}
	}
	linux.Cpu = cpuUsage(now, sum.cpu, rate)
	linux.Memory = memoryUsage(now, sum, 0)
	linux.Process = &runtimeapi.ProcessUsage{Timestamp: now.UnixNano(), ProcessCount: &runtimeapi.UInt64Value{Value: sum.count}}
	return &runtimeapi.PodSandboxStats{
		Attributes: &runtimeapi.PodSandboxAttributes{Id: s.rec.ID, Metadata: s.config.GetMetadata(), Labels: s.config.GetLabels(), Annotations: s.config.GetAnnotations()},
		Linux:      linux,
	}
}

// rootMemory is what a container keeps in memory outside its volumes: an
// ordinary user's has a tmpfs for its root, which shows through where no overlay
// is. 0 for any other root, and for one that cannot be looked at.
func rootMemory(root string) uint64 {
	var st unix.Statfs_t
	if err := unix.Statfs(root, &st); err != nil || st.Type != unix.TMPFS_MAGIC || st.Bfree > st.Blocks {
		return 0
	}
	return (st.Blocks - st.Bfree) * uint64(st.Bsize)
}

// layerBytes is what a container has written outside its volumes: the space
// that it takes on the disk, a file with several names once.
func layerBytes(dir string) (size, inodes uint64) {
	linked := map[uint64]bool{}
	_ = filepath.WalkDir(filepath.Join(dir, shim.LayerDir), func(_ string, e os.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return nil
		}
		if st.Nlink > 1 && !info.IsDir() {
			if linked[st.Ino] {
				return nil
			}
			linked[st.Ino] = true
		}
		inodes++
		size += uint64(st.Blocks) * 512 // the unit of stat(2), whatever the filesystem's
		return nil
	})
	return size, inodes
}
