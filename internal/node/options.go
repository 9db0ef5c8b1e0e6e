// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

// DefaultMaxPods is how many Pods run at once when Options.MaxPods is 0. More
// Pods than this wait as Pending.
const DefaultMaxPods = 250

// ReasonDiskPressure is the reason of the Warning on the Node when the disk of
// DataDir has less left than is kept free for the store.
const ReasonDiskPressure = "NodeHasDiskPressure"

// MaxDrainTimeout is the largest Options.DrainTimeout: nobody waits for longer.
const MaxDrainTimeout = 30 * 24 * time.Hour

// DefaultPIDsMax is the most processes and threads of a container when
// Options.PIDsMax is 0: enough for a large Java program or a parallel build,
// and a machine stays usable on which a container forks without end.
const DefaultPIDsMax = 4096

// Options is what a Node is told. All paths are absolute.
type Options struct {
	// Name of the Node object: a DNS-1123 subdomain of at most 63 characters.
	Name string

	// DataDir belongs to the node alone; it is made, mode 0700, when missing.
	// It must be ASCII and short enough for unix sockets inside it.
	DataDir string

	// Client reaches the API server as system:node:<Name>. The node copies it
	// and adds a dialer of its own, so Client.Dial and Client.Transport must be
	// nil.
	Client *rest.Config

	// Admin, when not nil, is used once at Start to create the RuntimeClasses
	// that the built-in runtime serves. A nil Admin means that the caller
	// applies RuntimeClasses() itself.
	Admin *rest.Config

	// ServingCert and ServingKey are PEM files for the kubelet's server, and
	// ClientCA the PEM file of the authority that signs its clients.
	ServingCert, ServingKey, ClientCA string

	// Listen is the host:port of the kubelet's server; empty means a free port
	// on 127.0.0.1. Port 0 means a free port. The host is an IP address.
	Listen string

	// RuntimeEndpoint is the unix:// address of a CRI runtime. Empty means the
	// built-in runtime, whose containers are local processes.
	RuntimeEndpoint string

	// APIServer is the host:port that containers of the built-in runtime find
	// in KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. Empty leaves the
	// variables as the kubelet sets them.
	APIServer string

	// Hidden lists directories that containers of the built-in runtime see
	// empty, besides DataDir: keys and stores of the rest of the program. Pods
	// of RuntimeClass "host" see them as they are.
	Hidden []string

	// EvictionHard are the kubelet's thresholds below which it evicts Pods, by
	// signal: "nodefs.available": "1Gi". Nil means the default, which keeps the
	// store on the disk of DataDir alive; empty means none.
	EvictionHard map[string]string

	// PIDsMax is the most processes and threads of a container of the built-in
	// runtime; 0 means DefaultPIDsMax, -1 any number. It needs cgroups.
	PIDsMax int64

	// LocalFiles has every container of the built-in runtime run on this
	// machine's files, whatever image it names.
	LocalFiles bool

	// ImageDir is where the built-in runtime keeps images; empty means the
	// directory that all of this user's share. It is made when it is needed.
	ImageDir string

	// ImageCacheBytes is how much images may take there, those in use apart; 0
	// means the default, less than 0 no bound.
	ImageCacheBytes int64

	// RegistryMirrors are the addresses to ask before a registry, by its name.
	RegistryMirrors map[string][]string

	// PullProgress is told how far pulls are, by several goroutines at once. Nil
	// means nobody listens.
	PullProgress func(PullProgress)

	// Ended is called with the end of each container of the built-in runtime
	// before the kubelet sees it; at the start, with those that came while no
	// node ran. After an error it is called again at the next start, and it may
	// be called twice for one container, which must do no harm. Containers' ends
	// wait for it, so it must be quick. Several goroutines call it at once. Nil
	// means that nobody asks.
	Ended func(ContainerEnd) error

	// MaxPods is the most Pods at once; 0 means DefaultMaxPods.
	MaxPods int

	// StopGrace is how long containers may take to end after SIGTERM when the
	// node is closed, before they are killed; 0 means two seconds. Only the
	// built-in runtime's containers are stopped.
	StopGrace time.Duration

	// DrainTimeout, when it is not 0, gives the containers of each Pod the Pod's
	// own terminationGracePeriodSeconds when the node is closed, DrainTimeout at
	// most, in place of StopGrace.
	DrainTimeout time.Duration

	// KeepContainers leaves the containers running when the node is closed.
	// The next node on the same DataDir takes them over, as it does after a
	// crash.
	KeepContainers bool

	// EndWithProcess ends the built-in runtime's containers with this process, even when
	// it is killed: for a plane that nobody will start again. It excludes
	// KeepContainers.
	EndWithProcess bool

	// Logger receives what the kubelet and the runtime say; the zero value
	// drops it.
	Logger logr.Logger
}

// PullProgress is how far the pull of an image is.
type PullProgress struct {
	// Image is the name as people write it.
	Image string
	// Layers is how many layers the image has, LayersDone how many are here.
	Layers, LayersDone int
	// Bytes is what has to be downloaded, BytesDone how much of it is here.
	Bytes, BytesDone int64
	// Ended is that nothing more will be told of the pull, and Err why it failed.
	Ended bool
	Err   error
}

