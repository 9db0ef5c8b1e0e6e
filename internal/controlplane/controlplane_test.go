// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/carillon-dev/carillon/internal/version"
)

// patience bounds waits for things that happen within seconds on an idle machine.
const patience = 2 * time.Minute

// One plane is started, used, stopped and started again in this process: everything that a client can see is there, and
// the second life has the data, the address and the certificates of the first. Nothing of a life goes on after it.
func TestControlPlane(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	before := runtime.NumGoroutine()

	first := start(t, Options{DataDir: dir})
	admin := first.AdminConfig()
	client := kubernetes.NewForConfigOrDie(admin)
	<-first.api.defaults // Start does not wait for the default roles
	tests := map[string]func(*testing.T, *ControlPlane, kubernetes.Interface){
		"says which Kubernetes it is":                         testVersion,
		"the kubeconfig works and is private":                 testKubeconfig,
		"strangers are turned away":                           testStrangers,
		"service account tokens are signed and limited":       testTokens,
		"dependents and namespaces are collected":             testGarbage,
		"quotas are counted and kept":                         testQuotas,
		"default roles are aggregated":                        testRoles,
		"custom resources are served":                         testCustomResources,
		"a node has its own rights and no more":               testNodeCredentials,
		"the scheduler binds Pods":                            testScheduler,
		"logs come from the kubelet's address, authenticated": testKubelet,
		"the directory cannot be used twice":                  testSecondStart,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, first, client) })
	}

	ctx := t.Context()
	if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: podSpec()}}}
	if _, err := client.BatchV1().Jobs("default").Create(ctx, job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kubeconfig := string(read(t, first.Kubeconfig()))
	stop(t, first)
	if first.AdminConfig() != nil {
		t.Error("a closed plane still gives out credentials")
	}
	if _, err := net.Dial("tcp", first.Address()); err == nil {
		t.Error("a closed plane still listens")
	}
	waitForGoroutines(t, before)

	second := start(t, Options{DataDir: dir})
	if got, want := second.Address(), first.Address(); got != want {
		t.Errorf("address %s in the second life, %s in the first", got, want)
	}
	if string(read(t, second.Kubeconfig())) != kubeconfig {
		t.Error("the kubeconfig changed over the restart")
	}
	client = kubernetes.NewForConfigOrDie(second.AdminConfig())
	if _, err := client.CoreV1().Namespaces().Get(ctx, "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("the namespace did not survive: %v", err)
	}
	if _, err := client.BatchV1().Jobs("default").Get(ctx, "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("the Job did not survive: %v", err)
	}
	testGarbage(t, second, client)
	stop(t, second)
	waitForGoroutines(t, before)
}

// The plane serves on any address of the machine, of either family, and its kubeconfig reaches it there.
func TestControlPlaneListens(t *testing.T) {
	addresses := []string{"0.0.0.0:0"}
	if l, err := net.Listen("tcp", "[::1]:0"); err == nil { // machines without IPv6 exist
		l.Close()
		addresses = append(addresses, "[::1]:0")
	}
	for _, address := range addresses {
		t.Run(address, func(t *testing.T) {
			c := start(t, Options{DataDir: filepath.Join(t.TempDir(), "data"), Listen: address, Ephemeral: true, NoScheduler: true})
			defer stop(t, c)
			config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
			if err != nil {
				t.Fatal(err)
			}
			testVersion(t, c, kubernetes.NewForConfigOrDie(config))
			testVersion(t, c, kubernetes.NewForConfigOrDie(c.AdminConfig()))
		})
	}
}

// A plane whose store ends by itself reports it and can still be closed.
func TestControlPlaneReportsDeath(t *testing.T) {
	c := start(t, Options{DataDir: t.TempDir(), Ephemeral: true, NoScheduler: true})
	select {
	case err := <-c.Err():
		t.Fatalf("reported %v while all was well", err)
	default:
	}
	c.etcd.server.Server.Stop()
	if err := <-c.Err(); err == nil {
		t.Error("reported nothing")
	}
	// How long an API server without its store takes to stop is its own affair; that it does not hold up the rest is
	// ours.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Close(ctx); ctx.Err() != nil {
		t.Errorf("close: %v", err)
	}
}

// A stop may come while the API server is still busy with its start, as it does with a short run: it ends the plane and
// not the process, and is no death.
func TestControlPlaneStopsAtOnce(t *testing.T) {
	for range 2 {
		stop(t, start(t, Options{DataDir: filepath.Join(t.TempDir(), "data"), Ephemeral: true}))
	}
}

