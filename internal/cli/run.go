// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/cli/console"
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
