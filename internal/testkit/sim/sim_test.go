// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

const ns = "work"

// setting is a world with a server and one process.
type setting struct {
	*testing.T
	world   *sim.World
	server  *sim.Server
	process *sim.Process
}

func newSetting(t *testing.T) *setting {
	w := sim.NewWorld(1)
	s := sim.NewServer(w)
	return &setting{T: t, world: w, server: s, process: s.NewProcess("process", s.Clock, nil)}
}

func (s *setting) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *setting) create(obj client.Object) {
	s.Helper()
	s.must(s.process.Client.Create(context.Background(), obj))
}

// pod makes a pod that belongs to a Job.
func (s *setting) pod(name string, owner *batchv1.Job, finalizers ...string) *corev1.Pod {
	s.Helper()
	pod := make.Pod(ns, name).New()
	pod.Finalizers = finalizers
	if owner != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("Job"))}
	}
	s.create(pod)
	return pod
}

func (s *setting) job(name string) *batchv1.Job {
	s.Helper()
	j := make.Job(ns, name).New()
	s.create(j)
	return j
}

// names of what there is of a kind.
func (s *setting) names(kind string) string {
	var names []string
	for _, obj := range s.server.List(kind) {
		name := obj.GetName()
		if obj.GetDeletionTimestamp() != nil {
			name += "(going)"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func (s *setting) want(kind, names string) {
	s.Helper()
	if got := s.names(kind); got != names {
		s.Errorf("%ss: %q, want %q", kind, got, names)
	}
}

// The server fills in what a real one does, and refuses a second object of a name.
func TestCreate(t *testing.T) {
	s := newSetting(t)
	j := s.job("j")
	if j.UID == "" || j.ResourceVersion == "" || j.Generation != 1 || j.CreationTimestamp.IsZero() || j.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel] != string(j.UID) {
		t.Errorf("created: %+v", j)
	}
	if err := s.process.Client.Create(context.Background(), make.Job(ns, "j").New()); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second j: %v", err)
	}
	generated := make.Pod(ns, "").New()
	generated.GenerateName = "p-"
	s.create(generated)
	if !strings.HasPrefix(generated.Name, "p-") || generated.Status.Phase != corev1.PodPending {
		t.Errorf("generated: %+v", generated.ObjectMeta)
	}
}

// A write that names an old version, or another object, changes nothing; a status write leaves the spec alone.
func TestConflicts(t *testing.T) {
	s, ctx := newSetting(t), context.Background()
	c := s.process.Client
	j := s.job("j")
	old := j.DeepCopy()
	j.Status.Active, j.Spec.Parallelism = 1, new(int32(7))
	s.must(c.Status().Update(ctx, j))
	if j.Status.Active != 1 || *j.Spec.Parallelism != 1 || j.Generation != 1 || j.ResourceVersion == old.ResourceVersion {
		t.Errorf("after the status write: %+v", j)
	}
	if err := c.Status().Update(ctx, old); !apierrors.IsConflict(err) {
		t.Errorf("write of an old status: %v", err)
	}
	version := j.ResourceVersion
	s.must(c.Status().Update(ctx, j))
	if j.ResourceVersion != version {
		t.Error("a write that changes nothing makes a new version")
	}
	j.Spec.Parallelism = new(int32(7))
	s.must(c.Update(ctx, j))
	if j.Generation != 2 || j.Status.Active != 1 {
		t.Errorf("after the update: %+v", j)
	}
	if err := c.Delete(ctx, j, client.Preconditions{UID: new(types.UID("another"))}); !apierrors.IsConflict(err) {
		t.Errorf("delete of another one: %v", err)
	}
	if err := c.Delete(ctx, j, client.Preconditions{ResourceVersion: &version}); !apierrors.IsConflict(err) {
		t.Errorf("delete of an old one: %v", err)
	}
	s.want("Job", "j")
}

// Patches of all three types do what they do to a server's objects.
func TestPatches(t *testing.T) {
	raw := func(how types.PatchType, body string) client.Patch { return client.RawPatch(how, []byte(body)) }
	for name, test := range map[string]struct {
		patch client.Patch
		want  string // finalizers, owners, labels; or the error
	}{
		"strategic, a finalizer goes":     {raw(types.StrategicMergePatchType, `{"metadata":{"uid":"pod-1","$deleteFromPrimitiveList/finalizers":["a/b"]}}`), "[c/d] 1 map[x:y]"},
		"strategic, a finalizer comes":    {raw(types.StrategicMergePatchType, `{"metadata":{"finalizers":["e/f"]}}`), "[e/f a/b c/d] 1 map[x:y]"},
		"strategic, an owner goes":        {raw(types.StrategicMergePatchType, `{"metadata":{"ownerReferences":[{"$patch":"delete","uid":"job-1"}]}}`), "[a/b c/d] 0 map[x:y]"},
		"strategic, another UID":          {raw(types.StrategicMergePatchType, `{"metadata":{"uid":"pod-9"}}`), "Invalid"},
		"strategic, an old version":       {raw(types.StrategicMergePatchType, `{"metadata":{"resourceVersion":"1"}}`), "Conflict"},
		"strategic, a second controller":  {raw(types.StrategicMergePatchType, `{"metadata":{"ownerReferences":[{"uid":"job-2","name":"k","kind":"Job","apiVersion":"batch/v1","controller":true}]}}`), "Invalid"},
		"merge, labels":                   {raw(types.MergePatchType, `{"metadata":{"labels":{"x":null,"z":"1"}}}`), "[a/b c/d] 1 map[z:1]"},
		"merge, more than metadata":       {raw(types.MergePatchType, `{"metadata":{"finalizers":null},"spec":{"hostname":"h"}}`), "[] 1 map[x:y]"},
		"JSON, a finalizer goes":          {raw(types.JSONPatchType, `[{"op":"test","path":"/metadata/finalizers/0","value":"a/b"},{"op":"remove","path":"/metadata/finalizers/0"}]`), "[c/d] 1 map[x:y]"},
		"JSON, a label comes":             {raw(types.JSONPatchType, `[{"op":"add","path":"/metadata/labels/a~1b","value":"c"}]`), "[a/b c/d] 1 map[a/b:c x:y]"},
		"JSON, a test that does not hold": {raw(types.JSONPatchType, `[{"op":"test","path":"/metadata/finalizers/0","value":"z"}]`), "BadRequest"},
		"of nothing":                      {raw(types.ApplyPatchType, `{}`), "BadRequest"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetting(t)
			owner := s.job("j")
			pod := s.pod("p", owner, "a/b", "c/d")
			sim.Edit(s.server, "user", "label", ns, "p", func(p *corev1.Pod) { p.Labels = map[string]string{"x": "y"} })
			err := s.process.Client.Patch(context.Background(), pod, test.patch)
			got := fmt.Sprint(pod.Finalizers, len(pod.OwnerReferences), pod.Labels)
			if err != nil {
				got = string(apierrors.ReasonForError(err))
			}
			if got != test.want {
				t.Errorf("got %s, want %s (%v)", got, test.want, err)
			}
		})
	}
}

