// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/follow"
	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/manager/command"
	"github.com/carillon-dev/carillon/internal/standalone"
	"github.com/carillon-dev/carillon/internal/version"
)

// closeTimeout bounds a clean stop. What has not ended by then ends with the process.
const closeTimeout = 5 * time.Second

// defaultDrainTimeout is the longest grace period of a Pod that a stop with --drain waits for, unless told otherwise.
const defaultDrainTimeout = 10 * time.Minute

type upOptions struct {
	streams   Streams
	files     []string
	dataDir   string
	listen    string
	endpoint  string
	metrics   string
	signing   time.Duration
	quota     resource.QuantityValue
	eventTTL  time.Duration
	exitAfter time.Duration
	drain     bool
	pidsMax   pidsMax
	images    imageFlags
	imageFlag string // the first of them that the user gave
	syncs     manager.Syncs
	drainFor  time.Duration
	eviction  map[string]string
	keep      standalone.Keep
	page      upPage
	format    console.Format
	quiet     bool
}

func newUp(streams Streams) *cobra.Command {
	o := upOptions{streams: streams, quota: resource.QuantityValue{Quantity: resource.MustParse("2Gi")}}
	cmd := &cobra.Command{
		Use:   "up [-f FILE|DIR|-]…",
		Short: "Start Carillon on this machine and show what happens",
		Long: `Starts an API server, a node that runs Pods as local processes, and Carillon's controllers, all in
this process; applies the manifests; and shows what is due, what started, what it writes and how it
ended. Ctrl-C stops it, and so does the end of whoever reads its output: a closed terminal, a pipe that
nobody reads. A reader that only pauses stops nothing; what it misses is counted.

State is kept in the data directory. The next start goes on where this one ended, also after a crash
or kill -9: what is running goes on, and what was missed meanwhile is caught up by each CronJob's own
rules (startingDeadlineSeconds, concurrencyPolicy). What ran, how it ended and what it wrote is remembered
there beyond the life of Jobs and Pods (--keep-runs, --keep-logs): carillon history and carillon logs show it.

Containers run from the images that they name, pulled when they are not here (carillon image lists them);
image: host is this machine's own files, and --local-files makes that of every name.

With --ui it serves the page of carillon ui as well, and prints its address; it ends with this command.
carillon ui prints it again.

Nothing listens beyond this machine unless --listen or --metrics-bind-address says so.`,
		Example: `  carillon up -f examples/
  carillon up -f backup.yaml -f - < more.yaml
  carillon up -f examples/ --ui                          # and a page to look at it
  carillon up --data-dir /var/lib/carillon --quiet       # as a service
  carillon up -f jobs/ --local-files                     # without images
  carillon up -f job.yaml --exit-after 30s -o json       # in a script`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.imageFlag = namedImageFlag(cmd.Flags())
			return o.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "manifests to apply: a file, a directory, or - for standard input; may be repeated")
	dataDirFlag(flags, &o.dataDir, "where state is kept")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "address of the API server; port 0 takes a free one and keeps it for the next start")
	flags.StringVar(&o.metrics, "metrics-bind-address", "0", "address of /metrics, such as 127.0.0.1:9090, over TLS and with authentication; without a host it is loopback, port 0 takes a free one, 0 serves none")
	flags.StringVar(&o.endpoint, "container-runtime-endpoint", "", "a CRI runtime that runs the containers, with images of its own, such as unix:///run/containerd/containerd.sock; empty is Carillon's own, which needs nothing installed")
	flags.DurationVar(&o.signing, "cluster-signing-duration", 365*24*time.Hour, "how long certificates are valid; they are renewed while Carillon runs, when a third of that is left")
	flags.Var(&o.quota, "quota-backend-bytes", "how large the store of all objects may become, such as 512Mi; when it is full nothing can be written")
	flags.DurationVar(&o.eventTTL, "event-ttl", time.Hour, "how long events are kept")
	keepFlags(flags, &o.keep)
	flags.DurationVar(&o.exitAfter, "exit-after", 0, "stop by itself after this long; 0 is never")
	pidsMaxFlag(flags, &o.pidsMax)
	o.images.add(flags)
	command.AddSyncs(flags, &o.syncs)
	flags.BoolVar(&o.drain, "drain", false, "on stop, give each running Pod its own terminationGracePeriodSeconds instead of ending it at once; a second Ctrl-C stops at once")
	flags.DurationVar(&o.drainFor, "drain-timeout", defaultDrainTimeout, "with --drain, the longest that any Pod is given")
	flags.Var(cliflag.NewLangleSeparatedMapStringString(&o.eviction), "eviction-hard", "what is kept free, as for the kubelet, such as nodefs.available<1Gi,memory.available<100Mi: with less than that, Pods are evicted and new ones wait; --eviction-hard= keeps nothing free (default: 512Mi of the disk of the data directory for the store, or a quarter of a smaller disk, and 10k of its inodes)")
	o.page.add(flags)
	outputFlags(flags, &o.format, &o.quiet)
	return cmd
}

