// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/kind"
)

// clockSkew is how far the clocks of what is read may differ from ours; API times have whole seconds.
const clockSkew = time.Second

// readerTimeout is how long a reader that reads nothing keeps a Job's last line back.
const readerTimeout = 2 * time.Second

// run is what has been said of one Job, or of a Pod that a Timetable started. It is kept as long as the Job or one of
// its Pods is there: the two watches tell of deletions in any order.
type run struct {
	there   bool // the Job is
	pods    int
	started time.Time
	told    bool // that it finished
	readers sync.WaitGroup
	passed  atomic.Int64 // lines of output
}

// jobView is what is told of a Job, of any kind.
type jobView struct {
	uid       types.UID
	group     string
	kind      string
	namespace string
	name      string
	origin    string    // why it runs, and how large it is
	start     time.Time // zero: has not begun
	done      bool
	complete  bool
	end       time.Time
	reason    string
	message   string
}

// viewOfJob reads a Job of batch/v1.
func viewOfJob(j *batchv1.Job) jobView {
	l := jobView{
		uid: j.UID, group: batchv1.GroupName, kind: "Job", namespace: j.Namespace, name: j.Name,
		origin: origin(j),
	}
	if j.Status.StartTime != nil {
		l.start = j.Status.StartTime.Time
	}
	if c := job.FinishedCondition(j.Status.Conditions); c != nil {
		l.done, l.complete = true, c.Type == batchv1.JobComplete
		l.end, l.reason, l.message = c.LastTransitionTime.Time, c.Reason, c.Message
		if l.start.IsZero() {
			l.start = l.end
		}
	}
	return l
}

// viewOfCustomJob reads a Job that is a custom resource. message is what its status says, which slim types do not hold.
func viewOfCustomJob(k kind.Kind, obj kind.Object, message string) (jobView, bool) {
	child, err := k.ReadChild(obj, k.Info().Child, nil)
	if err != nil {
		return jobView{}, false
	}
	l := jobView{
		uid: child.UID, group: k.Info().Child.Group, kind: child.Kind, namespace: child.Namespace, name: child.Name,
		origin: scheduled(obj.GetAnnotations()),
	}
	if child.Started != nil {
		l.start = *child.Started
	}
	if child.Phase != cron.Unfinished {
		l.done, l.complete, l.message = true, child.Phase == cron.Complete, message
		if !l.complete {
			l.reason = child.Status
		}
		if l.end = l.start; child.Finished != nil {
			l.end = *child.Finished
		}
	}
	return l, true
}

// origin tells which scheduled time a Job belongs to, or how much work it is.
func origin(job *batchv1.Job) string {
	if at := scheduled(job.Annotations); at != "" {
		return at
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

// scheduled tells which scheduled time a Job of any kind belongs to, "" for none.
func scheduled(annotations map[string]string) string {
	for _, k := range kind.Owners {
		if at := annotations[k.Info().StampAnnotation]; at != "" {
			return "(scheduled " + at + ")"
		}
	}
	return ""
}

func (f *Follower) isFollowed(group, namespace, name string) bool {
	want := f.opts.Job
	return want.Name == "" || want == Target{group, namespace, name}
}

// runOf returns what has been said of a Job.
func (f *Follower) runOf(uid types.UID) *run {
	r := f.jobs[uid]
	if r == nil {
		r = &run{}
		f.jobs[uid] = r
	}
	return r
}

// release forgets a run whose Job and Pods are gone.
func (f *Follower) release(uid types.UID) {
	if r := f.jobs[uid]; r != nil && !r.there && r.pods == 0 {
		delete(f.jobs, uid)
	}
}

func (f *Follower) job(ctx context.Context, l jobView) {
	if !f.isFollowed(l.group, l.namespace, l.name) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.runOf(l.uid)
	r.there = true
	object := ObjectName(l.group, l.kind, l.namespace, l.name)
	if l.done && r.started.IsZero() && l.end.Before(f.opts.Since.Add(-clockSkew)) {
		r.told = true // history
		return
	}
	if r.started.IsZero() && !l.start.IsZero() {
		r.started = f.opts.Now()
		line := console.Line{Type: console.Started, Object: object, Message: l.origin}
		if l.start.Before(f.opts.Since.Add(-clockSkew)) {
			r.started, line.Resumed = l.start, true
		}
		f.opts.Console.Print(line)
	}
	if !l.done || r.told {
		return
	}
	r.told = true
	line := console.Line{Type: console.Finished, Object: object, Duration: f.opts.Now().Sub(r.started), Outcome: console.Complete, Reason: l.reason}
	if !l.complete {
		line.Outcome, line.Message = console.Failed, l.message
	}
	f.finished.Go(func() {
		f.awaitReaders(ctx, r)
		f.opts.Console.Print(line)
		if f.opts.OnFinished != nil {
			f.opts.OnFinished(l.complete)
		}
	})
}

func (f *Follower) forgetJob(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.jobs[uid]; r != nil {
		r.there = false
		f.release(uid)
	}
}

// awaitReaders waits until the readers of a run have read all. A reader that hangs must not hide that the Job
// ended; one that waits because nobody reads the console does not hang.
func (f *Follower) awaitReaders(ctx context.Context, r *run) {
	done := make(chan struct{})
	go func() { r.readers.Wait(); close(done) }()
	timer := time.NewTimer(readerTimeout)
	defer timer.Stop()
	for last := r.passed.Load(); ; {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now := r.passed.Load()
		if now == last && !f.opts.Console.Blocked() {
			return
		}
		last = now
		timer.Reset(readerTimeout)
	}
}

// resourceName is what kubectl calls a kind: "job", or "job.batch.volcano.sh".
func resourceName(group, kindName string) string {
	word := kindName
	if kindName == "Pod" || kindName == "Node" || isCronJob(kindName) || isJob(kindName) {
		word = strings.ToLower(kindName)
	}
	if group == "" || group == batchv1.GroupName || kindName == timetableName {
		return word
	}
	return word + "." + group
}

// ObjectName is what lines call an object.
func ObjectName(group, kindName, namespace, name string) string {
	if namespace == "" {
		return resourceName(group, kindName) + "/" + name
	}
	return resourceName(group, kindName) + "/" + namespace + "/" + name
}
