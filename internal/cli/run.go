// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/follow"
	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/standalone"
)

type runOptions struct {
	streams   Streams
	files     []string
	name      string
	timeout   time.Duration
	cluster   cluster.Flags
	format    console.Format
	quiet     bool
	pidsMax   pidsMax
	images    imageFlags
	imageFlag string // the first of them that the user gave
}

func newRun(streams Streams) *cobra.Command {
	o := runOptions{streams: streams}
	cmd := &cobra.Command{
		Use:   "run -f FILE [NAME]",
		Short: "Run the work of a manifest once, now, and exit as it does",
		Long: `Runs the Job, or the Job that the CronJob or Timetable describes, once, now: what its containers write goes to
stdout, everything else to stderr. Exit code 0: complete. 1: failed. 2: the manifest or the command is
at fault. 124: --timeout passed. 130: interrupted.

A CronJob or Timetable is checked whole, as the API server checks it. The variables of a Timetable's template
have the values of a run by hand: the scheduled time is now, parameters have their defaults. A container
that can never start ends the run at once, and so does one whose image cannot be had; all of these are
exit code 2. Output goes to a file or a pipe as it is. On a terminal each line has the name of its Pod
before it, and what a terminal would obey is shown instead.

It runs on this machine in a plane of its own, of which nothing is left afterwards. The other objects
of the files (ConfigMaps, Secrets, …) are applied there first; other Jobs, CronJobs and Timetables are not.

Containers run from the images that they name, which are pulled when they are not here; image: host is
this machine's own files. Without a network, image: host, --local-files or carillon image import help.

With --data-dir it runs in the Carillon that runs on that directory, with --context or --kubeconfig on
that cluster. There -f may be left out to run a CronJob or Timetable that exists.`,
		Example: `  carillon run -f examples/indexed.yaml
  carillon run -f examples/ nightly-backup --timeout 5m
  carillon run -f job.yaml --local-files                 # without images
  carillon run nightly-backup --data-dir ~/.local/share/carillon
  carillon run -f job.yaml --context production`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.name = args[0]
			}
			if !cmd.Flags().Changed("data-dir") {
				o.cluster.DataDir = ""
			}
			o.imageFlag = namedImageFlag(cmd.Flags())
			return o.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "manifests: a file, a directory, or - for standard input; may be repeated")
	flags.StringVarP(&o.cluster.Namespace, "namespace", "n", "", "namespace of what names none")
	flags.DurationVar(&o.timeout, "timeout", 0, "give up after this long, counted from when the Job is created; 0 is never")
	dataDirFlag(flags, &o.cluster.DataDir, "run in the Carillon that runs on this directory, instead of in a plane of its own")
	pidsMaxFlag(flags, &o.pidsMax)
	o.images.add(flags)
	flags.StringVar(&o.cluster.Kubeconfig, "kubeconfig", "", "run on the cluster of this kubeconfig")
	flags.StringVar(&o.cluster.Context, "context", "", "run on the cluster of this kubeconfig context")
	outputFlags(flags, &o.format, &o.quiet)
	return cmd
}

// remote tells whether an API server that runs already was asked for.
func (o *runOptions) remote() bool { return o.cluster.Named() }