func (o *upOptions) run(ctx context.Context) error {
	if o.drain && (o.drainFor < time.Second || o.drainFor > standalone.MaxDrainTimeout) {
		return usage("--drain-timeout %s is not between 1s and %s", o.drainFor, standalone.MaxDrainTimeout)
	}
	if o.endpoint != "" && o.imageFlag != "" {
		return usage("%s is for Carillon's own runtime: with --container-runtime-endpoint images are that runtime's", o.imageFlag)
	}
	dataDir, err := cluster.Absolute(o.dataDir)
	if err != nil {
		return err
	}
	if err := o.page.open(); err != nil {
		return err
	}
	defer o.page.close()
	out := console.New(o.streams.Out, console.Options{
		Format: o.format, Quiet: o.quiet, Color: console.SupportsColor(o.streams.Out), Width: console.TerminalWidth(o.streams.Out),
	})
	ctx, stop := stopWhenReaderGone(ctx, out)
	defer stop()
	defer func() {
		stop() // nobody is waited for
		if lost := out.Close(ctx); lost != nil {
			writeWithin(o.streams.Err, "carillon: "+lost.Error()+"\n", finalWriteTimeout)
		}
	}()
	return o.start(ctx, out, dataDir)
}

// start is everything from the manifests to the stop.
func (o *upOptions) start(ctx context.Context, out *console.Console, dataDir string) error {
	var texts manifestTexts
	objects, err := manifest.Load(ctx, o.files, texts.reading(o.streams.In), func(line string) {
		out.Print(console.Line{Type: console.Info, Message: line})
	})
	if err != nil {
		return interrupted(ctx, err)
	}
	warnOfErrors(out, objects, texts.of(objects), time.Now())
	out.Print(console.Line{Type: console.Info, Message: fmt.Sprintf("carillon %s with Kubernetes %s, state in %s", version.String(), version.Kubernetes, dataDir)})
	options := standalone.Options{
		DataDir:         dataDir,
		Listen:          o.listen,
		RuntimeEndpoint: o.endpoint,
		MetricsAddr:     o.metrics,
		SigningDuration: o.signing,
		PIDsMax:         int64(o.pidsMax),
		EventTTL:        o.eventTTL,
		Warn:            func(message string) { out.Print(console.Line{Type: console.Warning, Message: message}) },
		Syncs:           o.syncs,
		DrainTimeout:    o.drainTimeout(),

		QuotaBackendBytes: o.quota.Value(),
		EvictionHard:      o.eviction,
		Keep:              &o.keep,
		Progress: func(step string, took time.Duration) {
			out.Print(console.Line{Type: console.Step, Message: step, Duration: took})
		},
	}
	if err := o.images.apply(&options, out); err != nil {
		return err
	}
	plane, err := standalone.New(options)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := plane.Start(ctx); err != nil {
		return errors.Join(interrupted(ctx, err), closePlane(plane, o.drainTimeout()))
	}
	err = o.serve(ctx, plane, out, began, objects)
	if message := drainMessage(plane.DrainEstimate()); message != "" {
		out.Print(console.Line{Type: console.Info, Message: message})
	}
	return errors.Join(err, closePlane(plane, o.drainTimeout()))
}

// drainTimeout is how long a stop waits for Pods at most, 0 without --drain.
func (o *upOptions) drainTimeout() time.Duration {
	if !o.drain {
		return 0
	}
	return o.drainFor
}

