// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package wrote

import (
	"context"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Progress returns a function for New that tells how far the informer of obj's type in c has come. It returns
// nil, nil for caches that cannot tell (several namespaces, fakes). It starts the informer if there is none yet.
func Progress(ctx context.Context, c cache.Cache, obj client.Object) (func() string, error) {
	informer, err := c.GetInformer(ctx, obj, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	stored, ok := informer.(interface{ GetStore() toolscache.Store })
	if !ok {
		return nil, nil
	}
	return stored.GetStore().LastStoreSyncResourceVersion, nil
}
