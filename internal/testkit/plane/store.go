// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package plane

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes/scheme"
)

// Kubeconfig is the path of a kubeconfig for an administrator of the plane.
func (p *Plane) Kubeconfig() string { return p.plane.Kubeconfig() }

// Implant writes obj into the store, past defaults, validation and admission: so looks what an older API server, with
// other rules, has accepted. It also is the fastest way to many objects. obj must name its apiVersion and kind, a
// namespace and a name; UID and creation time are added if it has none. What has the same name is overwritten. It gives
// the UID.
func (p *Plane) Implant(tb testing.TB, resource schema.GroupResource, obj runtime.Object) types.UID {
	tb.Helper()
	uid, err := p.implant(tb.Context(), resource, obj)
	if err != nil {
		tb.Fatal(err)
	}
	return uid
}

func (p *Plane) implant(ctx context.Context, resource schema.GroupResource, obj runtime.Object) (types.UID, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return "", fmt.Errorf("encode %T: %w", obj, err)
	}
	stored := &unstructured.Unstructured{Object: content}
	if stored.GetAPIVersion() == "" || stored.GetKind() == "" || stored.GetNamespace() == "" || stored.GetName() == "" {
		return "", fmt.Errorf("cannot store an object without apiVersion, kind, namespace or name: %v", content)
	}
	if stored.GetUID() == "" {
		stored.SetUID(uuid.NewUUID())
	}
	if created := stored.GetCreationTimestamp(); created.IsZero() {
		stored.SetCreationTimestamp(metav1.Now())
	}
	stored.SetResourceVersion("")
	stored.SetGeneration(1)
	data, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", stored.GetName(), err)
	}
	key := path.Join("/registry", resource.Resource, stored.GetNamespace(), stored.GetName())
	if !scheme.Scheme.IsGroupRegistered(resource.Group) { // a custom resource
		key = path.Join("/registry", resource.Group, resource.Resource, stored.GetNamespace(), stored.GetName())
	}
	client, err := p.store()
	if err != nil {
		return "", fmt.Errorf("reach the store: %w", err)
	}
	if _, err := client.Put(ctx, key, string(data)); err != nil {
		return "", fmt.Errorf("write %s to the store: %w", key, err)
	}
	return stored.GetUID(), nil
}

// store is a client of the store, made at its first use and closed with the plane.
func (p *Plane) store() (*clientv3.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.etcd != nil {
		return p.etcd, nil
	}
	var err error
	p.etcd, err = clientv3.New(clientv3.Config{
		Endpoints: []string{"unix://" + filepath.Join(p.dir, "etcd.sock")}, DialTimeout: startTimeout, Logger: zap.NewNop(),
	})
	return p.etcd, err
}

func (p *Plane) closeStore() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.etcd == nil {
		return nil
	}
	return p.etcd.Close()
}
