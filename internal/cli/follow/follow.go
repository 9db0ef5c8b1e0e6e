// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package follow watches an API server and says what is worth a line: which CronJob is due next, what
// started, what the containers write, what finished and how, and what needs attention.
//
// One Follower watches CronJobs, Jobs, Pods and events (follow.go). Every container has one reader
// of its log (logs.go); a Job's last line is held back until its readers have caught up, so that
// "finished" never comes before the output that it ends.
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
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/schedule"
)

// Options of a Follower.
type Options struct {
	Client  kubernetes.Interface
	Console *console.Console
	// Namespace limits what is watched; "" is all.
	Namespace string
	// Job, if set, is the only Job whose life is told; CronJobs are then not spoken of.
	Job types.NamespacedName
	// Finished is called once for each Job that ends while followed, after its output. May be nil.
	Finished func(job *batchv1.Job, complete bool)
	Now      func() time.Time // nil: time.Now
}

// Follower is one view of what happens. Make it with New, then Run it.
type Follower struct {
	opts  Options
	since time.Time

	mu       sync.Mutex
	jobs     map[types.UID]*run
	due      map[types.UID]time.Time
	logs     map[string]bool     // container instances that have a reader
	last     map[string]*reading // of each container, the reader of its newest instance
	events   map[types.UID]bool
	reading  sync.WaitGroup
	finished sync.WaitGroup
}

// run is what has been said of one Job.
type run struct {
	started time.Time
	told    bool // that it finished
	readers sync.WaitGroup
}

// New returns a Follower. What finished before this call is history and not spoken of.
func New(opts Options) *Follower {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Follower{
		opts:   opts,
		since:  opts.Now(),
		jobs:   map[types.UID]*run{},
		due:    map[types.UID]time.Time{},
		logs:   map[string]bool{},
		last:   map[string]*reading{},
		events: map[types.UID]bool{},
	}
}

// Run follows until ctx ends, then waits for what is being said. An error means that the watches
// could not be established in time.
func (f *Follower) Run(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(f.opts.Client, 0,
		informers.WithNamespace(f.opts.Namespace), informers.WithTransform(strip))
	add := func(informer cache.SharedIndexInformer, handle func(obj any)) error {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    handle,
			UpdateFunc: func(_, obj any) { handle(obj) },
		})
		return err
	}
	errs := []error{
		add(factory.Batch().V1().Jobs().Informer(), func(obj any) { f.job(ctx, obj.(*batchv1.Job)) }),
		add(factory.Core().V1().Pods().Informer(), func(obj any) { f.pod(ctx, obj.(*corev1.Pod)) }),
		add(factory.Core().V1().Events().Informer(), func(obj any) { f.event(obj.(*corev1.Event)) }),
	}
	if f.opts.Job.Name == "" {
		errs = append(errs, add(factory.Batch().V1().CronJobs().Informer(), func(obj any) { f.cronJob(obj.(*batchv1.CronJob)) }))
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	factory.Start(ctx.Done())
	for kind, ok := range factory.WaitForCacheSync(ctx.Done()) {
		if !ok && ctx.Err() == nil {
			return fmt.Errorf("cannot watch %v", kind)
		}
	}
	<-ctx.Done()
	factory.Shutdown()
	f.finished.Wait()
	f.reading.Wait()
	return nil
}