func (o *runOptions) run(ctx context.Context) (err error) {
	if len(o.files) == 0 && (!o.remote() || o.name == "") {
		return usage("nothing to run: name a manifest with -f, or a CronJob or Timetable that exists together with --data-dir, --context or --kubeconfig")
	}
	if o.remote() && o.imageFlag != "" {
		return usage("%s is for a run in a plane of its own: where the Job runs now, that is for whoever started it to say (carillon up has the same flag)", o.imageFlag)
	}
	out := console.New(o.streams.Err, console.Options{
		Format: o.format, Quiet: o.quiet, Color: console.SupportsColor(o.streams.Err), Width: console.TerminalWidth(o.streams.Err),
		OutputTo: o.streams.Out, Raw: !console.IsTerminal(o.streams.Out), WaitForReader: true,
	})
	ctx, stop := stopWhenReaderGone(ctx, out)
	defer stop()
	defer func() { err = o.withWriteError(out.Close(ctx), err) }()

	var texts manifestTexts
	objects, err := manifest.Load(ctx, o.files, texts.reading(o.streams.In), func(line string) {
		out.Print(console.Line{Type: console.Info, Message: line})
	})
	if err != nil {
		return o.stopped(ctx, err)
	}
	target, others, err := o.chooseTarget(objects)
	if err != nil {
		return err
	}
	if target != nil {
		warnOfErrors(out, append([]manifest.Object{*target}, others...), texts.of(objects), time.Now())
	}
	if o.remote() {
		config, namespace, err := o.cluster.Config()
		if err != nil {
			return err
		}
		return o.runOnce(ctx, config, namespace, out, target, others)
	}
	child, err := childKindOf(*target)
	if err != nil {
		return err
	}
	if err := followable(*target, child); err != nil {
		return err
	}
	if by := runBy(child); by != "" {
		return usage("%s: Jobs of %[2]s are run by %[2]s, which is not here: name a cluster that has it, with --context, --kubeconfig or --data-dir", *target, by)
	}
	options := standalone.Options{
		Ephemeral: true, Listen: "127.0.0.1:0", PIDsMax: int64(o.pidsMax),
		Warn: func(message string) { out.Print(console.Line{Type: console.Warning, Message: message}) },
	}
	if err := o.images.apply(&options, out); err != nil {
		return err
	}
	plane, err := standalone.New(options)
	if err != nil {
		return err
	}
	if err := plane.Start(ctx); err != nil {
		return errors.Join(o.stopped(ctx, err), closePlane(plane, 0))
	}
	namespace := o.cluster.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	err = o.runOnce(ctx, plane.RESTConfig(), namespace, out, target, others)
	return errors.Join(err, closePlane(plane, 0))
}

// withWriteError adds what could not be written to how the run ended. A run whose output is lost has failed, also when
// its Job is complete; the outcome of one that did not come to its end stays what it is.
func (o *runOptions) withWriteError(lost, err error) error {
	switch {
	case lost == nil:
		return err
	case err == nil:
		return fmt.Errorf("the output: %w", lost)
	}
	var e *exitcode.Error
	if errors.As(err, &e) && e.Err == nil {
		return &exitcode.Error{Code: e.Code, Err: lost}
	}
	return errors.Join(err, lost)
}

func (o *runOptions) stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &exitcode.Error{Code: exitcode.Interrupted}
	}
	return err
}

// chooseTarget picks the one object to run: by name, or because there is only one.
func (o *runOptions) chooseTarget(objects []manifest.Object) (target *manifest.Object, others []manifest.Object, err error) {
	var runnable []manifest.Object
	for _, obj := range objects {
		if gvk := obj.GroupVersionKind(); isJob(gvk) || isCronJob(gvk) || isTimetable(gvk) {
			runnable = append(runnable, obj)
			continue
		}
		others = append(others, obj)
	}
	if len(objects) == 0 {
		return nil, nil, nil
	}
	var names []string
	for i, obj := range runnable {
		if o.name == obj.GetName() || (o.name == "" && len(runnable) == 1) {
			if target != nil {
				return nil, nil, usage("%q is both %s and %s: keep one of them", o.name, *target, obj)
			}
			target = &runnable[i]
		}
		names = append(names, obj.GetName())
	}
	switch {
	case target != nil:
		return target, others, nil
	case len(runnable) == 0:
		return nil, nil, usage("there is no Job, CronJob or Timetable to run in the files")
	case o.name == "":
		return nil, nil, usage("the files hold %d Jobs, CronJobs and Timetables: say which to run, one of %q", len(runnable), names)
	}
	return nil, nil, usage("there is no Job, CronJob or Timetable %q in the files; they hold %q", o.name, names)
}

