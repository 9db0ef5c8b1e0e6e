// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/util/oom"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
)

// hostResolvConf is where containers with a network of their own get their name
// servers from.
const hostResolvConf = "/etc/resolv.conf"

// kubeletServer is the kubelet's configuration for a node that is one process
// on one machine. address is the host:port it serves on, endpoint that of the
// container runtime.
func kubeletServer(o *Options, address, endpoint string, events bool) (*options.KubeletServer, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, err
	}
	server, err := options.NewKubeletServer()
	if err != nil {
		return nil, fmt.Errorf("kubelet configuration: %w", err)
	}

	server.HostnameOverride = o.Name
	server.RootDirectory = kubeletDir(o.DataDir)
	server.CertDirectory = filepath.Join(o.DataDir, "pki")
	// Clients are injected, but an empty path would switch the API server off.
	server.KubeConfig = "injected"
	// Leaves the Node's addresses to register.
	server.CloudProvider = "external"

	server.Address, server.Port = host, int32(port)
	server.ReadOnlyPort, server.HealthzPort = 0, 0
	server.TLSCertFile, server.TLSPrivateKeyFile = o.ServingCert, o.ServingKey
	server.Authentication.X509.ClientCAFile = o.ClientCA
	server.Authentication.Anonymous.Enabled = false
	server.Authentication.Webhook.Enabled = true
	server.Authorization.Mode = kubeletconfig.KubeletAuthorizationModeWebhook
	// What is for looking into a machine from afar has no place here.
	server.EnableSystemLogHandler = false
	server.EnableProfilingHandler = false
	server.EnableDebugFlagsHandler = false

	server.ContainerRuntimeEndpoint = endpoint
	server.PodLogsDir = logsDir(o.DataDir)
	server.VolumePluginDir = filepath.Join(o.DataDir, "volume-plugins")
	server.MaxPods = int32(o.MaxPods)
	// How many ended containers, with their logs, are kept of each one in a Pod.
	// With upstream's one, the log of a failed attempt is gone when the next has
	// ended as quickly, before anybody could read it.
	server.MaxPerPodContainerCount = 10
	server.SerializeImagePulls = false
	// 0 is no limit: without it a burst of Pods with a ":latest" image ends in
	// ImagePullBackOff although nothing is pulled.
	server.RegistryPullQPS = 0
	// Deleting images is left to the owner of their runtime.
	server.ImageGCHighThresholdPercent = 100

	// No cgroups of the kubelet's own, on any cgroup version, with swap or
	// without: see containerManager.
	server.CgroupsPerQOS = false
	server.EnforceNodeAllocatable = []string{}
	server.FailCgroupV1 = false
	server.FailSwapOn = false

	// Pods that write more than they may are evicted, and so is the one that
	// writes most when the disk gets full. See diskGuard for what is faster.
	server.LocalStorageCapacityIsolation = true
	server.EvictionHard = o.EvictionHard
	server.EvictionPressureTransitionPeriod = metav1.Duration{Duration: pressureTransition}
	server.VolumeStatsAggPeriod = metav1.Duration{Duration: volumeStatsPeriod}

	// A container that names no seccomp profile gets the runtime's own.
	server.KubeletConfiguration.SeccompDefault = true

	server.MakeIPTablesUtilChains = false
	server.EnableControllerAttachDetach = false
	server.ClusterDNS, server.ResolverConfig = nameServers(hostResolvConf)
	server.EventRecordQPS = 0
	server.MaxOpenFiles = openFilesLimit()

	if o.RuntimeEndpoint == "" {
		// The built-in runtime's container events make the end of a process
		// known at once, in place of with the next listing of all containers.
		// Other runtimes send each event once, with which the kubelet is slower
		// than without and can start a container twice.
		//
		// With the runtime's handler in its questions about images, RuntimeClass
		// host needs none, whatever the pull policy.
		server.FeatureGates = map[string]bool{"EventedPLEG": events, "RuntimeClassInImageCriApi": true}
	}
	return server, nil
}

