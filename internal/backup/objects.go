// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	registry = "/registry/"
	// page is how many objects are read at once, and put most of them in one transaction: etcd takes 128.
	page  = 500
	batch = 100
)

// eachObject calls change with each object whose key begins so, and writes those for which it gives new content.
func eachObject(ctx context.Context, kv etcdserverpb.KVClient, prefix string, change func(data []byte) ([]byte, error)) error {
	from := []byte(registry + prefix + "/")
	end := []byte(registry + prefix + "0") // the byte after the slash
	for {
		got, err := kv.Range(ctx, &etcdserverpb.RangeRequest{Key: from, RangeEnd: end, Limit: page})
		if err != nil {
			return err
		}
		var puts []*etcdserverpb.RequestOp
		for _, pair := range got.Kvs {
			changed, err := change(pair.Value)
			if err != nil {
				return fmt.Errorf("the restored object %s: %w", pair.Key, err)
			}
			if changed != nil {
				put := &etcdserverpb.PutRequest{Key: pair.Key, Value: changed}
				puts = append(puts, &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: put}})
			}
		}
		for some := range slices.Chunk(puts, batch) {
			if _, err := kv.Txn(ctx, &etcdserverpb.TxnRequest{Success: some}); err != nil {
				return err
			}
		}
		if !got.More || len(got.Kvs) == 0 {
			return nil
		}
		from = append(got.Kvs[len(got.Kvs)-1].Key, 0)
	}
}

// typed makes a change of objects of a kind of Kubernetes' own, which the store has in protobuf. change tells whether
// it changed anything.
func typed[T runtime.Object](kind schema.GroupVersionKind, change func(T) bool) func([]byte) ([]byte, error) {
	encoder := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	return func(data []byte) ([]byte, error) {
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
		if err != nil {
			return nil, err
		}
		object, ok := obj.(T)
		if !ok {
			return nil, fmt.Errorf("it is a %T", obj)
		}
		if !change(object) {
			return nil, nil
		}
		object.GetObjectKind().SetGroupVersionKind(kind)
		var b bytes.Buffer
		err = encoder.Encode(object, &b)
		return b.Bytes(), err
	}
}

// untyped makes a change of custom resources, which the store has in JSON.
func untyped(change func(map[string]any) bool) func([]byte) ([]byte, error) {
	return func(data []byte) ([]byte, error) {
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber() // each number stays as it was written
		var object map[string]any
		if err := decoder.Decode(&object); err != nil {
			return nil, err
		}
		if !change(object) {
			return nil, nil
		}
		return json.Marshal(object)
	}
}

// annotate adds an annotation.
func annotate(m *metav1.ObjectMeta, key, value string) {
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[key] = value
}