// What is deleted goes at once, or when its node has stopped it, and not before its last finalizer is off.
func TestDeletion(t *testing.T) {
	s, ctx := newSetting(t), context.Background()
	kubelet := s.server.NewKubelet(func(pod *corev1.Pod) sim.Fate {
		return sim.Fate{Node: "node", Hangs: true, Stop: 5 * time.Second, StopExit: 143}
	})
	if kubelet == nil {
		t.Fatal("no kubelet")
	}
	s.pod("free", nil)
	s.pod("held", nil, "a/b")
	s.world.Run(time.Second)
	for _, name := range []string{"free", "held"} {
		s.must(s.process.Client.Delete(ctx, make.Pod(ns, name).Obj()))
	}
	s.want("Pod", "free(going) held(going)")
	s.world.Run(10 * time.Second)
	s.want("Pod", "held(going)")
	if pod := s.server.Get("Pod", ns, "held").(*corev1.Pod); pod.Status.Phase != corev1.PodFailed || pod.Status.ContainerStatuses[0].State.Terminated.ExitCode != 143 {
		t.Errorf("stopped: %+v", pod.Status)
	}
	sim.Edit(s.server, "user", "free", ns, "held", func(p *corev1.Pod) { p.Finalizers = nil })
	s.want("Pod", "")
	if log := s.server.Log("Pod"); !log[len(log)-1].Gone {
		t.Error("the log does not tell that it is gone")
	}
}

// The garbage collector does with dependents what the deletion of their owner asks for.
func TestGarbage(t *testing.T) {
	for how, want := range map[metav1.DeletionPropagation]struct{ atOnce, jobs, pods string }{
		metav1.DeletePropagationBackground: {"", "", "held(going)"},
		metav1.DeletePropagationForeground: {"j(going)", "j(going)", "held(going)"},
		metav1.DeletePropagationOrphan:     {"j(going)", "", "free held"},
		"":                                 {"j(going)", "", "free held"},
	} {
		t.Run("propagation "+string(how), func(t *testing.T) {
			s := newSetting(t)
			s.server.NewCollector(func(int) time.Duration { return time.Second }, "Job", "Pod")
			j := s.job("j")
			s.pod("free", j)
			s.pod("held", j, "a/b")
			s.world.Run(time.Minute)
			s.must(s.server.Delete("user", "Job", ns, "j", sim.Deletion{Propagation: how}))
			s.want("Job", want.atOnce)
			s.world.Run(2 * time.Minute)
			s.want("Job", want.jobs)
			s.want("Pod", want.pods)
			sim.Edit(s.server, "user", "free", ns, "held", func(p *corev1.Pod) { p.Finalizers = nil })
			s.world.Run(3 * time.Minute)
			s.want("Job", "")
		})
	}
}

