// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is the command line of the manager: `carillon manager`, and the program carillon-manager.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/memory"
	"github.com/carillon-dev/carillon/internal/version"
)

type flags struct {
	kubeconfig, context string
	controllers, kinds  []string
	syncs               manager.Syncs
	minInterval         time.Duration
	leaderElect         bool
	leaderNamespace     string
	metrics, health     string
	metricsSecure       bool
	certFile, keyFile   string
	logFormat           string
	verbose             int
}

// New returns the command under this name. It runs until the command's context ends.
func New(name string) *cobra.Command {
	f := flags{}
	c := &cobra.Command{
		Use:   name,
		Short: "Run the controllers against an existing cluster",
		Long: `Run the controllers against an existing cluster.

Without --kubeconfig the KUBECONFIG environment variable, ~/.kube/config, or the service account of the pod that it
runs in says which cluster. There, switch off the cluster's own cronjob controller first
(kube-controller-manager --controllers=*,-cronjob-controller); other kinds of CronJob are served when --kinds names
them. A kind that another controller is seen to work on is left to it until that is gone. Jobs are left to the cluster,
except for those with spec.managedBy: carillon.dev/job-controller.

Timetables take nothing over: --controllers=timetable serves them on any cluster, once the files of deploy/timetable and
their definitions in deploy/crds are applied.`,
		Example: "  " + name + " --context staging --leader-elect --leader-elect-namespace carillon",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.ErrOrStderr())
		},
	}
	c.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "path of the kubeconfig file")
	c.Flags().StringVar(&f.context, "context", "", "context of the kubeconfig to use, if not the current one")
	c.Flags().StringSliceVar(&f.controllers, "controllers", manager.DefaultControllers,
		"controllers to run, of: "+strings.Join(manager.Names(), ", "))
	c.Flags().StringSliceVar(&f.kinds, "kinds", kind.Default,
		"kinds of CronJob that the cronjob controller serves, of: "+strings.Join(kind.Names(), ", "))
	c.Flags().DurationVar(&f.minInterval, "timetable-min-interval", manager.MinTimetableInterval,
		"how close two times of one schedule of a Timetable may be; with closer ones it is not Ready (TooFrequent), and nothing of it starts")
	AddSyncs(c.Flags(), &f.syncs)
	c.Flags().BoolVar(&f.leaderElect, "leader-elect", false, "work only while holding the lease "+manager.LeaseName+" (15s, renewed every 2s), so that several replicas can run")
	c.Flags().StringVar(&f.leaderNamespace, "leader-elect-namespace", "", "namespace of the lease; in a pod, its own if empty")
	c.Flags().StringVar(&f.metrics, "metrics-bind-address", "127.0.0.1:8080", "host:port of /metrics, 0 for none")
	c.Flags().BoolVar(&f.metricsSecure, "metrics-secure", true,
		"serve /metrics over TLS to those whom the API server lets get that path; false: in clear text, on a loopback address only")
	c.Flags().StringVar(&f.certFile, "tls-cert-file", "", "certificate for /metrics, read again when it changes; a self-signed one if empty")
	c.Flags().StringVar(&f.keyFile, "tls-private-key-file", "", "key of --tls-cert-file")
	c.Flags().StringVar(&f.health, "health-probe-bind-address", "127.0.0.1:8081", "host:port of /healthz and /readyz, 0 for none")
	c.Flags().StringVar(&f.logFormat, "log-format", "text", "text or json")
	c.Flags().IntVarP(&f.verbose, "verbosity", "v", 0, "detail of the log: 0, or 1 and more to see each retry")
	return c
}

// UsageError says what is wrong with the arguments. Programs end with exit code 2 then.
type UsageError struct{ Err error }

// Error implements error.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Main runs carillon-manager with the arguments of the process and ends it: 0 after SIGINT or SIGTERM, 1 on failure, 2
// when the arguments are wrong.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	c := New("carillon-manager")
	c.Version = version.String()
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &UsageError{fmt.Errorf("%w (see --help)", err)} })
	err := c.ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "carillon-manager:", err)
		var usage *UsageError
		if errors.As(err, &usage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

func (f *flags) run(ctx context.Context, out io.Writer) error {
	kinds, err := kind.Select(f.kinds)
	if err != nil {
		return &UsageError{fmt.Errorf("--kinds: %w", err)}
	}
	if err := manager.CheckControllers(f.controllers); err != nil {
		return &UsageError{fmt.Errorf("--controllers: %w", err)}
	}
	if f.minInterval < time.Second {
		return &UsageError{fmt.Errorf("--timetable-min-interval: %s is less than 1s", f.minInterval)}
	}
	log, err := f.logger(out)
	if err != nil {
		return &UsageError{err}
	}
	klog.SetLogger(log.WithName("client"))
	options := manager.Options{
		Controllers:             f.controllers,
		Kinds:                   kinds,
		TimetableMinInterval:    f.minInterval,
		Syncs:                   f.syncs,
		LeaderElect:             f.leaderElect,
		LeaderElectionNamespace: f.leaderNamespace,
		MetricsAddr:             f.metrics,
		MetricsInsecure:         !f.metricsSecure,
		MetricsCertFile:         f.certFile,
		MetricsKeyFile:          f.keyFile,
		HealthAddr:              f.health,
		Logger:                  log,
	}
	if err := options.CheckMetrics(); err != nil {
		return &UsageError{err}
	}
	if options.Config, err = f.config(); err != nil {
		return err
	}
	m, err := manager.New(options)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-m.Ready():
			memory.GiveBack(ctx, nil)
		case <-ctx.Done():
		}
	}()
	return m.Start(ctx)
}

func (f *flags) logger(out io.Writer) (logr.Logger, error) {
	options := &slog.HandlerOptions{Level: slog.Level(-f.verbose)}
	switch f.logFormat {
	case "text":
		return logr.FromSlogHandler(slog.NewTextHandler(out, options)), nil
	case "json":
		return logr.FromSlogHandler(slog.NewJSONHandler(out, options)), nil
	default:
		return logr.Logger{}, fmt.Errorf("--log-format %q is not known; use text or json", f.logFormat)
	}
}

// config reads the kubeconfig, or the pod's service account where there is none.
func (f *flags) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) || errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("no cluster is configured; give one with --kubeconfig, or set KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return config, nil
}