// complete fills in defaults and reports every value that cannot work. It
// touches nothing on disk.
func (o *Options) complete() error {
	if o.MaxPods == 0 {
		o.MaxPods = DefaultMaxPods
	}
	if o.PIDsMax == 0 {
		o.PIDsMax = DefaultPIDsMax
	}
	if o.StopGrace == 0 {
		o.StopGrace = 2 * time.Second
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	return errors.Join(
		checkName(o.Name),
		CheckDataDir(o.DataDir),
		checkClient(o.Client),
		checkFile("ServingCert", o.ServingCert),
		checkFile("ServingKey", o.ServingKey),
		checkFile("ClientCA", o.ClientCA),
		checkListen(o.Listen),
		checkEndpoint(o.RuntimeEndpoint),
		checkAPIServer(o.APIServer),
		checkEndWithProcess(o.EndWithProcess, o.KeepContainers),
		checkRange("MaxPods", o.MaxPods, 1, 10_000),
		checkPeriod("StopGrace", o.StopGrace, time.Hour),
		checkPeriod("DrainTimeout", o.DrainTimeout, MaxDrainTimeout),
		checkRange("PIDsMax", int(o.PIDsMax), -1, math.MaxInt32),
	)
}

func checkName(name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("node name %q: %s", name, strings.Join(problems, "; "))
	}
	// The name is also the value of the label kubernetes.io/hostname.
	if problems := validation.IsValidLabelValue(name); len(problems) > 0 {
		return fmt.Errorf("node name %q: %s", name, strings.Join(problems, "; "))
	}
	return nil
}

// maxSocketPath is the longest path a unix socket can be bound to: 108 bytes
// with the closing NUL.
const maxSocketPath = 107

// CheckDataDir reports why a directory cannot hold a node's state: its path must be absolute, clean, printable ASCII
// and short enough for the sockets in it. It touches nothing.
func CheckDataDir(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("data directory %q of the node is not an absolute path", dir)
	}
	if filepath.Clean(dir) != dir {
		return fmt.Errorf("data directory %q of the node is not in its shortest form; use %q", dir, filepath.Clean(dir))
	}
	for _, r := range dir {
		if r < ' ' || r > '~' {
			return fmt.Errorf("data directory %q has the character %q, but the kubelet takes printable ASCII paths only: choose another data directory", dir, r)
		}
	}
	longest := podResourcesSocket(dir)
	if over := len(longest) - maxSocketPath; over > 0 {
		return fmt.Errorf("data directory %q is %d characters too long for the sockets inside it: choose a shorter data directory", dir, over)
	}
	return nil
}

func checkClient(config *rest.Config) error {
	if config == nil {
		return errors.New("a node needs a client configuration for the API server (Options.Client)")
	}
	if config.Dial != nil || config.Transport != nil {
		return errors.New("the client configuration of a node must have neither Dial nor Transport set: the node sets its own")
	}
	return nil
}

func checkFile(what, path string) error {
	if path == "" {
		return fmt.Errorf("a node needs %s, the path of a PEM file", what)
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%s of the node: %w", what, err)
	}
	return nil
}

func checkListen(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen address of the kubelet: %w", err)
	}
	if net.ParseIP(host) == nil {
		return fmt.Errorf("listen address of the kubelet: %q is not an IP address", host)
	}
	return nil
}

func checkEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	path, ok := strings.CutPrefix(endpoint, "unix://")
	if !ok || !filepath.IsAbs(path) {
		return fmt.Errorf("container runtime endpoint %q is not of the form unix:///path/to/socket", endpoint)
	}
	return nil
}

func checkAPIServer(address string) error {
	if address == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("API server address for Pods: %w", err)
	}
	return nil
}

func checkEndWithProcess(end, keep bool) error {
	if end && keep {
		return errors.New("containers of a node cannot both end with the process (EndWithProcess) and outlive it (KeepContainers)")
	}
	return nil
}

func checkPeriod(what string, value, most time.Duration) error {
	if value < 0 || value > most {
		return fmt.Errorf("%s of the node is %v, outside 0s to %v", what, value, most)
	}
	return nil
}

func checkRange(what string, value, low, high int) error {
	if value < low || value > high {
		return fmt.Errorf("%s of the node is %d, outside %d to %d", what, value, low, high)
	}
	return nil
}

// podResourcesSocket is the longest socket path that the kubelet makes under a
// node's data directory.
func podResourcesSocket(dataDir string) string {
	return filepath.Join(kubeletDir(dataDir), "pod-resources", "kubelet.sock")
}

// kubeletDir is the kubelet's root directory: volumes and its checkpoints.
func kubeletDir(dataDir string) string { return filepath.Join(dataDir, "kubelet") }

// logsDir holds the containers' logs, a directory per Pod.
func logsDir(dataDir string) string { return filepath.Join(dataDir, "logs") }

// runtimeDir is where the built-in runtime keeps containers and their state.
func runtimeDir(dataDir string) string { return filepath.Join(dataDir, "process") }

// runtimeSocket is where the built-in runtime serves CRI.
func runtimeSocket(dataDir string) string { return filepath.Join(dataDir, "cri.sock") }