// strip drops what nobody here reads and what is large.
func strip(obj any) (any, error) {
	if o, err := meta.Accessor(obj); err == nil {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

func (f *Follower) mine(job *batchv1.Job) bool {
	return f.opts.Job.Name == "" || (f.opts.Job.Name == job.Name && f.opts.Job.Namespace == job.Namespace)
}

func (f *Follower) runOf(uid types.UID) *run {
	r := f.jobs[uid]
	if r == nil {
		r = &run{}
		f.jobs[uid] = r
	}
	return r
}

// cronJob says when the next run is due, once for each scheduled time and schedule.
func (f *Follower) cronJob(cj *batchv1.CronJob) {
	object := "cronjob/" + cj.Namespace + "/" + cj.Name
	next, zone, ok := f.next(cj)
	f.mu.Lock()
	defer f.mu.Unlock()
	last, known := f.due[cj.UID]
	if known && last.Equal(next) {
		return
	}
	f.due[cj.UID] = next
	switch {
	case cj.Spec.Suspend != nil && *cj.Spec.Suspend:
		f.opts.Console.Say(console.Line{Type: console.Due, Object: object, Message: "is suspended"})
	case ok:
		f.opts.Console.Say(console.Line{Type: console.Due, Object: object, Due: &next, Message: zone})
	default:
		f.opts.Console.Say(console.Line{Type: console.Due, Object: object, Message: "has no next run; see its events: carillon kubectl describe cronjob " + cj.Name})
	}
}

func (f *Follower) next(cj *batchv1.CronJob) (next time.Time, zone string, ok bool) {
	if cj.Spec.Suspend != nil && *cj.Spec.Suspend {
		return time.Time{}, "", false
	}
	loc := time.Local
	if cj.Spec.TimeZone != nil {
		var err error
		if loc, err = schedule.LoadZone(*cj.Spec.TimeZone); err != nil {
			return time.Time{}, "", false
		}
		zone = *cj.Spec.TimeZone
	}
	s, err := schedule.Parse(cj.Spec.Schedule, loc)
	if err != nil {
		return time.Time{}, "", false
	}
	from := f.opts.Now()
	if _, every := s.Every(); every {
		anchor := cj.CreationTimestamp.Time
		if cj.Status.LastScheduleTime != nil {
			anchor = cj.Status.LastScheduleTime.Time
		}
		if last := s.LastBetween(anchor, from); !last.IsZero() {
			anchor = last
		}
		from = anchor
	}
	next = s.Next(from)
	return next.In(loc), zone, !next.IsZero()
}

func (f *Follower) job(ctx context.Context, job *batchv1.Job) {
	if !f.mine(job) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.runOf(job.UID)
	object := "job/" + job.Namespace + "/" + job.Name
	end, complete, done := finish(job)
	if done && r.started.IsZero() && end.LastTransitionTime.Time.Before(f.since.Add(-time.Second)) {
		r.told = true // history
		return
	}
	if r.started.IsZero() && (job.Status.StartTime != nil || done) {
		r.started = f.opts.Now()
		line := console.Line{Type: console.Started, Object: object, Message: origin(job)}
		if st := job.Status.StartTime; st != nil && st.Time.Before(f.since.Add(-time.Second)) {
			r.started, line.Resumed = st.Time, true
		}
		f.opts.Console.Say(line)
	}
	if !done || r.told {
		return
	}
	r.told = true
	took := f.opts.Now().Sub(r.started)
	f.finished.Add(1)
	go func() {
		defer f.finished.Done()
		f.caughtUp(ctx, r)
		line := console.Line{Type: console.Finished, Object: object, Duration: took, Outcome: console.Complete, Reason: end.Reason}
		if !complete {
			line.Outcome, line.Message = console.Failed, end.Message
		}
		f.opts.Console.Say(line)
		if f.opts.Finished != nil {
			f.opts.Finished(job, complete)
		}
	}()
}

// origin tells which scheduled time a Job belongs to.
func origin(job *batchv1.Job) string {
	if at, ok := job.Annotations[batchv1.CronJobScheduledTimestampAnnotation]; ok {
		return "(scheduled " + at + ")"
	}
	if n := job.Spec.Completions; n != nil && *n > 1 {
		parallel := int32(1)
		if job.Spec.Parallelism != nil {
			parallel = *job.Spec.Parallelism
		}
		return fmt.Sprintf("(%d completions, %d at a time)", *n, min(parallel, *n))
	}
	return ""
}

// finish returns the terminal condition of a Job.
func finish(job *batchv1.Job) (condition batchv1.JobCondition, complete, done bool) {
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			return c, true, true
		case batchv1.JobFailed:
			return c, false, true
		}
	}
	return batchv1.JobCondition{}, false, false
}

func (f *Follower) pod(ctx context.Context, pod *corev1.Pod) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "Job" {
		return
	}
	if f.opts.Job.Name != "" && (owner.Name != f.opts.Job.Name || pod.Namespace != f.opts.Job.Namespace) {
		return
	}
	statuses := append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...)
	for _, s := range statuses {
		f.container(ctx, pod, owner.UID, s, len(statuses) > 1)
	}
}

