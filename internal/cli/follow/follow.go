// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package follow watches an API server and says what is worth a line: which CronJob is due next, what
// started, what the containers write, what finished and how, and what needs attention.
//
// One Follower watches CronJobs, Jobs, Pods and events of batch/v1 (follow.go), and those of the other kinds
// that Carillon serves as soon as their API is there (kinds.go). Each has a file that says what is worth a
// line (cronjobs.go, timetables.go, jobs.go, pods.go, events.go), and one tells why a container can never start
// (obstacle.go).
// Every container has one reader of its log (logs.go); a Job's last line is held back until its readers have caught
// up, so that "finished" never comes before the output that it ends.
//
// What is remembered of an object goes when the object does: a Follower that runs for months holds as much as
// there is to be watched.
package follow

import (
	"context"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/internal/cli/console"
	batch "github.com/carillon-dev/carillon/internal/kind/batchv1"
)

// Target names one Job.
type Target struct {
	Group     string // of its API: "batch" or "batch.volcano.sh"
	Namespace string
	Name      string
}

// Options of a Follower.
type Options struct {
	Client kubernetes.Interface
	// Dynamic reaches the kinds that are custom resources. Nil: they are not followed.
	Dynamic dynamic.Interface
	Console *console.Console
	// Namespace limits what is watched; "" is all.
	Namespace string
	// Job, if set, is the only Job that is told about; CronJobs are then not.
	Job Target
	// OnFinished is called once for each Job that ends while followed, after its output. May be nil.
	OnFinished func(complete bool)
	// OnObstacle is called when a container of Job can never start. May be nil; may be called more than once.
	OnObstacle func(why Obstacle)
	// Since is the start of what is told: what ended or was said before it is history. Zero: the call of New. Whoever
	// starts what is followed takes the time before the start, or what happens during it is told to nobody.
	Since time.Time
	Now   func() time.Time // nil: time.Now
}

// Follower is one view of what happens. Make it with New, then Run it.
type Follower struct {
	opts Options

	mu   sync.Mutex
	jobs map[types.UID]*run
	due  map[types.UID]time.Time
	// timetables is what was said of each Timetable.
	timetables map[types.UID]timetableView
	pods       map[types.UID]*podView
	events     map[types.UID]eventState

	reading  sync.WaitGroup
	finished sync.WaitGroup
	kinds    sync.WaitGroup
}

// New returns a Follower.
func New(opts Options) *Follower {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Since.IsZero() {
		opts.Since = opts.Now()
	}
	return &Follower{
		opts:       opts,
		jobs:       map[types.UID]*run{},
		due:        map[types.UID]time.Time{},
		timetables: map[types.UID]timetableView{},
		pods:       map[types.UID]*podView{},
		events:     map[types.UID]eventState{},
	}
}

// Run follows until ctx ends, then waits for what is being said. An error means that the watches
// could not be established in time.
func (f *Follower) Run(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(f.opts.Client, 0,
		informers.WithNamespace(f.opts.Namespace), informers.WithTransform(strip))
	// Of most objects only warnings are told, and there are many other events.
	warnings := informers.NewSharedInformerFactoryWithOptions(f.opts.Client, 0,
		informers.WithNamespace(f.opts.Namespace), informers.WithTransform(strip),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = "type=" + corev1.EventTypeWarning }))
	timetables := informers.NewSharedInformerFactoryWithOptions(f.opts.Client, 0,
		informers.WithNamespace(f.opts.Namespace), informers.WithTransform(strip), informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = "type=" + corev1.EventTypeNormal + ",involvedObject.kind=" + timetableName
		}))
	errs := []error{
		handle(warnings.Core().V1().Events().Informer(), f.event, func(e *corev1.Event) { f.forgetEvent(e.UID) }),
		handle(factory.Core().V1().Pods().Informer(), func(p *corev1.Pod) { f.pod(ctx, p) }, func(p *corev1.Pod) { f.forgetPod(p.UID) }),
	}
	if f.opts.Job.Name == "" || f.opts.Job.Group == batchv1.GroupName {
		errs = append(errs, handle(factory.Batch().V1().Jobs().Informer(),
			func(j *batchv1.Job) { f.job(ctx, viewOfJob(j)) }, func(j *batchv1.Job) { f.forgetJob(j.UID) }))
	}
	if f.opts.Job.Name == "" {
		errs = append(errs, handle(factory.Batch().V1().CronJobs().Informer(),
			func(c *batchv1.CronJob) { f.cronJob(batch.Kind{}, c) }, func(c *batchv1.CronJob) { f.forgetCronJob(c.UID) }),
			handle(timetables.Core().V1().Events().Informer(), f.event, func(e *corev1.Event) { f.forgetEvent(e.UID) }))
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	factory.Start(ctx.Done())
	warnings.Start(ctx.Done())
	timetables.Start(ctx.Done())
	if f.opts.Dynamic != nil {
		f.followKinds(ctx)
	}
	for _, each := range []informers.SharedInformerFactory{factory, warnings, timetables} {
		for kind, ok := range each.WaitForCacheSync(ctx.Done()) {
			if !ok && ctx.Err() == nil {
				return fmt.Errorf("cannot watch %v", kind)
			}
		}
	}
	<-ctx.Done()
	factory.Shutdown()
	warnings.Shutdown()
	timetables.Shutdown()
	f.kinds.Wait()
	f.finished.Wait()
	f.reading.Wait()
	return nil
}

// handle calls is for each object and each change of one, and was when it is gone.
func handle[T any](informer cache.SharedIndexInformer, is, was func(T)) error {
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { is(obj.(T)) },
		UpdateFunc: func(_, obj any) { is(obj.(T)) },
		DeleteFunc: func(obj any) {
			if unseen, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unseen.Obj
			}
			if o, ok := obj.(T); ok {
				was(o)
			}
		},
	})
	return err
}

// strip drops what nobody here reads and what is large.
func strip(obj any) (any, error) {
	if o, err := meta.Accessor(obj); err == nil {
		o.SetManagedFields(nil)
	}
	switch o := obj.(type) {
	case *batchv1.CronJob:
		o.Spec.JobTemplate = batchv1.JobTemplateSpec{}
	case *batchv1.Job:
		o.Spec.Template = corev1.PodTemplateSpec{}
	case *corev1.Pod:
		o.Spec = corev1.PodSpec{}
	}
	return obj, nil
}
