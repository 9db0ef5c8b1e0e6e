// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package plane

import (
	"encoding/json"
	"errors"
	"path"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
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
// other rules, has accepted. obj must name its apiVersion and kind, a namespace and a name; UID, creation time and
// generation are added. What has the same name is overwritten. It gives the UID.
func (p *Plane) Implant(tb testing.TB, resource schema.GroupResource, obj runtime.Object) types.UID {
	tb.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		tb.Fatalf("encode %T: %v", obj, err)
	}
	stored := &unstructured.Unstructured{Object: content}
	if stored.GetAPIVersion() == "" || stored.GetKind() == "" || stored.GetNamespace() == "" || stored.GetName() == "" {
		tb.Fatalf("cannot store an object without apiVersion, kind, namespace or name: %v", content)
	}
	stored.SetUID(uuid.NewUUID())
	stored.SetResourceVersion("")
	stored.SetGeneration(1)
	if err := unstructured.SetNestedField(content, time.Now().UTC().Format(time.RFC3339), "metadata", "creationTimestamp"); err != nil {
		tb.Fatal(err)
	}
	data, err := json.Marshal(content)
	if err != nil {
		tb.Fatalf("encode %s: %v", stored.GetName(), err)
	}
	key := path.Join("/registry", resource.Resource, stored.GetNamespace(), stored.GetName())
	if !scheme.Scheme.IsGroupRegistered(resource.Group) { // a custom resource
		key = path.Join("/registry", resource.Group, resource.Resource, stored.GetNamespace(), stored.GetName())
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"unix://" + filepath.Join(p.dir, "etcd.sock")}, DialTimeout: startTimeout, Logger: zap.NewNop(),
	})
	if err != nil {
		tb.Fatalf("reach the store: %v", err)
	}
	_, err = client.Put(tb.Context(), key, string(data))
	if err := errors.Join(err, client.Close()); err != nil {
		tb.Fatalf("write %s to the store: %v", key, err)
	}
	return stored.GetUID()
}
