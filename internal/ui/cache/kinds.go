// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

var (
	timetableKind = kind.Timetable{}.Info().Owner
	jobKind       = batchv1.SchemeGroupVersion.WithKind("Job")
)

// scheme has the Go types of what is watched.
var scheme = sync.OnceValues(func() (*runtime.Scheme, error) {
	all := runtime.NewScheme()
	for _, k := range kind.Owners {
		if err := k.AddToScheme(all); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// wanted are the kinds to be watched.
func (c *Cache) wanted() []*watched {
	reader := workload.NewReader(workload.Options{})
	known, err := scheme()
	if err != nil { // the kinds are part of the program
		panic(err)
	}
	add := func(w *watched) *watched {
		w.settled, w.again = make(chan struct{}), make(chan struct{}, 1)
		return w
	}
	calendars := add(&watched{name: "Calendars", example: &v1alpha1.Calendar{}, list: func() client.ObjectList { return &v1alpha1.CalendarList{} }, optional: true})
	calendarStore := &calendarStore{reader: reader, known: map[types.NamespacedName]*v1alpha1.Calendar{}}
	calendars.store = calendarStore
	all := []*watched{calendars}
	for _, k := range kind.Owners {
		info := k.Info()
		w := add(&watched{name: inWords(info), example: newOf(known, info.Owner), optional: info.Owner.Group != batchv1.GroupName, about: aboutSchedules})
		w.list = func() client.ObjectList { return newListOf(known, info.Owner) }
		w.store = &scheduleStore{kind: k, reader: reader, schedules: c.schedules}
		if info.Owner == timetableKind {
			w.after = calendars
			calendarStore.changed = func(name types.NamespacedName) {
				if c.schedules.names(name) {
					select {
					case w.again <- struct{}{}:
					default:
					}
				}
			}
		}
		all = append(all, w)
	}
	jobs := add(&watched{name: "Jobs", example: &batchv1.Job{}, list: func() client.ObjectList { return &batchv1.JobList{} }, about: aboutRuns})
	jobs.store = &runStore{c.runs, jobKind.String()}
	all = append(all, jobs)
	for _, k := range kind.All {
		info := k.Info()
		if info.Child == jobKind {
			continue
		}
		example := &unstructured.Unstructured{}
		example.SetGroupVersionKind(info.Child)
		w := add(&watched{name: info.Child.Kind + "s of " + info.Child.Group, example: example, optional: true, about: aboutRuns, store: &runStore{c.runs, info.Child.String()}})
		w.list = func() client.ObjectList {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(info.Child.GroupVersion().WithKind(info.Child.Kind + "List"))
			return list
		}
		all = append(all, w)
	}
	return all
}

// inWords names a kind of schedule: "CronJobs", "CronJobs of batch.volcano.sh", "Timetables".
func inWords(info kind.Info) string {
	if info.Owner.Group == batchv1.GroupName || info.Owner == timetableKind {
		return info.Owner.Kind + "s"
	}
	return info.Owner.Kind + "s of " + info.Owner.Group
}

// newOf makes an object of a kind of the scheme; it panics if that has none: the kinds are part of the program.
func newOf(known *runtime.Scheme, gvk schema.GroupVersionKind) client.Object {
	made, err := known.New(gvk)
	if err != nil {
		panic(err)
	}
	return made.(client.Object)
}

func newListOf(known *runtime.Scheme, gvk schema.GroupVersionKind) client.ObjectList {
	gvk.Kind += "List"
	made, err := known.New(gvk)
	if err != nil {
		panic(err)
	}
	return made.(client.ObjectList)
}

// watch watches all kinds until ctx ends.
func (c *Cache) watch(ctx context.Context) {
	reach := c.o.client
	for reach == nil {
		var err error
		if reach, err = c.connect(); err == nil {
			break
		}
		c.o.Log.Error("The API server cannot be reached and is tried again", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(late):
		}
	}
	var tasks sync.WaitGroup
	defer tasks.Wait()
	for _, w := range c.kinds {
		tasks.Go(func() {
			w.run(ctx, c.o.Log, reach, c.o.Namespace, func(trouble string) {
				if trouble != "" {
					c.o.Log.Warn(w.name + " " + trouble)
				} else {
					c.o.Log.Info(w.name + " are known again")
				}
				c.changed()
			})
		})
	}
}

// connect makes a client that reads built-in kinds in their compact encoding. What comes from this machine is not
// compressed on the way: that takes longer than the way.
func (c *Cache) connect() (client.WithWatch, error) {
	known, err := scheme()
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(c.o.Server.Config)
	config.ContentType, config.AcceptContentTypes = "", "" // what suits each kind
	config.QPS = -1
	config.DisableCompression = c.o.DataDir != ""
	return client.NewWithWatch(config, client.Options{Scheme: known})
}

// scheduleStore takes in CronJobs of one kind, or Timetables. It is a toolscache.TransformingStore.
type scheduleStore struct {
	kind      kind.Kind
	reader    *workload.Reader
	schedules *schedules
}

// seenSchedule is what is kept of one. refused says why it is none of its API.
type seenSchedule struct {
	adapter.Object
	scheduled *workload.Scheduled
	refused   error
}

func (s *scheduleStore) read(obj any) *seenSchedule {
	if seen, ok := obj.(*seenSchedule); ok {
		return seen
	}
	typed, ok := obj.(adapter.Object)
	if !ok {
		return nil
	}
	scheduled, err := s.reader.Read(s.kind, typed)
	if err != nil {
		return &seenSchedule{Object: typed, refused: err}
	}
	scheduled.Slim()
	return &seenSchedule{Object: typed, scheduled: scheduled}
}

func (s *scheduleStore) identityOf(obj adapter.Object) identity {
	owner := s.kind.Info().Owner
	return identity{owner.Group, owner.Kind, obj.GetNamespace(), obj.GetName()}
}

// Transformer implements toolscache.TransformingStore.
func (s *scheduleStore) Transformer() toolscache.TransformFunc {
	return func(obj any) (any, error) {
		if seen := s.read(obj); seen != nil {
			return seen, nil
		}
		return obj, nil
	}
}

// Add implements toolscache.ReflectorStore.
func (s *scheduleStore) Add(obj any) error {
	switch seen := s.read(obj); {
	case seen == nil:
	case seen.refused != nil:
		s.schedules.refuse(s.identityOf(seen), seen.refused)
	default:
		s.schedules.put(seen.scheduled)
	}
	return nil
}

// Update implements toolscache.ReflectorStore.
func (s *scheduleStore) Update(obj any) error { return s.Add(obj) }

// Delete implements toolscache.ReflectorStore.
func (s *scheduleStore) Delete(obj any) error {
	if typed, ok := obj.(adapter.Object); ok {
		s.schedules.remove(s.identityOf(typed))
	}
	return nil
}

// Replace implements toolscache.ReflectorStore.
func (s *scheduleStore) Replace(all []any, _ string) error {
	ids := make(map[identity]bool, len(all))
	for n, obj := range all {
		if seen := s.read(obj); seen != nil {
			ids[s.identityOf(seen)] = true
			_ = s.Add(seen) // it gives none
		}
		all[n] = nil
	}
	owner := s.kind.Info().Owner
	s.schedules.keepOnly(owner.Group, owner.Kind, ids)
	return nil
}

// Resync implements toolscache.ReflectorStore.
func (s *scheduleStore) Resync() error { return nil }
