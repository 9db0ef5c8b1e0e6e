// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

func clock() time.Time { return now }

func put(t *testing.T, s *controlplane.OpenStore, key string, kind schema.GroupVersionKind, obj runtime.Object) {
	t.Helper()
	obj.GetObjectKind().SetGroupVersionKind(kind)
	var b bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(obj, &b); err != nil {
		t.Fatal(err)
	}
	putRaw(t, s, key, b.Bytes())
}

func putRaw(t *testing.T, s *controlplane.OpenStore, key string, value []byte) {
	t.Helper()
	if _, err := s.KV.Put(t.Context(), &etcdserverpb.PutRequest{Key: []byte(registry + key), Value: value}); err != nil {
		t.Fatal(err)
	}
}

// stored reads an object of a store.
func stored[T runtime.Object](t *testing.T, s *controlplane.OpenStore, key string) T {
	t.Helper()
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw(t, s, key), nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return obj.(T)
}

func raw(t *testing.T, s *controlplane.OpenStore, key string) []byte {
	t.Helper()
	got, err := s.KV.Range(t.Context(), &etcdserverpb.RangeRequest{Key: []byte(registry + key)})
	if err != nil || len(got.Kvs) != 1 {
		t.Fatalf("%s: %v, %v", key, got, err)
	}
	return got.Kvs[0].Value
}

// inStore opens the store of a data directory.
func inStore(t *testing.T, dir string, do func(*controlplane.OpenStore)) {
	t.Helper()
	s, err := controlplane.StartStore(t.Context(), datadir.ControlPlane(dir))
	if err != nil {
		t.Fatal(err)
	}
	do(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func pod(name, node string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec:       corev1.PodSpec{NodeName: node, RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "host"}}},
		Status:     corev1.PodStatus{Phase: phase},
	}
}

// newState makes a data directory as a Carillon leaves it: some objects, a journal, a container that has ended.
func newState(t *testing.T) string {
	t.Helper()
	parent, err := os.MkdirTemp("", "cb-") // short, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	dir := filepath.Join(parent, "data")
	files := map[string]string{"node-name": "box\n", "control-plane/pki/ca.pem": "key and certificate", "control-plane/pki/service-account.key": "key",
		"journal/ended/c1/record.json": `{"id":"c1","pod":{"namespace":"default","name":"ended","uid":"uid-ended","labels":{"batch.kubernetes.io/controller-uid":"r1"}},"name":"c","ended":"2026-05-04T12:00:00Z","exitCode":0,"logs":["0.log"]}`,
		"journal/ended/c1/0.log":       "2026-05-04T11:59:59Z stdout F hello\n", "journal/ended/.c2.x/record.json": "half"}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	inStore(t, dir, func(s *controlplane.OpenStore) {
		podKind := corev1.SchemeGroupVersion.WithKind("Pod")
		for _, p := range []*corev1.Pod{pod("ran", "box", corev1.PodRunning), pod("ended", "box", corev1.PodRunning), pod("over", "box", corev1.PodSucceeded), pod("nowhere", "", corev1.PodPending)} {
			put(t, s, "pods/default/"+p.Name, podKind, p)
		}
		put(t, s, "cronjobs/default/nightly", batchv1.SchemeGroupVersion.WithKind("CronJob"), &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nightly"}, Spec: batchv1.CronJobSpec{Schedule: "0 2 * * *"}})
		put(t, s, "jobs/default/works", batchv1.SchemeGroupVersion.WithKind("Job"), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "works"}})
		put(t, s, "jobs/default/done", batchv1.SchemeGroupVersion.WithKind("Job"), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "done"}, Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}}})
		putRaw(t, s, "batch.carillon.dev/timetables/default/tt", []byte(`{"metadata":{"name":"tt","generation":3,"x":12345678901234567890},"spec":{"suspendUntil":"2026-06-01T00:00:00Z"}}`))
		putRaw(t, s, "events/default/e", []byte("{}"))
	})
	record(t, dir, run.Run{UID: "r1", Kind: "Job", Namespace: "default", Name: "done", Created: now, Ended: now, Outcome: run.Succeeded})
	return dir
}