// usesEvents tells whether the kubelet can use container events when it finds so many sandboxes and containers at its
// start. It queues an event for each of the first listing, a thousand at most, and with a full queue it does nothing any
// more, for ever, if container events are in use. Without them it makes do with what it lists each second.
func usesEvents(found int) bool { return found < 800 }

// nameServers gives Pods with a network of their own the machine's name
// servers, as those of the cluster that there is not. Without any the kubelet
// warns in an event of each Pod. resolvConf is returned when it can be read,
// and empty otherwise.
func nameServers(resolvConf string) (servers []string, file string) {
	data, err := os.ReadFile(resolvConf)
	if err == nil {
		file = resolvConf
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		// The kubelet takes no zone (fe80::1%eth0), and three at most count.
		if len(fields) >= 2 && fields[0] == "nameserver" && net.ParseIP(fields[1]) != nil && len(servers) < 3 {
			servers = append(servers, fields[1])
		}
	}
	if len(servers) == 0 {
		servers = []string{"127.0.0.1"}
	}
	return servers, file
}

// kubeletDependencies is what the kubelet is built from in place of its own
// cAdvisor, cgroups, mounts and clients.
func kubeletDependencies(ctx context.Context, o *Options, server *options.KubeletServer, stats *machineStats, clients *clients, recorder record.EventRecorderLogger, mounter mounter, rights rights) (*kubelet.Dependencies, error) {
	tlsOptions, err := app.InitializeTLS(ctx, &server.KubeletFlags, &server.KubeletConfiguration)
	if err != nil {
		return nil, fmt.Errorf("serving certificate of the kubelet: %w", err)
	}
	plugins, err := app.ProbeVolumePlugins(ctx, utilfeature.DefaultFeatureGate)
	if err != nil {
		return nil, fmt.Errorf("volume plugins: %w", err)
	}

	var refuse *refuser
	if !rights.chown {
		refuse = &refuser{uid: int64(os.Geteuid()), gid: int64(os.Getegid()), localFiles: o.LocalFiles || o.RuntimeEndpoint != "", othersRuntime: o.RuntimeEndpoint != ""}
		groups, err := os.Getgroups()
		if err != nil {
			return nil, fmt.Errorf("the groups of this process: %w", err)
		}
		for _, g := range groups {
			refuse.groups = append(refuse.groups, int64(g))
		}
		plugins = withoutOwners(plugins, refuse.member)
	}
	deps := &kubelet.Dependencies{
		KubeClient:        clients.kube,
		HeartbeatClient:   clients.heartbeat,
		EventClient:       clients.events.CoreV1(),
		CAdvisorInterface: stats,
		ContainerManager:  newContainerManager(stats, refuse, o.RuntimeEndpoint != ""),
		OOMAdjuster:       oom.NewFakeOOMAdjuster(),
		OSInterface:       quietOS{},
		HostUtil:          hostUtil{hostutil.NewHostUtil()},
		Mounter:           mounter,
		Subpather:         plainSubpath{},
		VolumePlugins:     plugins,
		TLSOptions:        tlsOptions,
	}
	if rights.mount {
		deps.Subpather = subpath.New(mounter)
	}
	if o.RuntimeEndpoint == "" {
		deps.Options = append(deps.Options, func(k *kubelet.Kubelet) {
			go newRelister(k.RequestPodRelist).watch(ctx, clients.kube, o.Name)
		})
	}
	skipKernelLog(deps, recorder)
	return deps, nil
}

// errStopped is what runKubelet says when the kubelet ended unasked.
var errStopped = errors.New("the kubelet stopped by itself")

// runKubelet runs the kubelet until ctx ends; then it returns nil. Much of the
// kubelet goes on in the background after that: see Node.Close.
func runKubelet(ctx context.Context, server *options.KubeletServer, deps *kubelet.Dependencies) error {
	err := app.Run(ctx, server, deps, utilfeature.DefaultFeatureGate)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	return errStopped
}
