// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/carillon-dev/carillon/internal/kube/watchjson"
)

// informer makes the informers of the cache of custom resources. There may be very many Timetables and the like, which
// read themselves; all else is watched as usual.
func (s *starter) informer(lists toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	if own := s.ownWatch(lists, example); own != nil {
		lists = own
	}
	return toolscache.NewSharedIndexInformer(lists, example, resync, indexers)
}

// ownWatch gives nil if the watch is to be the usual one.
func (s *starter) ownWatch(lists toolscache.ListerWatcher, example runtime.Object) toolscache.ListerWatcher {
	owner, scheme := s.kind.Info().Owner, s.mgr.GetScheme()
	if gvk, err := apiutil.GVKForObject(example, scheme); err != nil || gvk != owner {
		return nil
	}
	if _, reads := example.(watchjson.Object); !reads {
		return nil
	}
	own, err := watchjson.Over(lists, s.mgr.GetConfig(), s.mgr.GetHTTPClient(), scheme, watchjson.Resource{
		Kind: owner, Name: s.kind.Info().OwnerResource.Resource,
		Empty: func() watchjson.Object {
			obj, _ := scheme.New(owner)
			return obj.(watchjson.Object)
		},
	})
	if err != nil {
		s.mgr.GetLogger().Error(err, "Watching in the usual way, which costs more", "kind", owner.String())
		return nil
	}
	return own
}