func record(t *testing.T, dir string, runs ...run.Run) {
	t.Helper()
	j, err := journal.Open(datadir.Journal(dir), journal.Options{KeepLogs: -1})
	if err == nil {
		err = errors.Join(j.Record(t.Context(), runs, nil), j.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, dir, file string) Created {
	t.Helper()
	made, err := Create(t.Context(), CreateOptions{DataDir: dir, File: file, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// A backup of a Carillon that does not run, restored elsewhere: everything is there; what had ended has ended, and what
// ran is lost.
func TestRestoreElsewhere(t *testing.T) {
	dir := newState(t)
	parent := filepath.Dir(dir)
	file, other := filepath.Join(parent, "b"), filepath.Join(parent, "other")
	made := create(t, dir, file)
	if made.Objects != (Objects{Total: 8, CronJobs: 1, Timetables: 1, Jobs: 2, Pods: 4}) || made.Runs != 1 || made.EndedContainers != 1 || made.Node != "box" || made.Running {
		t.Errorf("%+v", made)
	}
	if info, err := os.Stat(file); err != nil || info.Size() != made.Size || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	wantNames(t, dir, "control-plane", "journal", "lock", "node-name")

	done, err := Restore(t.Context(), RestoreOptions{DataDir: other, File: file, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	if done.Lost != 1 || done.Ended != 1 || done.Suspended != (Suspended{}) || done.Aside != "" {
		t.Errorf("%+v", done)
	}
	wantNames(t, parent, "b", "data", "other")
	wantNames(t, other, "control-plane", "journal", "lock", "node-name")
	for _, name := range []string{"node-name", "control-plane/pki/ca.pem", "control-plane/pki/service-account.key", "journal/ended/c1/0.log"} {
		want, _ := os.ReadFile(filepath.Join(dir, name))
		if got, err := os.ReadFile(filepath.Join(other, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	inStore(t, other, func(s *controlplane.OpenStore) {
		for name, want := range map[string]corev1.PodPhase{"ran": corev1.PodFailed, "ended": corev1.PodSucceeded, "over": corev1.PodSucceeded, "nowhere": corev1.PodPending} {
			if got := stored[*corev1.Pod](t, s, "pods/default/"+name); got.Status.Phase != want || len(got.Spec.SchedulingGates) != 0 {
				t.Errorf("%s: %+v", name, got.Status)
			}
		}
		if c := stored[*batchv1.CronJob](t, s, "cronjobs/default/nightly"); c.Spec.Suspend != nil {
			t.Errorf("%+v", c.Spec)
		}
	})
}

// Restored with everything suspended nothing starts by itself.
func TestRestoreSuspended(t *testing.T) {
	dir := newState(t)
	var file bytes.Buffer
	if _, err := Create(t.Context(), CreateOptions{DataDir: dir, Out: &file}); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(dir), "other")
	done, err := Restore(t.Context(), RestoreOptions{DataDir: other, In: &file, Suspend: true, Now: clock})
	if err != nil || done.Suspended != (Suspended{CronJobs: 1, Timetables: 1, Jobs: 1}) {
		t.Fatalf("%+v, %v", done, err)
	}
	inStore(t, other, func(s *controlplane.OpenStore) {
		c, j, d := stored[*batchv1.CronJob](t, s, "cronjobs/default/nightly"), stored[*batchv1.Job](t, s, "jobs/default/works"), stored[*batchv1.Job](t, s, "jobs/default/done")
		if c.Spec.Suspend == nil || !*c.Spec.Suspend || c.Annotations[annotationSuspended] != "2026-05-04T12:10:00Z" || j.Spec.Suspend == nil || !*j.Spec.Suspend || d.Spec.Suspend != nil {
			t.Errorf("%+v\n%+v\n%+v", c, j, d)
		}
		want := `{"metadata":{"annotations":{"batch.carillon.dev/suspend-until-before-restore":"2026-06-01T00:00:00Z","batch.carillon.dev/suspended-by-restore":"2026-05-04T12:10:00Z"},"generation":4,"name":"tt","x":12345678901234567890},"spec":{"suspend":true}}`
		if got := string(raw(t, s, "batch.carillon.dev/timetables/default/tt")); got != want {
			t.Errorf("%s", got)
		}
		if p := stored[*corev1.Pod](t, s, "pods/default/nowhere"); len(p.Spec.SchedulingGates) != 1 {
			t.Errorf("%+v", p.Spec)
		}
	})
}

// What is there is refused, or set aside whole; the history comes back alone.
func TestRestoreOntoState(t *testing.T) {
	dir := newState(t)
	parent := filepath.Dir(dir)
	file := filepath.Join(parent, "b")
	create(t, dir, file)
	var mine *RequestError
	if _, err := Restore(t.Context(), RestoreOptions{DataDir: dir, File: file}); !errors.As(err, &mine) || !strings.Contains(err.Error(), "--replace") || !strings.Contains(err.Error(), "--runs") {
		t.Errorf("onto a state: %v", err)
	}
	if _, err := Restore(t.Context(), RestoreOptions{DataDir: parent, File: file, Replace: true}); !errors.As(err, &mine) || !strings.Contains(err.Error(), "no data directory of Carillon") {
		t.Errorf("onto another directory: %v", err)
	}

	record(t, dir, run.Run{UID: "r2", Kind: "Job", Namespace: "default", Name: "after", Created: now, Ended: now, Outcome: run.Failed})
	done, err := Restore(t.Context(), RestoreOptions{DataDir: dir, File: file, Replace: true, Now: clock})
	if want := dir + ".before-restore-20260504T121000Z"; err != nil || done.Aside != want {
		t.Fatalf("%+v, %v", done, err)
	}
	wantNames(t, parent, "b", "data", "data.before-restore-20260504T121000Z")
	if n := runs(t, dir); n != 1 {
		t.Errorf("%d runs restored", n)
	}
	if n := runs(t, done.Aside); n != 2 {
		t.Errorf("%d runs set aside", n)
	}
	// The other way round: the older history into the later state.
	done, err = Restore(t.Context(), RestoreOptions{DataDir: done.Aside, File: file, Runs: true})
	if err != nil || done.Merged != (Merged{Attempts: 1}) {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err = Restore(t.Context(), RestoreOptions{DataDir: filepath.Join(parent, "new"), File: file, Runs: true}); !errors.As(err, &mine) || !strings.Contains(err.Error(), "no history to add to") {
		t.Errorf("a mistyped name: %v", err)
	}
	wantNames(t, parent, "b", "data", "data.before-restore-20260504T121000Z")
}

func runs(t *testing.T, dir string) int64 {
	t.Helper()
	r, err := journal.OpenReader(datadir.Journal(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	extent, err := r.Extent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return extent.Runs
}

// A place that is in use is left alone, and so is one for which the backup is no good.
func TestRestoreLocked(t *testing.T) {
	dir := newState(t)
	parent := filepath.Dir(dir)
	file, other := filepath.Join(parent, "b"), filepath.Join(parent, "other")
	create(t, dir, file)
	lock, err := controlplane.LockDir(other)
	if err != nil {
		t.Fatal(err)
	}
	var mine *RequestError
	if _, err := Restore(t.Context(), RestoreOptions{DataDir: other, File: file}); !errors.As(err, &mine) || !strings.Contains(err.Error(), "--runs") || !strings.Contains(err.Error(), "stop it") {
		t.Errorf("%v", err)
	}
	lock.Release()

	// Beside a restore, or what starts just now, the history would be lost with what is set aside.
	if lock, err = controlplane.LockDir(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), RestoreOptions{DataDir: dir, File: file, Runs: true}); err == nil || !strings.Contains(err.Error(), "or is another restore; try again") {
		t.Errorf("the history beside another restore: %v", err)
	}
	lock.Release()

	// Nobody can use the new state before all is done.
	fourth := filepath.Join(parent, "fourth")
	var locked *controlplane.LockedError
	r := restoration{o: RestoreOptions{DataDir: fourth, File: file}, placing: systemCalls}
	r.o.Now, r.o.Progress, r.o.Warn = orDefaults(nil, nil, nil)
	r.placing.exchange = func(a, b string) error {
		err := exchangeAtOnce(a, b)
		if _, lerr := controlplane.LockDir(fourth); !errors.As(lerr, &locked) {
			t.Errorf("in its place it is not locked: %v", lerr)
		}
		return err
	}
	if _, err := r.run(t.Context()); err != nil || locked == nil {
		t.Errorf("%v", err)
	}

	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	third := filepath.Join(parent, "third")
	if _, err := Restore(t.Context(), RestoreOptions{DataDir: third, In: bytes.NewReader(whole[:len(whole)-100])}); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Restore(ctx, RestoreOptions{DataDir: third, File: file}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	wantNames(t, parent, "b", "data", "fourth", "other")
}

// A journal that is damaged is not in the backup, which says so and has everything else; and a backup with one is
// refused.
func TestDamagedJournal(t *testing.T) {
	for name, offset := range map[string]int64{"header": 0, "page": 3 * 4096} {
		t.Run(name, func(t *testing.T) {
			dir := newState(t)
			f, err := os.OpenFile(datadir.JournalDatabase(dir), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, 4096), offset)
			if err = errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
			file, other := filepath.Join(filepath.Dir(dir), "b"), filepath.Join(filepath.Dir(dir), "other")
			var told []string
			made, err := Create(t.Context(), CreateOptions{DataDir: dir, File: file, Warn: func(m string) { told = append(told, m) }})
			if err != nil || made.JournalDamage == "" || made.Runs != 0 || made.Objects.Total != 8 || len(told) != 1 || !strings.Contains(told[0], "history is not in this backup") {
				t.Fatalf("%+v, %v, %q", made, err, told)
			}
			if strings.Contains(made.JournalDamage, unfinished) {
				t.Errorf("it names a temporary file: %s", made.JournalDamage)
			}
			if done, err := Restore(t.Context(), RestoreOptions{DataDir: other, File: file}); err != nil || done.JournalDamage == "" {
				t.Errorf("%+v, %v", done, err)
			}

			// The same journal in a backup.
			text, err := os.ReadFile(datadir.JournalDatabase(dir))
			if err != nil {
				t.Fatal(err)
			}
			data := archive(t, map[string]string{storePart: "x", journalPart: string(text), nodeNamePart: "box", "control-plane/pki/ca.pem": "x", "control-plane/pki/service-account.key": "x"})
			third := filepath.Join(filepath.Dir(dir), "third")
			if _, err := Restore(t.Context(), RestoreOptions{DataDir: third, In: bytes.NewReader(data)}); err == nil || !strings.Contains(err.Error(), "the journal in it cannot be read") || strings.Contains(err.Error(), unfinished) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Whatever a killed restore has left, the next one finds out what it is: the new state is removed, the old one kept.
func TestRescue(t *testing.T) {
	const work = ".data.restore-unfinished-X"
	cases := map[string]struct {
		files map[string]string // in the parent, after the kill
		want  string            // the names of the parent afterwards
		told  string
	}{
		"while it was unpacked":           {map[string]string{work + "/fresh/node-name": "new"}, "", "it left is removed"},
		"before the exchange":             {map[string]string{work + "/fresh/node-name": "new", work + "/fresh/.placing": work, "data/node-name": "old"}, "data", "it left is removed"},
		"after the exchange":              {map[string]string{work + "/fresh/node-name": "old", "data/.placing": work, "data/node-name": "new"}, "data data.before-restore-20260504T121000Z", "before-restore-20260504T121000Z"},
		"of another restore":              {map[string]string{work + "/fresh/node-name": "new", "data/.placing": "Y", "data/node-name": "old"}, "data", "it left is removed"},
		"onto nothing":                    {map[string]string{work + "/fresh/lock": "", "data/.placing": work, "data/node-name": "new"}, "data", ""},
		"between two steps, then started": {map[string]string{work + "/fresh/node-name": "new", work + "/fresh/.placing": work, work + "/old/node-name": "old", "data/node-name": "new"}, "data data.before-restore-20260504T121000Z", "before-restore-20260504T121000Z"},
		"after both steps":                {map[string]string{work + "/old/node-name": "old", "data/.placing": work, "data/node-name": "new"}, "data data.before-restore-20260504T121000Z", "before-restore-20260504T121000Z"},
		"between two steps":               {map[string]string{work + "/fresh/.placing": work, work + "/old/node-name": "old"}, "data", "is in"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			for path, content := range c.files {
				path = filepath.Join(parent, path)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			var told []string
			r := restoration{dir: filepath.Join(parent, "data"), o: RestoreOptions{Now: clock, Warn: func(m string) { told = append(told, m) }}}
			if err := r.sweep(); err != nil {
				t.Fatal(err)
			}
			wantNames(t, parent, strings.Fields(c.want)...)
			if !strings.Contains(strings.Join(told, "\n"), c.told) {
				t.Errorf("told: %q", told)
			}
			for _, dir := range strings.Fields(c.want) {
				name, err := os.ReadFile(filepath.Join(parent, dir, "node-name"))
				if want := map[bool]string{true: "old", false: "new"}[strings.Contains(dir, "before") || !strings.Contains(c.told, "before")]; err != nil || string(name) != want && c.told != "" {
					t.Errorf("%s is the state %q, %v", dir, name, err)
				}
			}
		})
	}
}

// steps is a journal, and a store, that tell in which order they are used.
type steps struct {
	told []string
	fail string
}

func (s *steps) tell(step string) error {
	s.told = append(s.told, step)
	if step == s.fail {
		return errors.New("no " + step)
	}
	return nil
}

func (s *steps) Thaw() error                          { return s.tell("thaw") }
func (s *steps) CopyTo(context.Context, string) error { return s.tell("copy") }
func (s *steps) Close() error                         { return s.tell("close") }

func (s *steps) Snapshot(context.Context) (*controlplane.Snapshot, error) {
	return nil, s.tell("snapshot")
}

// The store's snapshot begins while the journal is held, and the journal is let go whatever happens.
func TestMomentOrder(t *testing.T) {
	for fail, want := range map[string]string{"freeze": "freeze", "snapshot": "freeze snapshot thaw close"} {
		s := &steps{fail: fail}
		_, err := take(t.Context(), s, func(context.Context) (frozenJournal, error) {
			if err := s.tell("freeze"); err != nil {
				return nil, err
			}
			return s, nil
		}, t.TempDir(), clock)
		if got := strings.Join(s.told, " "); err == nil || got != want {
			t.Errorf("%s fails: %s (%v)", fail, got, err)
		}
	}
}

// What the journal takes in after it was listed is in the backup all the same.
func TestEndedStaysReadable(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/record.json", "a/0.log", "b/0.log", ".c.x/record.json", "damaged/d/record.json", "e/record.json", "e/strange"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(name), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	e, err := openEnded(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	if err := e.look(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := e.look(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range e.files() {
		text, err := io.ReadAll(io.NewSectionReader(f.file, 0, f.size))
		if err != nil || f.part != "journal/ended/"+string(text) {
			t.Errorf("%s: %q, %v", f.part, text, err)
		}
		got = append(got, string(text))
	}
	if strings.Join(got, " ") != "a/0.log a/record.json e/record.json" {
		t.Errorf("%v", got)
	}
}
