// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package plane gives the tests of a package one real control plane: etcd, kube-apiserver, garbage collection,
// namespaces and service accounts, without a scheduler, without a node and without any controller of Carillon's. It
// is started at the first use and shared by all tests of the binary, so tests keep to namespaces of their own:
//
//	func TestMain(m *testing.M) { plane.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		p := plane.Start(t)
//		ns := p.Namespace(t)
//		client := kubernetes.NewForConfigOrDie(p.Config())
//		…
//	}
//
// Pods stay Pending until a test writes their status.
package plane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/carillon-dev/carillon/internal/controlplane"
)

// startTimeout bounds the start of a plane, generously: a loaded machine may need ten times the usual two seconds.
const startTimeout = 2 * time.Minute

// Plane is a running control plane.
type Plane struct {
	plane  *controlplane.ControlPlane
	dir    string
	client kubernetes.Interface

	mu   sync.Mutex
	etcd *clientv3.Client
}

// shared is the plane of this test binary, started by the first Start.
var shared struct {
	sync.Mutex
	plane *Plane
	err   error
	// swept says that Main will stop the plane.
	swept bool
}

// Main runs the tests of a package and then stops the shared plane, if a test started it. It does not return. A
// package whose tests use Start must call it from TestMain.
func Main(m *testing.M) {
	shared.Lock()
	shared.swept = true
	shared.Unlock()
	code := m.Run()
	shared.Lock()
	if shared.plane != nil {
		if err := shared.plane.close(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the plane of the tests:", err)
			code = max(code, 1)
		}
	}
	shared.Unlock()
	os.Exit(code)
}

// Start gives the plane that the tests of this binary share, starting it if it is the first to ask. It is skipped by
// nothing: where it cannot start, the test fails.
func Start(tb testing.TB) *Plane {
	tb.Helper()
	shared.Lock()
	defer shared.Unlock()
	if !shared.swept {
		tb.Fatal("this package's tests use plane.Start, so it needs: func TestMain(m *testing.M) { plane.Main(m) }")
	}
	if shared.plane == nil && shared.err == nil {
		shared.plane, shared.err = open()
	}
	if shared.err != nil {
		tb.Fatalf("start the plane of the tests: %v", shared.err)
	}
	return shared.plane
}

func open() (*Plane, error) {
	dir, err := os.MkdirTemp("", "carillon-plane-")
	if err != nil {
		return nil, err
	}
	p := &Plane{dir: dir}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	p.plane, err = controlplane.New(controlplane.Options{DataDir: dir, Ephemeral: true, NoScheduler: true})
	if err == nil {
		err = p.plane.Start(ctx)
	}
	if err == nil {
		p.client, err = kubernetes.NewForConfig(p.plane.AdminConfig())
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return p, nil
}

func (p *Plane) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return errors.Join(p.closeStore(), p.plane.Close(ctx), os.RemoveAll(p.dir))
}

// Config is a client of the group system:masters without client-side limits. The caller owns it.
func (p *Plane) Config() *rest.Config { return p.plane.AdminConfig() }

// ConfigFor is a client that acts as the named user and groups, by impersonation, to test what RBAC lets them do.
func (p *Plane) ConfigFor(user string, groups ...string) *rest.Config {
	config := p.plane.AdminConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return config
}

// Client is a clientset over Config.
func (p *Plane) Client() kubernetes.Interface { return p.client }

// Namespace makes a namespace for the test, in which Pods can be made, and deletes it when the test ends without
// waiting for what is in it to go.
func (p *Plane) Namespace(tb testing.TB) string {
	tb.Helper()
	ctx := context.Background()
	ns, err := p.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
	}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("make a namespace: %v", err)
	}
	tb.Cleanup(func() {
		if err := p.client.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			tb.Errorf("delete the namespace %s: %v", ns.Name, err)
		}
	})
	err = wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
		_, err := p.client.CoreV1().ServiceAccounts(ns.Name).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		tb.Fatalf("wait for the service account of the namespace %s: %v", ns.Name, err)
	}
	return ns.Name
}
