// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manager runs the controllers: it builds the controller-runtime manager with an explicit list of them, and
// gives it leadership, health and metrics.
//
//	m, err := manager.New(manager.Options{Config: config, LeaderElect: true})
//	go func() { errs <- m.Start(ctx) }()
//	<-m.Ready()
//
// Several managers may live in one process, one after the other or at once.
package manager

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	apiversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/carillon-dev/carillon/internal/controller/job"
	"github.com/carillon-dev/carillon/internal/controller/scheduled"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kube/fence"
	"github.com/carillon-dev/carillon/internal/kube/loadgate"
	"github.com/carillon-dev/carillon/internal/version"
)

const (
	// LeaseName is the lease that managers of one installation contend for.
	LeaseName = "carillon-manager"
	// noAddress is controller-runtime's word for an endpoint that is not served.
	noAddress = "0"
	// oldest is the oldest API server that is supported.
	oldest = "1.32.0"
	// reachTimeout bounds the first call, so that a wrong address is reported soon.
	reachTimeout = 10 * time.Second
	// stopTimeout bounds the wait for controllers that finish what they are at.
	stopTimeout = 15 * time.Second
)

// Options configure a Manager. Only Config is required.
type Options struct {
	// Config says how to reach the API server. It is copied; client-side rate limits in it are lifted, because they
	// make starts late, and priority and fairness of the server does their job better.
	Config *rest.Config
	// Controllers are the names of those to run, see Names. Nil: all of them when Standalone, else DefaultControllers.
	Controllers []string
	// Kinds are the kinds of CronJob that the cronjob controller serves; nil: all when Standalone, else kind.Default.
	Kinds []kind.Kind
	// TimetableMinInterval is how close two times of one schedule of a Timetable may be; 0: the default.
	TimetableMinInterval time.Duration
	// Standalone: there is no other Job controller on this plane, so every Job is ours, and not only those that name
	// us in spec.managedBy.
	Standalone bool
	// LeaderElect makes managers of one installation agree, by a lease, on one that works.
	LeaderElect bool
	// LeaderElectionNamespace holds the lease; "" is the namespace of the pod that we run in.
	LeaderElectionNamespace string
	// MetricsAddr and HealthAddr are host:port of the endpoints /metrics, and /healthz and /readyz. "" and "0": none.
	MetricsAddr string
	HealthAddr  string
	// MetricsInsecure serves /metrics in clear text and to everybody who can connect; MetricsAddr must then be of the
	// loopback interface. Otherwise it is served over TLS, to those whom the API server authenticates and authorizes.
	MetricsInsecure bool
	// MetricsCertFile and MetricsKeyFile are the certificate and key of /metrics in PEM, read again when they change;
	// both empty: a self-signed certificate.
	MetricsCertFile string
	MetricsKeyFile  string
	// Logger is where all of it logs; the zero Logger is silent.
	Logger logr.Logger
	// Clock tells the time; nil: the real one.
	Clock clock.Clock
	// Zone is the zone of schedules that name none; nil: that of the process.
	Zone *time.Location
	// Witness remembers runs beyond the life of their objects; nil: nobody does.
	Witness Witness
	// Syncs is how much is worked on at the same time.
	Syncs Syncs
	// TakeoverAfter is how long another controller of a kind must have been silent to count as gone; 0: the default.
	TakeoverAfter time.Duration
	// Discovery is how often the API of a kind that is not served is looked for; 0: the default.
	Discovery time.Duration
}

// Witness is told of runs what their objects do not tell, and asked before those that have ended are deleted.
type Witness = scheduled.Witness

// Manager is a set of controllers with a life.
type Manager struct {
	manager ctrl.Manager
	needs   []client.Object // types whose caches must be filled before it is ready
	ready   chan struct{}
	log     logr.Logger
	paused  pausedKinds
}

