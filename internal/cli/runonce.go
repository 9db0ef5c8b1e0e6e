// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/follow"
	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

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