// container starts a reader for each instance of a container that its status shows: the current one,
// and the one before it, which may have come and gone between two looks.
func (f *Follower) container(ctx context.Context, pod *corev1.Pod, job types.UID, s corev1.ContainerStatus, several bool) {
	if t := s.LastTerminationState.Terminated; t != nil && s.RestartCount > 0 && !f.ended(t) {
		f.instance(ctx, pod, job, s.Name, t.ContainerID, s.RestartCount-1, several, t.StartedAt.Time)
	}
	switch {
	case s.State.Running != nil:
		f.instance(ctx, pod, job, s.Name, s.ContainerID, s.RestartCount, several, s.State.Running.StartedAt.Time)
	case s.State.Terminated != nil && !f.ended(s.State.Terminated):
		f.instance(ctx, pod, job, s.Name, s.ContainerID, s.RestartCount, several, s.State.Terminated.StartedAt.Time)
	}
}

// ended tells whether an instance is history, or never ran.
func (f *Follower) ended(t *corev1.ContainerStateTerminated) bool {
	return t.ContainerID == "" || t.FinishedAt.Time.Before(f.since.Add(-time.Second))
}

func (f *Follower) instance(ctx context.Context, pod *corev1.Pod, job types.UID, name, id string, restarts int32, several bool, began time.Time) {
	container := string(pod.UID) + "/" + name
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.logs[container+"/"+id] {
		return
	}
	f.logs[container+"/"+id] = true
	r := f.runOf(job)
	if r.told {
		return
	}
	r.readers.Add(1)
	f.reading.Add(1)
	source := pod.Name
	if several {
		source += "/" + name
	}
	this := &reading{done: make(chan struct{})}
	l := log{
		client: f.opts.Client, console: f.opts.Console, pod: pod, container: name, instance: restarts, source: source,
		before: f.last[container], this: this,
	}
	f.last[container] = this
	if began.Before(f.since.Add(-time.Second)) {
		since := metav1.NewTime(f.since)
		l.since = &since
	}
	go func() {
		defer f.reading.Done()
		defer r.readers.Done()
		defer close(this.done)
		l.read(ctx)
	}()
}

// caughtUp waits until the readers of a run have read all, two seconds at most: a reader that hangs
// must not hide that the Job ended.
func (f *Follower) caughtUp(ctx context.Context, r *run) {
	done := make(chan struct{})
	go func() { r.readers.Wait(); close(done) }()
	timer := time.NewTimer(2 * time.Second)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// event passes on what asks for the user's attention. What a Job's own last line says is left out.
func (f *Follower) event(e *corev1.Event) {
	if e.Type != corev1.EventTypeWarning || told[e.Reason] || f.old(e) || !f.about(e) {
		return
	}
	f.mu.Lock()
	seen := f.events[e.UID]
	f.events[e.UID] = true
	f.mu.Unlock()
	if seen {
		return
	}
	object := fmt.Sprintf("%s/%s/%s", kindWord(e.InvolvedObject.Kind), e.InvolvedObject.Namespace, e.InvolvedObject.Name)
	f.opts.Console.Say(console.Line{Type: console.Warning, Object: object, Reason: e.Reason, Message: e.Message})
}

// told are the reasons that a Job's Failed condition repeats.
var told = map[string]bool{
	batchv1.JobReasonBackoffLimitExceeded:     true,
	batchv1.JobReasonDeadlineExceeded:         true,
	batchv1.JobReasonPodFailurePolicy:         true,
	batchv1.JobReasonMaxFailedIndexesExceeded: true,
	batchv1.JobReasonFailedIndexes:            true,
}

func (f *Follower) old(e *corev1.Event) bool {
	at := e.LastTimestamp.Time
	if at.IsZero() {
		at = e.EventTime.Time
	}
	return at.Before(f.since.Add(-time.Second))
}

func (f *Follower) about(e *corev1.Event) bool {
	if f.opts.Job.Name == "" {
		switch e.InvolvedObject.Kind {
		case "CronJob", "Job", "Pod":
			return true
		}
		return false
	}
	switch e.InvolvedObject.Kind {
	case "Job":
		return e.InvolvedObject.Name == f.opts.Job.Name && e.InvolvedObject.Namespace == f.opts.Job.Namespace
	case "Pod":
		return e.InvolvedObject.Namespace == f.opts.Job.Namespace && len(e.InvolvedObject.Name) > len(f.opts.Job.Name) &&
			e.InvolvedObject.Name[:len(f.opts.Job.Name)+1] == f.opts.Job.Name+"-"
	}
	return false
}

func kindWord(kind string) string {
	switch kind {
	case "CronJob":
		return "cronjob"
	case "Job":
		return "job"
	case "Pod":
		return "pod"
	}
	return kind
}