// New checks the options, finds out whether the API server can be reached, and sets the controllers up. Nothing runs
// before Start.
func New(options Options) (*Manager, error) {
	names, err := selected(options)
	if err != nil {
		return nil, err
	}
	if options.Config == nil {
		return nil, fmt.Errorf("manager: no API server given; set Options.Config")
	}
	if err := options.Syncs.validate(); err != nil {
		return nil, err
	}
	if options.Kinds == nil {
		if options.Kinds, err = kind.Select(kind.Default); err != nil {
			return nil, fmt.Errorf("manager: %w", err)
		}
		if options.Standalone {
			options.Kinds = kind.All
		}
	}
	if options.Logger.GetSink() == nil {
		options.Logger = logr.Discard()
	}
	log.SetLogger(options.Logger)
	options.Clock = cmp.Or[clock.Clock](options.Clock, clock.RealClock{})
	metrics, certificate, err := options.metrics()
	if err != nil {
		return nil, err
	}
	cfg := clientConfig(options.Config)
	if err := reach(cfg, options.Logger); err != nil {
		return nil, err
	}

	limits := fence.New(fence.Now)
	cfg.Wrap(limits.Transport)
	lock, publish, err := leaseLock(cfg, options, limits)
	if err != nil {
		return nil, err
	}

	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, batchv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("manager: %w", err)
		}
	}
	m := &Manager{ready: make(chan struct{}), log: options.Logger}
	m.manager, err = ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                              scheme,
		Logger:                              options.Logger,
		LeaderElection:                      options.LeaderElect,
		LeaderElectionID:                    LeaseName,
		LeaderElectionResourceLockInterface: lock,
		LeaseDuration:                       ptr.To(fence.LeaseDuration),
		RenewDeadline:                       ptr.To(fence.RenewDeadline),
		RetryPeriod:                         ptr.To(fence.RetryPeriod),
		LeaderElectionReleaseOnCancel:       true, // the lock waits until it is safe
		Metrics:                             metrics,
		HealthProbeBindAddress:              cmp.Or(options.HealthAddr, noAddress),
		GracefulShutdownTimeout:             ptr.To(stopTimeout),
		Cache: cache.Options{
			DefaultTransform: scheduled.Trim(options.Kinds...),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.Pod{}:  {Transform: job.TrimPod},
				&batchv1.Job{}: {Transform: options.trimJob(names)},
			},
		},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		return nil, fmt.Errorf("manager: %w", err)
	}
	publish(m.manager)
	if err := m.addControllers(names, options); err != nil {
		return nil, err
	}
	if certificate != nil {
		if err := m.manager.Add(certificate); err != nil {
			return nil, fmt.Errorf("manager: %w", err)
		}
	}
	if err := m.manager.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("manager: %w", err)
	}
	if err := m.manager.AddReadyzCheck("controllers", m.isReady); err != nil {
		return nil, fmt.Errorf("manager: %w", err)
	}
	if err := m.manager.AddReadyzCheck("kinds", m.paused.check); err != nil {
		return nil, fmt.Errorf("manager: %w", err)
	}
	return m, nil
}

func (m *Manager) addControllers(names []string, options Options) error {
	shared := shared{gate: loadgate.New(clock.RealClock{}), pauseChanged: m.paused.set}
	needs := map[string]client.Object{}
	for _, name := range names {
		c := controllers[name]
		if err := c.add(m.manager, options, shared); err != nil {
			return fmt.Errorf("manager: controller %s: %w", name, err)
		}
		for _, obj := range c.needs {
			needs[fmt.Sprintf("%T", obj)] = obj
		}
	}
	m.needs = slices.Collect(maps.Values(needs))
	m.log.Info("Controllers set up", "controllers", strings.Join(names, ","), "version", version.String())
	return nil
}

// Start runs the controllers until ctx ends; it may be called once. It returns nil after an orderly end, and an error
// when leadership is lost or something cannot run.
func (m *Manager) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go m.becomeReady(ctx)
	if err := m.manager.Start(ctx); err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	return nil
}

// Ready is closed once this process leads, if it has to, and its caches are filled: from then on it acts on events.
func (m *Manager) Ready() <-chan struct{} { return m.ready }

func (m *Manager) becomeReady(ctx context.Context) {
	select {
	case <-m.manager.Elected():
	case <-ctx.Done():
		return
	}
	for _, obj := range m.needs {
		if _, err := m.manager.GetCache().GetInformer(ctx, obj); err != nil { // waits until it is filled
			if ctx.Err() == nil {
				m.log.Error(err, "Cannot fill the cache; this manager will not become ready", "type", fmt.Sprintf("%T", obj))
			}
			return
		}
	}
	m.log.Info("Controllers are ready")
	close(m.ready)
}

func (m *Manager) isReady(*http.Request) error {
	select {
	case <-m.ready:
		return nil
	default:
	}
	select {
	case <-m.manager.Elected():
		return fmt.Errorf("the caches are not filled yet")
	default:
		return fmt.Errorf("another manager holds the lease %s", LeaseName)
	}
}

// clientConfig is the configuration of all our clients: as given, without limits of its own, and in the encoding that
// suits each type (protobuf for those that have it, JSON for custom resources).
func clientConfig(given *rest.Config) *rest.Config {
	cfg := rest.CopyConfig(given)
	cfg.QPS, cfg.Burst, cfg.RateLimiter = -1, 0, nil
	cfg.ContentType, cfg.AcceptContentTypes = "", ""
	if cfg.UserAgent == "" {
		cfg.UserAgent = "carillon-manager/" + version.String()
	}
	return cfg
}

// reach asks the API server for its version, to report a wrong address or missing credentials in plain words before
// anything else does.
func reach(cfg *rest.Config, log logr.Logger) error {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = reachTimeout
	c, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return fmt.Errorf("manager: the configuration for API server %s is not usable: %w", cfg.Host, err)
	}
	info, err := c.ServerVersion()
	if apierrors.IsForbidden(err) {
		return nil // it can be reached; what else is forbidden will show
	}
	if err != nil {
		return fmt.Errorf("manager: cannot reach the API server at %s: %w; check --kubeconfig and --context, and that the server is up", cfg.Host, err)
	}
	server, err := apiversion.ParseGeneric(info.GitVersion)
	if err == nil && server.LessThan(apiversion.MustParseGeneric(oldest)) {
		log.Info("The API server is older than what is supported; some things may not work", "server", info.GitVersion, "oldest", oldest)
	}
	return nil
}