// Every mishap tells the caller something else, and has had its effect or not.
func TestMishaps(t *testing.T) {
	made := map[sim.Mishap]bool{sim.AnswerLost: true, sim.LateTimeout: true, sim.DiesAfter: true, sim.Slow: true, sim.None: true}
	for _, m := range append(sim.Mishaps(), sim.None) {
		t.Run("it "+m.String(), func(t *testing.T) {
			s, ctx := newSetting(t), context.Background()
			s.process.Client.Mishap = func(sim.Request) sim.Mishap { return m }
			err := s.process.Client.Create(ctx, make.Pod(ns, "p").New())
			if want := m == sim.None || m == sim.Slow; want != (err == nil) {
				t.Errorf("answer: %v", err)
			}
			if (s.names("Pod") == "p") != made[m] {
				t.Errorf("made: %q", s.names("Pod"))
			}
			dead := m == sim.DiesBefore || m == sim.DiesAfter
			if s.process.Dead() != dead {
				t.Errorf("the process is dead: %t", s.process.Dead())
			}
			s.process.Client.Mishap = nil
			if err := s.process.Client.Create(ctx, make.Pod(ns, "q").New()); dead != errors.Is(err, context.Canceled) {
				t.Errorf("the next request: %v", err)
			}
		})
	}
}

// A cache sees every change, in order and late; its handlers hear of them when it has them; one that
// stalls catches up, one that lists anew sees what changes add up to.
func TestCache(t *testing.T) {
	s := newSetting(t)
	s.process.Lag = func(_ string, n int) time.Duration { return map[int]time.Duration{3: time.Second}[n] }
	s.pod("before", nil)
	jobs := s.process.Follow("Job", nil, 0)
	cache := s.process.Follow("Pod", toolscache.Indexers{"phase": func(obj any) ([]string, error) {
		return []string{string(obj.(*corev1.Pod).Status.Phase)}, nil
	}}, 0)
	var heard []string
	sim.Handle(cache, handler.TypedFuncs[*corev1.Pod, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Pod], _ queue) {
			heard = append(heard, "+"+e.Object.Name)
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*corev1.Pod], _ queue) {
			heard = append(heard, "~"+e.ObjectNew.Name)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*corev1.Pod], _ queue) {
			heard = append(heard, "-"+e.Object.Name)
		},
	}, nil)
	wantHeard := func(want string) {
		t.Helper()
		if got := strings.Join(heard, " "); got != want {
			t.Errorf("heard %q, want %q", got, want)
		}
		heard = nil
	}
	s.world.Run(0)
	wantHeard("+before")
	for _, name := range []string{"c", "a", "b"} {
		s.pod(name, nil)
	}
	s.world.Run(500 * time.Millisecond)
	wantHeard("+c")
	s.world.Run(2 * time.Second)
	wantHeard("+a +b")
	pending, _ := cache.ByIndex("phase", "Pending")
	var names []string
	for _, obj := range pending {
		names = append(names, obj.(*corev1.Pod).Name)
	}
	if diff := cmp.Diff([]string{"a", "b", "before", "c"}, names); diff != "" {
		t.Errorf("in order (-want +got):\n%s", diff)
	}
	if got := cache.LastStoreSyncResourceVersion(); got != s.server.Get("Pod", ns, "b").GetResourceVersion() {
		t.Errorf("progress %s", got)
	}
	s.process.Stall("Pod", time.Minute)
	sim.Edit(s.server, "user", "edit", ns, "a", func(p *corev1.Pod) { p.Labels = map[string]string{"a": "1"} })
	sim.Edit(s.server, "user", "edit", ns, "a", func(p *corev1.Pod) { p.Labels = map[string]string{"a": "2"} })
	s.must(s.server.Delete("user", "Pod", ns, "c", sim.Deletion{}))
	s.world.Run(10 * time.Second)
	wantHeard("")
	if cache.Behind() != 3 || jobs.Behind() != 0 {
		t.Errorf("behind by %d", cache.Behind())
	}
	s.process.Relist()
	s.world.Run(11 * time.Second)
	wantHeard("~a -c")
	s.world.Run(2 * time.Minute)
	wantHeard("")
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// A queue works on a key once at a time, again if it was added meanwhile, and later after an error; what was
// added by a process that died does not happen.
func TestQueue(t *testing.T) {
	s := newSetting(t)
	key := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: "k"}}
	s.process.Client.Latency = func(sim.Request) (time.Duration, time.Duration) { return time.Second, 0 }
	var at []time.Duration
	var q *sim.Queue
	q = s.process.NewQueue("queue", time.Second, time.Minute, func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		at = append(at, s.world.Now())
		switch len(at) {
		case 1:
			q.Add(r)
			return reconcile.Result{}, s.process.Client.Get(ctx, r.NamespacedName, &corev1.Pod{})
		case 2:
			return reconcile.Result{}, errors.New("an error")
		case 3:
			return reconcile.Result{RequeueAfter: 10 * time.Second}, nil
		}
		s.process.Kill("in a sync")
		q.Add(r)
		return reconcile.Result{}, nil
	})
	q.Add(key)
	q.AddAfter(key, time.Minute)
	s.world.Run(time.Hour)
	// The request takes a second and fails, as does the second sync: one second, then two.
	if diff := cmp.Diff([]time.Duration{0, time.Second, 3 * time.Second, 13 * time.Second}, at); diff != "" {
		t.Errorf("syncs (-want +got):\n%s\n%s", diff, s.world.Story)
	}
}