// A component that wants to end the process ends its goroutine, and the planes that run say so with its last words.
func TestComponentsDoNotEndTheProcess(t *testing.T) {
	logKubernetes(&logSink{out: io.Discard}, 0)
	for name, test := range map[string]struct {
		end  func()
		want string
	}{
		"fatal": {func() { klog.Fatalf("ran out of %s", "luck") }, "ran out of luck"},
		"exit":  {func() { klog.FlushAndExit(time.Second, 1) }, "gave up"},
	} {
		t.Run(name, func(t *testing.T) {
			running, err := New(Options{DataDir: "/nowhere"})
			if err != nil {
				t.Fatal(err)
			}
			running.live()
			defer running.die()
			if err := guarded(func() error { test.end(); return nil }); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the call gave %v, want %q", err, test.want)
			}
			if err := <-running.Err(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("reported was %v, want %q", err, test.want)
			}
		})
	}
}

// A start that fails says why in terms of the cure, leaves nothing behind and spends the value.
func TestControlPlaneStartFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	for name, test := range map[string]struct {
		ctx     context.Context
		options Options
		want    string
	}{
		"port taken":     {t.Context(), Options{DataDir: dir, Listen: taken.Addr().String()}, "--listen"},
		"feature gate":   {t.Context(), Options{DataDir: dir, FeatureGates: map[string]bool{"NoSuchGate": true}}, "NoSuchGate"},
		"cancelled":      {cancelled, Options{DataDir: dir}, "canceled"},
		"no directory":   {t.Context(), Options{DataDir: "/dev/null/x"}, "--data-dir"},
		"log unwritable": {t.Context(), Options{DataDir: blockedLog(t)}, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := New(test.options)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(test.ctx); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if err := c.Start(t.Context()); err == nil {
				t.Error("a spent value started")
			}
			if err := c.Close(t.Context()); err != nil {
				t.Errorf("close after a failed start: %v", err)
			}
			lock, err := LockDir(dir)
			if err != nil {
				t.Fatalf("the directory is still held: %v", err)
			}
			lock.Release()
		})
	}
}

// Close before Start leaves nothing to start.
func TestControlPlaneCloseFirst(t *testing.T) {
	c, err := New(Options{DataDir: filepath.Join(t.TempDir(), "data")})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Start(t.Context()); err == nil {
		t.Error("started after its close")
	}
	if _, err := os.Stat(c.options.DataDir); !os.IsNotExist(err) {
		t.Errorf("something was made: %v", err)
	}
}

func blockedLog(t *testing.T) string {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func start(t *testing.T, o Options) *ControlPlane {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Ready():
	default:
		t.Error("started and not ready")
	}
	return c
}

func stop(t *testing.T, c *ControlPlane) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
	select {
	case err := <-c.Err():
		t.Errorf("a close was reported as a death: %v", err)
	default:
	}
}

// waitForGoroutines waits until the goroutines of a plane have ended. Of its 3,500 a few hang on upstream's
// process-wide caches and timers.
func waitForGoroutines(t *testing.T, before int) {
	t.Helper()
	const stragglers = 60
	eventually(t, "goroutines end", func(context.Context) (bool, error) {
		return runtime.NumGoroutine() <= before+stragglers, nil
	})
}

func eventually(t *testing.T, what string, condition wait.ConditionWithContextFunc) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, patience, true, condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "none"}}}
}

