// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"
	schedulingrest "k8s.io/kubernetes/pkg/registry/scheduling/rest"
)

// defaultsRetry is how long after a failure the default objects are tried again.
const defaultsRetry = 5 * time.Second

// defaults make the default RBAC roles and the two system priority classes. In Kubernetes they are steps of the API
// server's start: it is not ready before them, which takes more than a second, and dies when they fail, be it for a
// slow machine or because it is stopped meanwhile. Nothing in this process waits for them, since its first clients are
// administrators or nodes. So here they run beside, again and again until they succeed.
var defaults = []genericapiserver.PostStartHookProvider{rbacrest.RESTStorageProvider{}, schedulingrest.RESTStorageProvider{}}

// leaveOutDefaults takes the making of defaults out of an API server's start. It gives the function that makes them,
// which returns when they are there or ctx ends.
func leaveOutDefaults(disabled sets.String) (func(ctx context.Context, admin *rest.Config), error) { //nolint:staticcheck // the type of DisabledPostStartHooks
	hooks := map[string]genericapiserver.PostStartHookFunc{}
	for _, provider := range defaults {
		name, hook, err := provider.PostStartHook()
		if err != nil {
			return nil, err
		}
		hooks[name] = hook
		disabled.Insert(name)
	}
	return func(ctx context.Context, admin *rest.Config) {
		for name, hook := range hooks {
			for {
				err := hook(genericapiserver.PostStartHookContext{LoopbackClientConfig: admin, Context: ctx})
				if err == nil || ctx.Err() != nil {
					break
				}
				klog.FromContext(ctx).Error(err, "Cannot make default objects; trying again", "step", name)
				select {
				case <-ctx.Done():
				case <-time.After(defaultsRetry):
				}
			}
		}
	}, nil
}
