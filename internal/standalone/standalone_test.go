// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package standalone

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/carillon-dev/carillon/deploy/timetable"
	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/mounts"
)

// patience bounds waits for things that happen within seconds on an idle machine.
const patience = 2 * time.Minute

// sleeper is what the container that does not end runs: an argument that nothing else on the machine has.
const sleeper = "86399.0625"

// A data directory that cannot hold a node is refused before anything is touched.
func TestUnfitDataDirectory(t *testing.T) {
	parent := t.TempDir()
	for name, test := range map[string]struct{ dir, want string }{
		"too long for sockets": {strings.Repeat("d", 120), "choose a shorter data directory"},
		"not ASCII":            {"josé", "choose another data directory"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(Options{DataDir: filepath.Join(parent, test.dir)}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("there is something now: %v, %v", left, err)
	}
}

// A throw-away Carillon runs a Job to its end, ends a Pod that would go on when it is closed, and leaves nothing: no
// process, no mount, no file. A kubelet can be started once in a process, so this is the one whole life of these tests.
func TestStandalone(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var steps []string
	s, err := New(Options{Ephemeral: true, Progress: func(step string, took time.Duration) {
		if took < 0 {
			t.Errorf("step %q took %s", step, took)
		}
		steps = append(steps, step)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if s.RESTConfig() != nil || s.DataDir() != "" {
		t.Error("there is something before the start")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(ctx); err == nil {
		t.Error("started twice")
	}
	dir := s.DataDir()
	if _, err := controlplane.LockDir(dir); err == nil {
		t.Error("the directory can be taken while it is used")
	}
	if _, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig()); err != nil {
		t.Errorf("kubeconfig: %v", err)
	}

	// Made before it is ready: nothing that the API took is lost.
	jobs := kubernetes.NewForConfigOrDie(s.RESTConfig()).BatchV1().Jobs("default")
	for name, command := range map[string][]string{"ends": {"true"}, "stays": {"sleep", sleeper}} {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "host", Command: command}},
		}}}}
		if _, err := jobs.Create(ctx, job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-s.Ready():
	case err := <-s.Err():
		t.Fatal(err)
	case <-ctx.Done():
		t.Fatal("not ready in time")
	}
	eventually(t, "one Job completes and the other runs", func(ctx context.Context) (bool, error) {
		ends, err := jobs.Get(ctx, "ends", metav1.GetOptions{})
		return err == nil && ends.Status.Succeeded == 1 && ends.Status.CompletionTime != nil && running(t, sleeper), err
	})

	servesTimetables(t, s)

	if err := s.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := s.Close(ctx); err != nil {
		t.Errorf("second close: %v", err)
	}
	select {
	case err := <-s.Err():
		t.Errorf("the close was reported as a death: %v", err)
	default:
	}
	if running(t, sleeper) {
		t.Error("the Pod runs on")
	}
	if points, err := mounts.Below(dir); err != nil || len(points) > 0 {
		t.Errorf("mounts are left: %q %v", points, err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
	for _, want := range []string{"certificates", "store", "API server", "controllers", "node", "Jobs and CronJobs", "definition of Timetable"} {
		if !strings.Contains(strings.Join(steps, ","), want) {
			t.Errorf("the step %q was not told; told were %q", want, steps)
		}
	}
}

// servesTimetables: a plane that is ready takes Timetables and Calendars, asks for the rights of their authors, and
// grants no service account anything. Definitions that are applied again are the same.
func servesTimetables(t *testing.T, s *Standalone) {
	t.Helper()
	client := dynamic.NewForConfigOrDie(s.RESTConfig())
	group := schema.GroupVersion{Group: "batch.carillon.dev", Version: "v1alpha1"}
	calendar := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group.String(), "kind": "Calendar", "metadata": map[string]any{"name": "holidays"},
		"spec": map[string]any{"periods": []any{map[string]any{"period": "12-25"}}},
	}}
	if _, err := client.Resource(group.WithResource("calendars")).Namespace("default").Create(t.Context(), calendar, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	typed := kubernetes.NewForConfigOrDie(s.RESTConfig())
	if _, err := typed.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Get(t.Context(), "carillon-timetable-author", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := typed.RbacV1().ClusterRoles().Get(t.Context(), "carillon-timetable-edit", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	bindings, err := typed.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Error(err)
	}
	for _, b := range bindings.Items {
		if strings.HasPrefix(b.Name, "carillon") {
			t.Errorf("%s binds a role", b.Name)
		}
	}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	before, err := definitions.Get(t.Context(), "timetables.batch.carillon.dev", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := applyDefinitions(t.Context(), s.RESTConfig(), timetable.Manifests()); err != nil {
		t.Error(err)
	}
	if after, err := definitions.Get(t.Context(), "timetables.batch.carillon.dev", metav1.GetOptions{}); err != nil || after.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("applied again it is another one (%v)", err)
	}
}

// A start that cannot be is refused in words that name the cure, before anything runs, and gives the directory back.
func TestStandaloneStartFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		options Options
		want    []string
		unmade  bool // it is not even made
	}{
		"the port is taken":         {options: Options{DataDir: t.TempDir(), Listen: taken.Addr().String()}, want: []string{taken.Addr().String(), "--listen"}},
		"the address is none":       {options: Options{DataDir: t.TempDir(), Listen: "6443"}, want: []string{"host:port"}, unmade: true},
		"the directory is a file":   {options: Options{DataDir: file}, want: []string{file, "--data-dir"}},
		"below a file":              {options: Options{DataDir: filepath.Join(file, "data")}, want: []string{file, "--data-dir"}},
		"no runtime at the address": {options: Options{DataDir: t.TempDir(), RuntimeEndpoint: "containerd"}, want: []string{"containerd", "unix://"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := New(test.options)
			if (err != nil) != test.unmade {
				t.Fatal(err)
			}
			if err == nil {
				err = s.Start(t.Context())
			}
			if err == nil {
				t.Fatal("started")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if test.unmade {
				return
			}
			if err := s.Close(t.Context()); err != nil {
				t.Errorf("close after a failed start: %v", err)
			}
			if test.options.DataDir == file || strings.HasPrefix(test.options.DataDir, file) {
				return
			}
			lock, err := controlplane.LockDir(test.options.DataDir)
			if err != nil {
				t.Fatalf("the directory is still held: %v", err)
			}
			lock.Release()
		})
	}
}

// A second start on a directory says who uses it and what to do, and touches nothing.
func TestStandaloneSecondStart(t *testing.T) {
	dir := t.TempDir()
	lock, err := controlplane.LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	s, err := New(Options{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Start(t.Context())
	var locked *controlplane.LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("got %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("the directory holds %v, %v", files, err)
	}
}

// A Close before any Start leaves nothing to start.
func TestStandaloneCloseFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s, err := New(Options{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Start(t.Context()); err == nil {
		t.Error("started after the close")
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
}

// A Close whose context has ended returns at once; the stop goes on by itself.
func TestStandaloneCloseIsBounded(t *testing.T) {
	s, err := New(Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s.lifecycle.Lock() // as a Start in progress would
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	s.lifecycle.Unlock()
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("the stop went on to %v", err)
	}
}

// Of several parts that die only the first is reported, and none that a stop ends.
func TestStandaloneErr(t *testing.T) {
	s, err := New(Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	first := errors.New("first")
	s.fail(first)
	s.fail(errors.New("second"))
	if err := <-s.Err(); !errors.Is(err, first) {
		t.Errorf("got %v", err)
	}
	s.cancel()
	s.fail(errors.New("third"))
	select {
	case err := <-s.Err():
		t.Errorf("a stop was reported as %v", err)
	default:
	}
}

func TestOptions(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"a directory":   {Options{DataDir: "/nowhere"}, ""},
		"thrown away":   {Options{Ephemeral: true}, ""},
		"neither":       {Options{}, "no data directory"},
		"both":          {Options{DataDir: "/nowhere", Ephemeral: true}, "leave DataDir empty"},
		"relative path": {Options{DataDir: "here"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := New(test.options)
			switch {
			case test.want != "":
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %q", err, test.want)
				}
			case err != nil:
				t.Error(err)
			case !test.options.Ephemeral && (!filepath.IsAbs(s.DataDir()) || s.Kubeconfig() != filepath.Join(s.DataDir(), "kubeconfig")):
				t.Errorf("directory %s, kubeconfig %s", s.DataDir(), s.Kubeconfig())
			}
		})
	}
}

func eventually(t *testing.T, what string, condition wait.ConditionWithContextFunc) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// running tells whether a process of the machine has the argument.
func running(t *testing.T, argument string) bool {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		// Processes may end between the two looks.
		if text, err := os.ReadFile(line); err == nil && strings.Contains(string(text), "\x00"+argument+"\x00") {
			return true
		}
	}
	return false
}