// Something that is worked on again and again although nothing changes is found.
func TestSpin(t *testing.T) {
	s := newSetting(t)
	key := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: "k"}}
	q := s.process.NewQueue("queue", time.Second, time.Minute, func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{RequeueAfter: time.Millisecond}, nil
	})
	q.Add(key)
	s.world.Run(time.Hour)
	if !strings.Contains(s.world.Broken(), "spins") || s.world.Now() > time.Second {
		t.Errorf("broken: %q at %s", s.world.Broken(), s.world.Now())
	}
}

// A clock can be wrong and be set; a timer fires by the clock, not by the time that passed.
func TestTimers(t *testing.T) {
	s := newSetting(t)
	key := types.NamespacedName{Namespace: ns, Name: "k"}
	var fired []time.Duration
	q := s.process.NewQueue("queue", time.Second, time.Minute, func(context.Context, reconcile.Request) (reconcile.Result, error) {
		fired = append(fired, s.world.Now())
		return reconcile.Result{}, nil
	})
	timers := &sim.Timers{}
	s.process.Wake(timers, func() []types.NamespacedName { return []types.NamespacedName{key} },
		func(key types.NamespacedName) { q.Add(reconcile.Request{NamespacedName: key}) })
	timers.Wake(key, s.process.Clock.Now().Add(time.Hour))
	q.Add(reconcile.Request{NamespacedName: key}) // the agenda looks at the timers after it
	s.world.Run(time.Minute)
	s.process.Clock.Step(40 * time.Minute)
	s.world.Run(2 * time.Hour)
	if len(fired) != 2 || fired[1] != 20*time.Minute {
		t.Errorf("fired at %v", fired)
	}
	timers.Wake(key, s.process.Clock.Now().Add(time.Hour))
	q.Add(reconcile.Request{NamespacedName: key})
	s.world.Run(2*time.Hour + time.Minute)
	s.process.Clock.Step(59 * time.Minute)
	s.world.Run(2*time.Hour + 2*time.Minute)
	if late := fired[len(fired)-1] - (2*time.Hour + time.Minute); late < 0 || late > 10*time.Second {
		t.Errorf("after the clock was set it fired %s late", late)
	}
}

// Lists answer label selectors, and dice the same question the same way.
func TestListAndDice(t *testing.T) {
	s := newSetting(t)
	for _, name := range []string{"b", "a", "c"} {
		pod := make.Pod(ns, name).Label("letter", name).New()
		s.create(pod)
	}
	selector, _ := labels.Parse("letter in (a,b)")
	var list corev1.PodList
	s.must(s.process.Client.List(context.Background(), &list, client.InNamespace(ns), client.MatchingLabelsSelector{Selector: selector}))
	if len(list.Items) != 2 || list.Items[0].Name != "a" {
		t.Errorf("listed %d", len(list.Items))
	}
	d, seen := sim.Dice(7), map[int]int{}
	for i := range 6000 {
		n := d.Roll(6, "question", uint64(i))
		if n != d.Roll(6, "question", uint64(i)) {
			t.Fatal("another answer to the same question")
		}
		seen[n]++
	}
	for n, times := range seen {
		if times < 800 || times > 1200 || n < 0 || n > 5 {
			t.Errorf("%d came %d times of 6000", n, times)
		}
	}
}
