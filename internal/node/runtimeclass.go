// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"context"
	"fmt"

	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// RuntimeClassHost is the RuntimeClass, and the runtime handler, of Pods that
// run directly on this machine's files: what they write stays.
const RuntimeClassHost = "host"

// RuntimeClasses are the RuntimeClass objects that must exist in the API for
// Pods to choose among the ways the built-in runtime can run them. A Pod
// without a runtimeClassName sees a copy of the machine's files, and what it
// writes outside its volumes is thrown away.
func RuntimeClasses() []*nodev1.RuntimeClass {
	return []*nodev1.RuntimeClass{{
		TypeMeta:   metav1.TypeMeta{APIVersion: nodev1.SchemeGroupVersion.String(), Kind: "RuntimeClass"},
		ObjectMeta: metav1.ObjectMeta{Name: RuntimeClassHost},
		Handler:    RuntimeClassHost,
	}}
}

// createRuntimeClasses makes the RuntimeClasses that are not there. One that
// exists is left as it is: its handler cannot change, and the rest is its
// owner's.
func createRuntimeClasses(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("API client for RuntimeClasses: %w", err)
	}
	for _, class := range RuntimeClasses() {
		_, err := client.NodeV1().RuntimeClasses().Create(ctx, class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating RuntimeClass %s: %w", class.Name, err)
		}
	}
	return nil
}
