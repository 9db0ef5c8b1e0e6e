// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/follow"
	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/standalone"
)

// instantiateAnnotation marks a Job that somebody started by hand from a CronJob, as kubectl does.
const instantiateAnnotation = "cronjob.kubernetes.io/instantiate"

type runOptions struct {
	streams    Streams
	files      []string
	name       string
	namespace  string
	timeout    time.Duration
	kubeconfig string
	context    string
	dataDir    string
	format     console.Format
	quiet      bool
}

func newRun(streams Streams) *cobra.Command {
	o := runOptions{streams: streams}
	cmd := &cobra.Command{
		Use:   "run -f FILE [NAME]",
		Short: "Run a CronJob's work or a Job once, now, and exit as it does",
		Long: `Runs the Job, or the Job that the CronJob describes, once, now: what its containers write goes to
stdout, everything else to stderr. Exit code 0: complete. 1: failed. 2: the manifest or the command is
at fault. 124: --timeout passed.

It runs on this machine in a plane of its own, of which nothing is left afterwards. The other objects
of the files (ConfigMaps, Secrets, …) are applied there first; other Jobs and CronJobs are not.

With --data-dir it runs in the Carillon that runs on that directory, with --context or --kubeconfig on
that cluster. There -f may be left out to run a CronJob that exists.`,
		Example: `  carillon run -f examples/indexed.yaml
  carillon run -f examples/ nightly-backup --timeout 5m
  carillon run nightly-backup --data-dir ~/.local/share/carillon
  carillon run -f job.yaml --context production`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.name = args[0]
			}
			if !cmd.Flags().Changed("data-dir") {
				o.dataDir = ""
			}
			return o.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "manifests: a file, a directory, or - for standard input; may be repeated")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace of what names none")
	flags.DurationVar(&o.timeout, "timeout", 0, "give up after this long, counted from when the Job is created; 0 is never")
	dataDirFlag(flags, &o.dataDir, "run in the Carillon that runs on this directory, instead of in a plane of its own")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "run on the cluster of this kubeconfig")
	flags.StringVar(&o.context, "context", "", "run on the cluster of this kubeconfig context")
	outputFlags(flags, &o.format, &o.quiet)
	return cmd
}

// remote tells whether an API server that runs already was asked for.
func (o *runOptions) remote() bool { return o.kubeconfig != "" || o.context != "" || o.dataDir != "" }

func (o *runOptions) run(ctx context.Context) error {
	if len(o.files) == 0 && (!o.remote() || o.name == "") {
		return usage("nothing to run: name a manifest with -f, or a CronJob that exists together with --data-dir, --context or --kubeconfig")
	}
	objects, err := manifest.Load(o.files, o.streams.In)
	if err != nil {
		return err
	}
	target, others, err := o.choose(objects)
	if err != nil {
		return err
	}
	out := console.New(o.streams.Err, console.Options{
		Format: o.format, Quiet: o.quiet, Color: console.Colorful(o.streams.Err), RawTo: o.streams.Out,
	})
	if o.remote() {
		config, namespace, err := o.cluster()
		if err != nil {
			return err
		}
		return o.once(ctx, config, namespace, out, target, others)
	}
	plane, err := standalone.New(standalone.Options{Ephemeral: true, Listen: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	if err := plane.Start(ctx); err != nil {
		return errors.Join(o.stopped(ctx, err), closePlane(plane, 0))
	}
	namespace := o.namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	err = o.once(ctx, plane.RESTConfig(), namespace, out, target, others)
	return errors.Join(err, closePlane(plane, 0))
}

func (o *runOptions) stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &exit{code: ExitInterrupted}
	}
	return err
}

// choose picks the one object to run: by name, or because there is only one.
func (o *runOptions) choose(objects []manifest.Object) (target *manifest.Object, others []manifest.Object, err error) {
	var runnable []manifest.Object
	for _, obj := range objects {
		gvk := obj.GroupVersionKind()
		if gvk.Group == batchv1.GroupName && (gvk.Kind == "Job" || gvk.Kind == "CronJob") {
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
		return nil, nil, usage("there is no Job or CronJob to run in the files")
	case o.name == "":
		return nil, nil, usage("the files hold %d Jobs and CronJobs: say which to run, one of %q", len(runnable), names)
	}
	return nil, nil, usage("there is no Job or CronJob %q in the files; they hold %q", o.name, names)
}

// cluster is the API server that runs already.
func (o *runOptions) cluster() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	if o.dataDir != "" {
		if o.kubeconfig != "" || o.context != "" {
			return nil, "", usage("--data-dir names the Carillon of this machine; leave out --kubeconfig and --context")
		}
		dir, err := absolute(o.dataDir)
		if err != nil {
			return nil, "", err
		}
		if rules.ExplicitPath, err = running(dir); err != nil {
			return nil, "", &exit{code: ExitUsage, err: err}
		}
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", &exit{code: ExitUsage, err: err}
	}
	config.QPS = -1
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", &exit{code: ExitUsage, err: err}
	}
	if o.namespace != "" {
		namespace = o.namespace
	}
	return config, namespace, nil
}