func testVersion(t *testing.T, _ *ControlPlane, client kubernetes.Interface) {
	got, err := client.Discovery().ServerVersion()
	if err != nil || got.GitVersion != version.Kubernetes || got.Major+"."+got.Minor != "1.36" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func testKubeconfig(t *testing.T, c *ControlPlane, _ kubernetes.Interface) {
	if info, err := os.Stat(c.Kubeconfig()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	file, err := clientcmd.LoadFromFile(c.Kubeconfig())
	if err != nil || file.CurrentContext != ContextName {
		t.Fatalf("%v, %v", file, err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*file, nil).ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	review := whoAmI(t, config)
	if !slices.Contains(review.Groups, "system:masters") {
		t.Errorf("the kubeconfig is that of %+v", review)
	}
}

func testStrangers(t *testing.T, c *ControlPlane, _ kubernetes.Interface) {
	anonymous := rest.AnonymousClientConfig(c.AdminConfig())
	for name, change := range map[string]func(*rest.Config){
		"nobody":      func(*rest.Config) {},
		"wrong token": func(r *rest.Config) { r.BearerToken = "guess" },
	} {
		config := rest.CopyConfig(anonymous)
		change(config)
		if _, err := kubernetes.NewForConfigOrDie(config).Discovery().ServerVersion(); !apierrors.IsUnauthorized(err) {
			t.Errorf("%s was answered with %v, want Unauthorized", name, err)
		}
	}
}

func testTokens(t *testing.T, c *ControlPlane, client kubernetes.Interface) {
	token, err := client.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.AdminConfig())
	config.BearerToken = token.Status.Token
	if got := whoAmI(t, config).Username; got != "system:serviceaccount:default:default" {
		t.Errorf("the token is that of %q", got)
	}
	if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("listing Pods gave %v, want Forbidden", err)
	}
	authority, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
	if err != nil || authority.Data["ca.crt"] != string(read(t, c.pki.caFile())) {
		t.Errorf("the published authority is %v, %v", authority.Data, err)
	}
}

func testGarbage(t *testing.T, _ *ControlPlane, client kubernetes.Interface) {
	ctx := t.Context()
	ns, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "garbage-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	maps := client.CoreV1().ConfigMaps(ns.Name)
	owner, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
	}}}
	if _, err := maps.Create(ctx, owned, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	foreground := metav1.DeletePropagationForeground
	if err := maps.Delete(ctx, owner.Name, metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"owned", "owner"} {
		eventually(t, name+" is collected", func(ctx context.Context) (bool, error) {
			_, err := maps.Get(ctx, name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
	}
	if err := client.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the namespace goes", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Namespaces().Get(ctx, ns.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}

func testQuotas(t *testing.T, _ *ControlPlane, client kubernetes.Interface) {
	ctx := t.Context()
	ns, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "quota-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "few"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
		corev1.ResourcePods: resource.MustParse("1"), "count/jobs.batch": resource.MustParse("0"),
	}}}
	if _, err := client.CoreV1().ResourceQuotas(ns.Name).Create(ctx, quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the quota is counted", func(ctx context.Context) (bool, error) {
		q, err := client.CoreV1().ResourceQuotas(ns.Name).Get(ctx, quota.Name, metav1.GetOptions{})
		return err == nil && len(q.Status.Hard) == len(quota.Spec.Hard), err
	})
	// Admission sees the counts a moment later.
	exceeded := func(err error) (bool, error) {
		if apierrors.IsForbidden(err) {
			return strings.Contains(err.Error(), "exceeded quota"), nil
		}
		return false, err
	}
	pods := client.CoreV1().Pods(ns.Name)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "counted-"}, Spec: podSpec()}
	eventually(t, "Pods exceed the quota", func(ctx context.Context) (bool, error) {
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		return exceeded(err)
	})
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{GenerateName: "counted-"}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: podSpec()}}}
	eventually(t, "Jobs exceed the quota", func(ctx context.Context) (bool, error) {
		_, err := client.BatchV1().Jobs(ns.Name).Create(ctx, job, metav1.CreateOptions{})
		return exceeded(err)
	})
	if err := pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a deleted Pod makes room", func(ctx context.Context) (bool, error) {
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		return err == nil, nil
	})
}

func testRoles(t *testing.T, _ *ControlPlane, client kubernetes.Interface) {
	eventually(t, "the role view has rules", func(ctx context.Context) (bool, error) {
		role, err := client.RbacV1().ClusterRoles().Get(ctx, "view", metav1.GetOptions{})
		return err == nil && len(role.Rules) > 0, nil
	})
}

func testCustomResources(t *testing.T, c *ControlPlane, _ kubernetes.Interface) {
	client := dynamic.NewForConfigOrDie(c.AdminConfig())
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "bells.example.org"},
		"spec": map[string]any{
			"group": "example.org", "scope": "Namespaced",
			"names": map[string]any{"plural": "bells", "singular": "bell", "kind": "Bell"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	bell := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.org/v1", "kind": "Bell", "metadata": map[string]any{"name": "great-tom"},
	}}
	bells := client.Resource(schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "bells"}).Namespace("default")
	eventually(t, "a custom object is made", func(ctx context.Context) (bool, error) {
		_, err := bells.Create(ctx, bell, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err), nil
	})
}