// drainMessage tells the user what a stop waits for, and nothing when there is nothing to wait for.
func drainMessage(pods int, longest time.Duration) string {
	if pods == 0 || longest == 0 {
		return ""
	}
	noun := "Pods have"
	if pods == 1 {
		noun = "Pod has"
	}
	return fmt.Sprintf("%d %s up to %s to end (terminationGracePeriodSeconds, at most --drain-timeout); Ctrl-C again stops at once", pods, noun, longest)
}

// serve is the life between start and stop of a plane whose start began then.
func (o *upOptions) serve(ctx context.Context, plane *standalone.Standalone, out *console.Console, began time.Time, objects []manifest.Object) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	client, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err != nil {
		return err
	}
	custom, err := dynamic.NewForConfig(plane.RESTConfig())
	if err != nil {
		return err
	}
	follower := follow.New(follow.Options{Client: client, Dynamic: custom, Console: out, Since: began})
	followed := make(chan error, 1)
	go func() { followed <- follower.Run(ctx) }()
	defer func() { stop(); err = errors.Join(err, <-followed) }()
	pageStopped := o.page.start(ctx, plane.DataDir(), out)
	defer func() { stop(); pageStopped() }()

	if err := apply(ctx, plane, out, objects); err != nil {
		return interrupted(ctx, err)
	}
	select {
	case <-plane.Ready():
	case err := <-plane.Err():
		return err
	case <-ctx.Done():
		return nil
	}
	out.Print(console.Line{Type: console.Step, Message: "ready", Duration: time.Since(began)})
	tellWhen(ctx, plane.Recording(), func() { out.Print(console.Line{Type: console.Info, Message: keepMessage(o.keep)}) })
	if address := plane.MetricsAddr(); address != "" {
		out.Print(console.Line{Type: console.Info, Message: "metrics: https://" + address + "/metrics"})
	}
	out.Print(console.Line{Type: console.Info, Message: "from another terminal: " + statusHint(o.dataDir) + ", or " + kubectlHint(o.dataDir) + " apply -f FILE"})
	var expired <-chan time.Time
	if o.exitAfter > 0 {
		timer := time.NewTimer(o.exitAfter)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-ctx.Done():
	case <-expired:
	case err := <-plane.Err():
		return fmt.Errorf("stopped: %w", err)
	}
	out.Print(console.Line{Type: console.Info, Message: "stopping"})
	return nil
}

func apply(ctx context.Context, plane *standalone.Standalone, out *console.Console, objects []manifest.Object) error {
	if len(objects) == 0 {
		return nil
	}
	applier, err := manifest.NewApplier(plane.RESTConfig(), "default")
	if err != nil {
		return err
	}
	applied, err := applier.Apply(ctx, objects)
	for _, a := range applied {
		object := strings.ToLower(a.Live.GetKind()) + "/" + a.Live.GetNamespace() + "/" + a.Live.GetName()
		if gvk := a.Live.GroupVersionKind(); isJob(gvk) || isCronJob(gvk) {
			object = follow.ObjectName(gvk.Group, gvk.Kind, a.Live.GetNamespace(), a.Live.GetName())
		}
		out.Print(console.Line{Type: console.Applied, Object: object, Message: a.Verb})
	}
	return err
}

// kubectlHint is the command that reaches the Carillon on dataDir.
func kubectlHint(dataDir string) string { return hint("kubectl", dataDir) }

// statusHint is the command that shows what goes on in this Carillon.
func statusHint(dataDir string) string { return hint("status", dataDir) }

// hint is a command of this program about the Carillon on a data directory.
func hint(command, dataDir string) string {
	self := "carillon"
	if len(os.Args) > 0 && strings.ContainsRune(os.Args[0], '/') && !strings.Contains(os.Args[0], "go-build") {
		self = os.Args[0]
	}
	if dataDir == datadir.Default() {
		return self + " " + command
	}
	return self + " " + command + " --data-dir " + dataDir
}

// interrupted hides the errors that a stop asked for by the user brings about.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func closePlane(plane *standalone.Standalone, drainTimeout time.Duration) error {
	timeout := closeTimeout
	if drainTimeout > 0 {
		// The plane's own bound, and time to say what it ran into.
		timeout += drainTimeout + closeTimeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return plane.Close(ctx)
}
