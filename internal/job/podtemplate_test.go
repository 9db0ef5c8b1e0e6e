// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func firstPod(t *testing.T, j *batchv1.Job) *corev1.Pod {
	t.Helper()
	p := Decide(Snapshot{Job: j, Now: now, PodsCurrent: true, Options: Options{Standalone: true}})
	if len(p.Create) == 0 {
		t.Fatalf("no pod: %s", p)
	}
	return p.Create[0].Pod
}

// 10.2: what a pod of a Job looks like.
func TestPodsOfAJob(t *testing.T) {
	t.Parallel()
	rich := func(j *batchv1.Job) {
		template := &j.Spec.Template
		template.Name = "template"
		template.OwnerReferences = []metav1.OwnerReference{{Name: "nobody"}}
		template.Annotations = map[string]string{"note": "kept"}
		template.Finalizers = []string{"x/y"}
		template.Spec.Hostname = "mine"
		template.Spec.InitContainers = []corev1.Container{{Name: "init"}}
		template.Spec.Containers = append(template.Spec.Containers, corev1.Container{Name: "own", Env: []corev1.EnvVar{{Name: indexVariable, Value: "7"}}})
	}
	t.Run("JOB-030 Q-20 the Job is the one owner, finalizers", func(t *testing.T) {
		t.Parallel()
		pod := firstPod(t, aJob("", rich))
		want := []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job-uid", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}}
		if d := cmp.Diff(want, pod.OwnerReferences); d != "" {
			t.Errorf("owners (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]string{"x/y", Finalizer}, pod.Finalizers); d != "" {
			t.Errorf("JOB-037 finalizers (-want +got):\n%s", d)
		}
		if pod.Namespace != "ns" || pod.Annotations["note"] != "kept" || pod.Labels["job-name"] != "job" {
			t.Errorf("metadata of the template is not there: %+v", pod.ObjectMeta)
		}
	})
	t.Run("JOB-031 NonIndexed", func(t *testing.T) {
		t.Parallel()
		pod := firstPod(t, aJob("", rich))
		if pod.GenerateName != "job-" || pod.Spec.Hostname != "mine" || pod.Annotations[indexKey] != "" || pod.Labels[indexKey] != "" || len(pod.Spec.Containers[0].Env) != 0 {
			t.Errorf("traces of an index: %+v", pod)
		}
	})
	t.Run("JOB-032 JOB-033 JOB-036 Indexed", func(t *testing.T) {
		t.Parallel()
		pod := firstPod(t, aJob("indexed", rich))
		if pod.GenerateName != "job-0-" || !strings.HasPrefix(pod.Name, "job-0-") || pod.Spec.Hostname != "job-0" || pod.Annotations[indexKey] != "0" || pod.Labels[indexKey] != "0" {
			t.Errorf("the index is not told: %+v", pod)
		}
		want := []corev1.EnvVar{{Name: "JOB_COMPLETION_INDEX", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']"}}}}
		if d := cmp.Diff(want, pod.Spec.Containers[0].Env); d != "" {
			t.Errorf("environment (-want +got):\n%s", d)
		}
		if d := cmp.Diff(want, pod.Spec.InitContainers[0].Env); d != "" {
			t.Errorf("JOB-035 environment of the init container (-want +got):\n%s", d)
		}
		if env := pod.Spec.Containers[1].Env; len(env) != 1 || env[0].Value != "7" {
			t.Errorf("JOB-035 the user's variable was touched: %v", env)
		}
	})
	t.Run("JOB-038 the finalizer once", func(t *testing.T) {
		t.Parallel()
		pod := firstPod(t, aJob("", func(j *batchv1.Job) { j.Spec.Template.Finalizers = []string{Finalizer, "x/y"} }))
		if d := cmp.Diff([]string{Finalizer, "x/y"}, pod.Finalizers); d != "" {
			t.Errorf("finalizers (-want +got):\n%s", d)
		}
	})
	t.Run("JOB-232 JOB-240 failure counts", func(t *testing.T) {
		t.Parallel()
		j := aJob("p2 c2 indexed blpi3", failurePolicy(onExit(batchv1.PodFailurePolicyActionIgnore, 3)), func(j *batchv1.Job) { j.Spec.Template.Labels = nil })
		if pod := firstPod(t, j); pod.Annotations[failureCountKey] != "0" || pod.Annotations[ignoredCountKey] != "" {
			t.Errorf("first pod: %v", pod.Annotations)
		}
		for name, test := range map[string]struct{ pod, counted, ignored string }{
			"a failure":                {"a failed i0 fc1", "2", ""},
			"an ignored failure":       {"a failed exit3 i0 fc1", "1", "1"},
			"a failure after ignored":  {"a failed i0 fc1 ic2", "2", "2"},
			"JOB-245 nothing readable": {"a failed i0 fc-5 icx", "1", ""},
			"JOB-245 too large":        {"a failed i0 fc2147483648", "1", ""},
		} {
			p := Decide(Snapshot{Job: j, Pods: append(somePods(test.pod), aPod("b running i1 fc0")), Now: now, PodsCurrent: true, Options: Options{Standalone: true}})
			if len(p.Create) != 1 {
				t.Errorf("%s: %s", name, p)
				continue
			}
			if a := p.Create[0].Pod.Annotations; a[failureCountKey] != test.counted || a[ignoredCountKey] != test.ignored {
				t.Errorf("%s: counts %q and %q, want %q and %q", name, a[failureCountKey], a[ignoredCountKey], test.counted, test.ignored)
			}
		}
	})
	t.Run("JOB-245 the largest count fails the index", func(t *testing.T) {
		t.Parallel()
		if n := readCount(aPod("a fc2147483647"), failureCountKey); n != 2147483647 {
			t.Errorf("read %d", n)
		}
	})
}

// JOB-034: the index survives a long name.
func TestGenerateName(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		job   string
		index int
		want  string
	}{
		"no index":               {"job", -1, "job-"},
		"70 characters":          {strings.Repeat("n", 70), 1, strings.Repeat("n", 55) + "-1-"},
		"55 characters just fit": {strings.Repeat("n", 55), 1, strings.Repeat("n", 55) + "-1-"},
		"57 characters do not":   {strings.Repeat("n", 57), 1, strings.Repeat("n", 55) + "-1-"},
		"no room for the dash":   {strings.Repeat("n", 253), -1, strings.Repeat("n", 253)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := generateName(test.job, test.index); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if pod := PodName(test.job, "uid", test.index, 0); len(pod) > 63 || len(pod) != min(len(test.want), 58)+5 {
				t.Errorf("name %q has %d characters", pod, len(pod))
			}
		})
	}
}

// OPT-08: a name is a function of the Job, the index and the attempt.
func TestPodNamesAreDeterministic(t *testing.T) {
	t.Parallel()
	if a, b := PodName("job", "u", 3, 1), PodName("job", "u", 3, 1); a != b {
		t.Errorf("%s and %s for the same pod", a, b)
	}
	seen := map[string]bool{}
	for _, uid := range []string{"u", "v"} {
		for index := -1; index < 3; index++ {
			for attempt := range 3 {
				name := PodName("job", types.UID(uid), index, attempt)
				if seen[name] {
					t.Errorf("%s names two pods", name)
				}
				seen[name] = true
			}
		}
	}
}

// CP-01, CP-02: deciding again from the same view, or from one that shows some of the pods, asks for the same names and
// for no other.
func TestDecidingAgainMakesNoOtherPods(t *testing.T) {
	t.Parallel()
	for name, j := range map[string]*batchv1.Job{"NonIndexed": aJob("p5 c9"), "Indexed": aJob("p5 c9 indexed"), "per index": aJob("p5 c9 indexed blpi1")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names := func(pods []*corev1.Pod) map[string]bool {
				m := map[string]bool{}
				for _, c := range Decide(Snapshot{Job: j, Pods: pods, Now: now, PodsCurrent: true, Options: Options{Standalone: true}}).Create {
					m[c.Pod.Name] = true
				}
				return m
			}
			all := names(nil)
			if d := cmp.Diff(all, names(nil)); d != "" {
				t.Errorf("other names the second time:\n%s", d)
			}
			var some []*corev1.Pod
			for _, c := range Decide(Snapshot{Job: j, Now: now, PodsCurrent: true, Options: Options{Standalone: true}}).Create[1:3] {
				pod := c.Pod.DeepCopy()
				pod.UID = types.UID(pod.Name)
				some = append(some, pod)
			}
			rest := names(some)
			for _, pod := range some {
				rest[pod.Name] = true
			}
			if d := cmp.Diff(all, rest); d != "" {
				t.Errorf("with some of them made, others are asked for:\n%s", d)
			}
		})
	}
}