func testNodeCredentials(t *testing.T, c *ControlPlane, _ kubernetes.Interface) {
	credentials, err := c.NodeCredentials("here")
	if err != nil {
		t.Fatal(err)
	}
	review := whoAmI(t, credentials.Client)
	if review.Username != "system:node:here" || !slices.Contains(review.Groups, "system:nodes") {
		t.Errorf("the node is %+v", review)
	}
	nodes := kubernetes.NewForConfigOrDie(credentials.Client).CoreV1().Nodes()
	if _, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "here"}}, metav1.CreateOptions{}); err != nil {
		t.Errorf("a node may not register itself: %v", err)
	}
	if _, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}}, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("registering another node gave %v, want Forbidden", err)
	}
	if err := nodes.Delete(t.Context(), "here", metav1.DeleteOptions{}); err == nil {
		t.Error("a node may delete itself")
	}
	if err := kubernetes.NewForConfigOrDie(c.AdminConfig()).CoreV1().Nodes().Delete(t.Context(), "here", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// node makes a Node that is ready, as a kubelet would.
func node(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	n, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}) })
	if len(n.Spec.Taints) > 0 {
		t.Errorf("a new node has the taints %v, which nothing here takes away", n.Spec.Taints)
	}
	room := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10"), corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("4Gi")}
	n.Status = corev1.NodeStatus{
		Capacity: room, Allocatable: room,
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		Addresses:  []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
	}
	if _, err := client.CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func testScheduler(t *testing.T, _ *ControlPlane, client kubernetes.Interface) {
	node(t, client, "free")
	spec := podSpec()
	spec.NodeSelector = map[string]string{"name": "free"}
	pods := client.CoreV1().Pods("default")
	pod, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "scheduled-"}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Pod is bound", func(ctx context.Context) (bool, error) {
		pod, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		return err == nil && pod.Spec.NodeName == "free", err
	})
	eventually(t, "the event of the binding is there", func(ctx context.Context) (bool, error) {
		events, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "reason=Scheduled,involvedObject.name=" + pod.Name})
		return err == nil && len(events.Items) == 1, err
	})
}

// testKubelet starts a plane of its own, because the kubelet's address is an option of it.
func testKubelet(t *testing.T, _ *ControlPlane, _ kubernetes.Interface) {
	var address string
	c := start(t, Options{DataDir: filepath.Join(t.TempDir(), "data"), Ephemeral: true, NoScheduler: true, Log: io.Discard, KubeletAddress: func() string { return address }})
	defer stop(t, c)
	client := kubernetes.NewForConfigOrDie(c.AdminConfig())
	node(t, client, "talking")
	spec := podSpec()
	spec.NodeName = "talking"
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "talker"}, Spec: spec}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	logs := func() (string, error) {
		data, err := client.CoreV1().Pods("default").GetLogs("talker", &corev1.PodLogOptions{}).DoRaw(t.Context())
		return string(data), err
	}
	if _, err := logs(); err == nil {
		t.Error("logs came without a kubelet")
	}

	credentials, err := c.NodeCredentials("talking")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(credentials.ServingCert, credentials.ServingKey)
	if err != nil {
		t.Fatal(err)
	}
	callers := x509.NewCertPool()
	if !callers.AppendCertsFromPEM(read(t, credentials.ClientCA)) {
		t.Fatal("no certificate of the callers' authority")
	}
	kubelet := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller := r.TLS.PeerCertificates[0].Subject
		if slices.Contains(caller.Organization, "system:masters") && strings.HasPrefix(r.URL.Path, "/containerLogs/default/talker/main") {
			w.Write([]byte("ding"))
			return
		}
		http.Error(w, caller.String()+" asked for "+r.URL.Path, http.StatusForbidden)
	}))
	kubelet.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: callers}
	kubelet.StartTLS()
	defer kubelet.Close()
	address = kubelet.Listener.Addr().String()
	if got, err := logs(); got != "ding" {
		t.Errorf("logs gave %q, %v", got, err)
	}
}

func testSecondStart(t *testing.T, c *ControlPlane, client kubernetes.Interface) {
	other, err := New(Options{DataDir: c.options.DataDir})
	if err != nil {
		t.Fatal(err)
	}
	var locked *LockedError
	if err := other.Start(t.Context()); !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("a second start gave %v", err)
	}
	if _, err := client.Discovery().ServerVersion(); err != nil {
		t.Errorf("the first is harmed: %v", err)
	}
}

func whoAmI(t *testing.T, config *rest.Config) authenticationv1.UserInfo {
	t.Helper()
	review, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.UserInfo
}
