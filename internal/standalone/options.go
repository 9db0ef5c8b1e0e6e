// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/node"
)

// Options are the choices of a caller of New. One of DataDir and Ephemeral is required.
type Options struct {
	// DataDir holds everything that outlives a start. It is made with mode 0700.
	DataDir string

	// Ephemeral keeps the state in a directory of its own that Close removes with everything in it, Pods included.
	// DataDir is then empty.
	Ephemeral bool

	// Listen is the host:port of the API server. Port 0, and the empty string, mean a free port of the loopback
	// interface, the same at every start with the same DataDir if it is still free.
	Listen string

	// RuntimeEndpoint is the unix:// address of a CRI runtime that runs real images. Empty means the built-in one,
	// which needs nothing installed.
	RuntimeEndpoint string

	// LocalFiles has every container run on this machine's files, whatever image it names.
	LocalFiles bool

	// ImageDir is where images are kept. Empty means the directory that all planes of this user share.
	ImageDir string

	// ImageCacheBytes is how much images may take there: after each pull, those that nothing has used for longest go
	// until it is less. 0 means the default, less than 0 no bound.
	ImageCacheBytes int64

	// RegistryMirrors are the addresses to ask before a registry, by its name: docker.io -> https://mirror.example.
	RegistryMirrors map[string][]string

	// PullProgress is told how far pulls of images are, by several goroutines at once. Nil means nobody listens.
	PullProgress func(PullProgress)

	// NodeName is the name of the Node. Empty means the name of the machine at the first start on DataDir.
	NodeName string

	// DrainTimeout, when it is not 0, lets each Pod have its own terminationGracePeriodSeconds to end at Close, this
	// long at most. Otherwise containers have about a second.
	DrainTimeout time.Duration

	// EvictionHard are the kubelet's thresholds below which Pods are evicted, such as "nodefs.available": "1Gi". Nil
	// means what keeps the store alive; empty means none.
	EvictionHard map[string]string

	// MetricsAddr is the host:port on which metrics are served, over TLS and to those alone whom the API server lets
	// get the path /metrics. No host means loopback and port 0 a free port; empty and "0" mean nowhere.
	MetricsAddr string

	// PIDsMax is how many processes and threads a container may have at once, where cgroups can be written. 0 means
	// DefaultPIDsMax, -1 any number.
	PIDsMax int64

	// SigningDuration is how long certificates live; they are renewed while the plane runs. 0 means a year.
	SigningDuration time.Duration

	// Syncs is how much each controller works on at the same time.
	Syncs manager.Syncs

	// QuotaBackendBytes is how large the store may become; 0 means the control plane's default.
	QuotaBackendBytes int64

	// EventTTL is how long events are kept; 0 means the control plane's default.
	EventTTL time.Duration

	// Keep is how much is remembered of runs that have ended, in the data directory; nil means DefaultKeep. Of what
	// runs on an Ephemeral plane nothing is.
	Keep *Keep

	// Verbosity is how much the log says, 0 to 10.
	Verbosity int

	// Warn is told what the user should look at while the plane runs; the log has it too. It is called from one
	// goroutine at a time. Nil means nobody listens.
	Warn func(message string)

	// Progress is told after each step of Start, and of the way from there to Ready, what was done and how long it
	// took. It is called from one goroutine at a time. Nil means nobody listens.
	Progress func(step string, took time.Duration)
}

// PullProgress is how far the pull of an image is, and that it has ended.
type PullProgress = node.PullProgress

// MaxDrainTimeout is the largest Options.DrainTimeout.
const MaxDrainTimeout = node.MaxDrainTimeout

// stopGrace is what containers get to end after SIGTERM at a Close without a DrainTimeout.
const stopGrace = time.Second

// DefaultPIDsMax is how many processes and threads a container has at most when nobody says otherwise.
const DefaultPIDsMax = node.DefaultPIDsMax

func (o Options) complete() (Options, error) {
	switch {
	case o.Ephemeral && o.DataDir != "":
		return o, errors.New("standalone: an ephemeral plane has no data directory to keep: leave DataDir empty")
	case o.DrainTimeout < 0 || o.DrainTimeout > MaxDrainTimeout:
		return o, fmt.Errorf("standalone: a drain timeout of %s is not between 0s and %s", o.DrainTimeout, MaxDrainTimeout)
	case !o.Ephemeral && o.DataDir == "":
		return o, errors.New("standalone: no data directory given")
	}
	if o.DataDir != "" {
		dir, err := filepath.Abs(o.DataDir)
		if err != nil {
			return o, fmt.Errorf("standalone: data directory %q: %w", o.DataDir, err)
		}
		o.DataDir = dir
	}
	if o.Keep == nil {
		o.Keep = new(DefaultKeep())
	}
	if o.Keep.Runs < 0 {
		return o, fmt.Errorf("standalone: runs cannot be kept for %s: 0 is for ever", o.Keep.Runs)
	}
	o.Warn = warnSerialised(o.Warn)
	if o.Progress == nil {
		o.Progress = func(string, time.Duration) {}
	}
	return o, nil
}

// warnSerialised lets several parts warn.
func warnSerialised(warn func(string)) func(string) {
	if warn == nil {
		return func(string) {}
	}
	var mu sync.Mutex
	return func(message string) {
		mu.Lock()
		defer mu.Unlock()
		warn(message)
	}
}

// controlPlane is what of the options is the control plane's, with its state in dir.
func (o Options) controlPlane(dir string) controlplane.Options {
	return controlplane.Options{
		DataDir: datadir.ControlPlane(dir), Kubeconfig: datadir.Kubeconfig(dir), LogFile: datadir.Log(dir),
		Listen: o.Listen, Ephemeral: o.Ephemeral, Verbosity: o.Verbosity, Warn: o.Warn,
		SigningDuration: o.SigningDuration, QuotaBackendBytes: o.QuotaBackendBytes, EventTTL: o.EventTTL,
	}
}
