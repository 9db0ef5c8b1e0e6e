// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/controller/job"
	"github.com/carillon-dev/carillon/internal/controller/scheduled"
	"github.com/carillon-dev/carillon/internal/controller/ttl"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/kube/loadgate"
)

// Names of the controllers.
const (
	CronJob          = "cronjob"
	Job              = "job"
	TTLAfterFinished = "ttl-after-finished"
	Timetable        = "timetable"
)

// DefaultControllers run on a cluster when none are asked for. Finished Jobs are left to the cluster's own
// ttl-after-finished controller, which serves all Jobs, whoever runs them.
var DefaultControllers = []string{CronJob, Job}

// shared is what the controllers of one manager have in common. The gate is one, because what is urgent in one
// controller goes before what can wait in any other: they ask the same API server.
type shared struct {
	gate *loadgate.Gate
	// pauseChanged is called about kinds that are left to another controller.
	pauseChanged func(kind, why string)
}

func (s shared) cronJob(o Options) scheduled.Options {
	return scheduled.Options{
		Kinds: o.Kinds, Clock: o.Clock, Zone: o.Zone, ConcurrentSyncs: o.Syncs.CronJobs,
		Witness: o.Witness, LeaderElect: o.LeaderElect, Discovery: o.Discovery, TakeoverAfter: o.TakeoverAfter, PauseChanged: s.pauseChanged, Gate: s.gate,
	}
}

func (s shared) job(o Options) job.Options {
	return job.Options{Standalone: o.Standalone, ConcurrentSyncs: o.Syncs.Jobs, Clock: o.Clock, Gate: s.gate}
}

// controllers is the list of all there are: how each is set up, and the types whose caches it reads.
var controllers = map[string]struct {
	add   func(ctrl.Manager, Options, shared) error
	needs []client.Object
}{
	CronJob: {
		add: func(mgr ctrl.Manager, options Options, shared shared) error {
			return scheduled.Add(mgr, shared.cronJob(options))
		},
		needs: []client.Object{&batchv1.CronJob{}, &batchv1.Job{}},
	},
	Job: {
		add: func(mgr ctrl.Manager, options Options, shared shared) error {
			return job.Add(mgr, shared.job(options))
		},
		needs: []client.Object{&batchv1.Job{}, &corev1.Pod{}},
	},
	TTLAfterFinished: {
		add: func(mgr ctrl.Manager, options Options, _ shared) error {
			o := ttl.Options{ConcurrentSyncs: options.Syncs.TTLs, Clock: options.Clock}
			if options.Witness != nil {
				o.MayDelete = options.Witness.MayPrune
			}
			return ttl.Add(mgr, o)
		},
		needs: []client.Object{&batchv1.Job{}},
	},
	Timetable: {
		add: func(mgr ctrl.Manager, options Options, shared shared) error {
			o := shared.cronJob(options)
			o.Kinds = []kind.Kind{options.timetable()}
			return scheduled.Add(mgr, o)
		},
	},
}

// The least interval between two times of one schedule of a Timetable, unless Options say otherwise. One start a second
// is what a machine of one's own bears.
const (
	// MinTimetableInterval is that of a cluster.
	MinTimetableInterval           = 10 * time.Second
	minTimetableIntervalStandalone = time.Second
)

// timetable is the kind Timetable as the options have it.
func (o Options) timetable() kind.Timetable {
	least := o.TimetableMinInterval
	switch {
	case least == 0 && o.Standalone:
		least = minTimetableIntervalStandalone
	case least == 0:
		least = MinTimetableInterval
	}
	return kind.Timetable{MinInterval: least, Compilations: timetable.NewCompilations()}
}

// trimJob is the transform for Jobs in the cache when these controllers run.
func (o Options) trimJob(names []string) toolscache.TransformFunc {
	if !slices.Contains(names, Job) {
		return job.TrimJob(nil)
	}
	return job.TrimJob(new(shared{}.job(o)))
}

// Names are the names of all controllers, sorted.
func Names() []string { return slices.Sorted(maps.Keys(controllers)) }

// selected gives the controllers to run, each once, in the order of Names.
func selected(options Options) ([]string, error) {
	asked := options.Controllers
	if asked == nil {
		asked = DefaultControllers
		if options.Standalone {
			asked = Names()
		}
	}
	if err := CheckControllers(asked); err != nil {
		return nil, fmt.Errorf("manager: %w", err)
	}
	return slices.Compact(slices.Sorted(slices.Values(asked))), nil
}

// CheckControllers says what is wrong with a list of names of controllers.
func CheckControllers(names []string) error {
	var unknown []string
	for _, name := range names {
		if _, ok := controllers[name]; !ok {
			unknown = append(unknown, fmt.Sprintf("%q", name))
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("no controller is called %s; there are: %s", strings.Join(unknown, ", "), strings.Join(Names(), ", "))
	}
	if len(names) == 0 {
		return fmt.Errorf("no controller is asked for; there are: %s", strings.Join(Names(), ", "))
	}
	return nil
}