// runOnce creates the Job, follows it to its end and says how it ended.
func (o *runOptions) runOnce(ctx context.Context, config *rest.Config, namespace string, out *console.Console, target *manifest.Object, others []manifest.Object) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	custom, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	applier, err := manifest.NewApplier(config, namespace)
	if err != nil {
		return err
	}
	tell := func(message string) { out.Print(console.Line{Type: console.Warning, Message: message}) }
	job, err := o.prepare(ctx, applier, namespace, target, others, tell)
	if err != nil {
		return o.stopped(ctx, err)
	}
	if err := o.checkAndApply(ctx, applier, out, target, job, others); err != nil {
		return o.stopped(ctx, err)
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	ended, stuck := make(chan bool, 1), make(chan follow.Obstacle, 1)
	follower := follow.New(follow.Options{
		Client: client, Dynamic: custom, Console: out, Namespace: job.GetNamespace(),
		Job:        follow.Target{Group: job.GroupVersionKind().Group, Namespace: job.GetNamespace(), Name: job.GetName()},
		OnFinished: func(complete bool) { ended <- complete },
		OnObstacle: func(why follow.Obstacle) {
			select {
			case stuck <- why:
			default: // the first is enough
			}
		},
	})
	followed, silent := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(silent)
		followed <- follower.Run(following)
	}()
	defer func() { stop(); <-silent }()
	// Whoever reads the log may be waiting for a reader of ours. An interrupted run does not.
	defer context.AfterFunc(ctx, out.StopWaiting)()
	if _, err := applier.Apply(ctx, []manifest.Object{job}); err != nil {
		return o.stopped(ctx, err)
	}
	var expired <-chan time.Time
	if o.timeout > 0 {
		timer := time.NewTimer(o.timeout)
		defer timer.Stop()
		expired = timer.C
	}
	object := follow.ObjectName(job.GroupVersionKind().Group, job.GetKind(), job.GetNamespace(), job.GetName())
	select {
	case complete := <-ended:
		if complete {
			return nil
		}
		return &exitcode.Error{Code: exitcode.Failed}
	case why := <-stuck:
		o.deleteJob(applier, job)
		return &exitcode.Error{Code: exitcode.Usage, Err: fmt.Errorf("%s: %w", object, why)}
	case <-expired:
		out.Print(console.Line{Type: console.Warning, Object: object, Reason: "Timeout", Message: fmt.Sprintf("did not end within %s; it is stopped", o.timeout)})
		o.deleteJob(applier, job)
		out.StopWaiting()
		return &exitcode.Error{Code: exitcode.Timeout}
	case <-ctx.Done():
		o.deleteJob(applier, job)
		return &exitcode.Error{Code: exitcode.Interrupted}
	case err := <-followed:
		return err
	}
}

// checkAndApply asks the API server whether it would take everything, the CronJob among it, which is not created, and
// applies what the Job needs. Nothing has changed when one is refused, unless it could only be asked about after a
// namespace or a kind of the same files was there.
func (o *runOptions) checkAndApply(ctx context.Context, applier *manifest.Applier, out *console.Console, target *manifest.Object, job manifest.Object, others []manifest.Object) error {
	definition, err := definitionOf(target)
	if err != nil {
		return err
	}
	if definition != nil && !o.remote() {
		_, err := applier.Resource(target.GroupVersionKind(), job.GetNamespace())
		brought := slices.ContainsFunc(others, func(each manifest.Object) bool { return each.GetName() == definition[0].GetName() })
		if meta.IsNoMatchError(err) && !brought {
			others = append(others, definition...)
		}
	}
	check := func(objects ...manifest.Object) error {
		err := applier.Check(ctx, objects)
		if err != nil && apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot ") {
			out.Print(console.Line{Type: console.Warning, Message: fmt.Sprintf("the %s could not be checked, only its Job: %v", target.GetKind(), err)})
			return nil
		}
		return err
	}
	whole := target != nil && (isCronJob(target.GroupVersionKind()) || isTimetable(target.GroupVersionKind()))
	if whole {
		if err := check(append(slices.Clone(others), *target)...); err != nil {
			return err
		}
	}
	if err := applier.Check(ctx, append(slices.Clone(others), job)); err != nil {
		return err
	}
	if len(others) == 0 {
		return nil
	}
	if _, err := applier.Apply(ctx, others); err != nil {
		return err
	}
	if whole {
		return check(*target)
	}
	return nil
}

// deleteJob deletes the Job that nobody waits for any longer. In a plane of its own the plane's end
// does that.
func (o *runOptions) deleteJob(applier *manifest.Applier, job manifest.Object) {
	if !o.remote() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	jobs, err := applier.Resource(job.GroupVersionKind(), job.GetNamespace())
	if err == nil {
		policy := metav1.DeletePropagationBackground
		err = jobs.Delete(ctx, job.GetName(), metav1.DeleteOptions{PropagationPolicy: &policy})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		writeWithin(o.streams.Err, fmt.Sprintf("carillon: job %s/%s goes on, it could not be deleted: %s\n", job.GetNamespace(), job.GetName(), console.EscapeControls(err.Error())), finalWriteTimeout)
	}
}
