// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package watchjson

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Resource is what is watched: all objects of a kind in all namespaces.
type Resource struct {
	Kind schema.GroupVersionKind
	// Name is that of the resource, the plural.
	Name string
	// Empty makes an empty object of the kind.
	Empty func() Object
}

// Over gives a ListerWatcher that lists as lists does and watches by itself. The scheme must know the kind.
func Over(lists cache.ListerWatcher, config *rest.Config, client *http.Client, scheme *runtime.Scheme, of Resource) (cache.ListerWatcher, error) {
	own := rest.CopyConfig(config)
	version := of.Kind.GroupVersion()
	own.GroupVersion, own.APIPath = &version, "/apis"
	codecs := clientserializer.WithoutConversionCodecFactory{CodecFactory: clientserializer.NewCodecFactory(scheme)}
	own.NegotiatedSerializer = newSerializer(codecs, of.Kind, of.Empty)
	if own.UserAgent == "" {
		own.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	watcher, err := rest.RESTClientForConfigAndClient(own, client)
	if err != nil {
		return nil, err
	}
	parameters := runtime.NewParameterCodec(scheme)
	return &cache.ListWatch{
		ListWithContextFunc: cache.ToListerWatcherWithContext(lists).ListWithContext,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch, options.AllowWatchBookmarks = true, true
			return watcher.Get().Resource(of.Name).VersionedParams(&options, parameters).Watch(ctx)
		},
	}, nil
}