// once creates the Job, follows it to its end and says how it ended.
func (o *runOptions) once(ctx context.Context, config *rest.Config, namespace string, out *console.Console, target *manifest.Object, others []manifest.Object) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	applier, err := manifest.NewApplier(config, namespace)
	if err != nil {
		return err
	}
	objects, err := o.prepare(ctx, client, namespace, target)
	if err != nil {
		return o.stopped(ctx, err)
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	job := objects
	ended := make(chan bool, 1)
	follower := follow.New(follow.Options{
		Client: client, Console: out, Namespace: job.Namespace,
		Job:      types.NamespacedName{Namespace: job.Namespace, Name: job.Name},
		Finished: func(_ *batchv1.Job, complete bool) { ended <- complete },
	})
	followed, silent := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(silent)
		followed <- follower.Run(following)
	}()
	defer func() { stop(); <-silent }()

	send, err := asObject(job, target)
	if err != nil {
		return err
	}
	if _, err := applier.Apply(ctx, append(others, send)); err != nil {
		return o.stopped(ctx, err)
	}
	var expired <-chan time.Time
	if o.timeout > 0 {
		timer := time.NewTimer(o.timeout)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case complete := <-ended:
		if complete {
			return nil
		}
		return &exit{code: ExitFailed}
	case <-expired:
		out.Say(console.Line{Type: console.Warning, Object: "job/" + job.Namespace + "/" + job.Name, Reason: "Timeout", Message: fmt.Sprintf("did not end within %s; it is stopped", o.timeout)})
		o.abandon(client, job)
		return &exit{code: ExitTimeout}
	case <-ctx.Done():
		o.abandon(client, job)
		return &exit{code: ExitInterrupted}
	case err := <-followed:
		return err
	}
}

// abandon deletes the Job that nobody waits for any longer. In a plane of its own the plane's end
// does that.
func (o *runOptions) abandon(client kubernetes.Interface, job *batchv1.Job) {
	if !o.remote() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	policy := metav1.DeletePropagationBackground
	if err := client.BatchV1().Jobs(job.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		complain(o.streams.Err, fmt.Errorf("job %s/%s goes on, it could not be deleted: %w", job.Namespace, job.Name, err))
	}
}

// prepare returns the Job to create.
func (o *runOptions) prepare(ctx context.Context, client kubernetes.Interface, namespace string, target *manifest.Object) (*batchv1.Job, error) {
	if target == nil {
		cronJob, err := client.BatchV1().CronJobs(namespace).Get(ctx, o.name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return fromTemplate(cronJob, true), nil
	}
	if ns := target.GetNamespace(); ns != "" {
		namespace = ns
	}
	if target.GetKind() == "Job" {
		job := &batchv1.Job{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(target.Object, job); err != nil {
			return nil, &manifest.Fault{Where: target.String(), What: err.Error()}
		}
		job.Namespace = namespace
		if job.Name == "" {
			job.Name, job.GenerateName = job.GenerateName+rand.String(5), ""
		}
		if _, err := client.BatchV1().Jobs(namespace).Get(ctx, job.Name, metav1.GetOptions{}); err == nil {
			return nil, usage("job %s/%s exists already, and a Job runs only once: delete it, or give the new one another name", namespace, job.Name)
		}
		return job, nil
	}
	cronJob := &batchv1.CronJob{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(target.Object, cronJob); err != nil {
		return nil, &manifest.Fault{Where: target.String(), What: err.Error()}
	}
	cronJob.Namespace = namespace
	return fromTemplate(cronJob, false), nil
}

// fromTemplate is the Job that somebody starts by hand from a CronJob. Only a CronJob that exists on
// the API server can own it.
func fromTemplate(cronJob *batchv1.CronJob, exists bool) *batchv1.Job {
	annotations := map[string]string{instantiateAnnotation: "manual"}
	maps.Copy(annotations, cronJob.Spec.JobTemplate.Annotations)
	annotations[instantiateAnnotation] = "manual"
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:        cronJob.Name + "-" + rand.String(5),
			Namespace:   cronJob.Namespace,
			Labels:      cronJob.Spec.JobTemplate.Labels,
			Annotations: annotations,
		},
		Spec: *cronJob.Spec.JobTemplate.Spec.DeepCopy(),
	}
	if exists {
		job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cronJob, batchv1.SchemeGroupVersion.WithKind("CronJob"))}
	}
	return job
}
