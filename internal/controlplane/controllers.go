// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/podgc"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	quotainstall "k8s.io/kubernetes/pkg/quota/v1/install"
)

const (
	// finishedPodsKept is how many finished Pods may exist before the oldest are deleted. Jobs and CronJobs clean up
	// after themselves by their own rules; this is the net below them. It is upstream's own default.
	finishedPodsKept = 12500
	// discoveryPeriod is how often the collector of garbage and the quotas look for new kinds of objects, those of
	// CRDs.
	discoveryPeriod = 30 * time.Second
	// resync is how often terminating namespaces and quotas are looked at without an event.
	resync = 5 * time.Minute
	// garbageWorkers delete and orphan dependents side by side.
	garbageWorkers = 10
	// garbageSync bounds the collector's wait for its first look at everything.
	garbageSync = 30 * time.Second
)

// controllers are the upstream controllers of this plane, running.
type controllers struct {
	running sync.WaitGroup
	cancel  context.CancelFunc
}

// startControllers runs the upstream controllers as the administrator whose config is given.
// What each does in Kubernetes is in the packages that this file imports.
func startControllers(admin *rest.Config, caPEM []byte) (*controllers, error) {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Background()))
	c := &controllers{cancel: cancel}
	if err := c.start(ctx, admin, caPEM); err != nil {
		c.close()
		return nil, fmt.Errorf("start the controllers: %w", err)
	}
	return c, nil
}

func (c *controllers) start(ctx context.Context, admin *rest.Config, caPEM []byte) error {
	config := rest.CopyConfig(admin)
	config.UserAgent = "carillon-control-plane"
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	typed := rest.CopyConfig(config)
	typed.ContentType = "application/vnd.kubernetes.protobuf"
	typed.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(typed)
	if err != nil {
		return err
	}

	shared := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(slim))
	dependents := metadataInformers{metadatainformer.NewSharedInformerFactoryWithOptions(metadataClient, 0, metadatainformer.WithTransform(slim))}
	started := make(chan struct{})

	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	collector, err := garbagecollector.NewGarbageCollector(ctx, client, metadataClient, mapper, garbagecollector.DefaultIgnoredResources(), dependents, started)
	if err != nil {
		return fmt.Errorf("garbage collector: %w", err)
	}
	pods := podgc.NewPodGC(ctx, client, shared.Core().V1().Pods(), shared.Core().V1().Nodes(), finishedPodsKept)
	namespaces := namespace.NewNamespaceController(ctx, client, metadataClient, client.Discovery().ServerPreferredNamespacedResources,
		shared.Core().V1().Namespaces(), resync, corev1.FinalizerKubernetes)
	accounts, err := serviceaccount.NewServiceAccountsController(klog.FromContext(ctx), shared.Core().V1().ServiceAccounts(), shared.Core().V1().Namespaces(),
		client, serviceaccount.DefaultServiceAccountsControllerOptions())
	if err != nil {
		return fmt.Errorf("service accounts: %w", err)
	}
	authority, err := rootcacertpublisher.NewPublisher(shared.Core().V1().ConfigMaps(), shared.Core().V1().Namespaces(), client, caPEM)
	if err != nil {
		return fmt.Errorf("root CA publisher: %w", err)
	}
	quotas, err := newQuotas(ctx, client, quotaInformers{shared, dependents}, shared, started)
	if err != nil {
		return fmt.Errorf("resource quotas: %w", err)
	}
	roles := clusterroleaggregation.NewClusterRoleAggregation(shared.Rbac().V1().ClusterRoles(), client.RbacV1())

	shared.Start(ctx.Done())
	dependents.Start(ctx.Done())
	close(started)

	c.running.Go(func() { collector.Run(ctx, garbageWorkers, garbageSync) })
	c.running.Go(func() { collector.Sync(ctx, client.Discovery(), discoveryPeriod) })
	c.running.Go(func() { pods.Run(ctx) })
	c.running.Go(func() { namespaces.Run(ctx, 5) })
	c.running.Go(func() { accounts.Run(ctx, 1) })
	c.running.Go(func() { authority.Run(ctx, 1) })
	c.running.Go(func() { roles.Run(ctx, 1) })
	c.running.Go(func() { quotas.Run(ctx, 5) })
	c.running.Go(func() { quotas.Sync(ctx, client.Discovery().ServerPreferredNamespacedResources, discoveryPeriod) })
	c.running.Go(func() {
		<-ctx.Done()
		shared.Shutdown()
		dependents.Shutdown()
	})
	return nil
}

// close ends every controller and waits for it.
func (c *controllers) close() {
	c.cancel()
	c.running.Wait()
}

// metadataInformers gives the garbage collector informers that hold metadata alone: upstream shares the full objects
// with its other controllers, of which there are few here.
type metadataInformers struct {
	metadatainformer.SharedInformerFactory
}

// ForResource implements informerfactory.InformerFactory.
func (m metadataInformers) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	return m.SharedInformerFactory.ForResource(resource), nil
}

// newQuotas makes the controller that counts what quotas limit. Without it the first quota in a namespace would forbid
// everything there, because admission knows no counts.
func newQuotas(ctx context.Context, client kubernetes.Interface, all informerfactory.InformerFactory, typed informers.SharedInformerFactory, started <-chan struct{}) (*resourcequota.Controller, error) {
	configuration, err := quotainstall.NewQuotaConfigurationForControllers(generic.ListerFuncForResourceFunc(all.ForResource), typed)
	if err != nil {
		return nil, err
	}
	return resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient:               client.CoreV1(),
		ResourceQuotaInformer:     typed.Core().V1().ResourceQuotas(),
		ResyncPeriod:              func() time.Duration { return resync },
		InformerFactory:           all,
		ReplenishmentResyncPeriod: func() time.Duration { return 0 },
		DiscoveryFunc:             client.Discovery().ServerPreferredNamespacedResources,
		IgnoredResourcesFunc:      configuration.IgnoredResources,
		InformersStarted:          started,
		Registry:                  generic.NewRegistry(configuration.Evaluators()),
		UpdateFilter:              quotainstall.DefaultUpdateFilter(),
	})
}

// quotaInformers gives the quota controller full objects of those kinds into whose specs quotas look, and metadata,
// shared with the garbage collector, of those that it only counts.
type quotaInformers struct {
	typed    informers.SharedInformerFactory
	metadata metadataInformers
}

// ForResource implements informerfactory.InformerFactory.
func (q quotaInformers) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	switch resource.GroupResource().String() {
	case "pods", "services", "persistentvolumeclaims", "resourceclaims.resource.k8s.io":
		return q.typed.ForResource(resource)
	}
	return q.metadata.ForResource(resource)
}

// Start implements informerfactory.InformerFactory.
func (q quotaInformers) Start(stop <-chan struct{}) {
	q.typed.Start(stop)
	q.metadata.Start(stop)
}

// slim drops what no controller reads and what makes up much of a cached object.
func slim(obj any) (any, error) {
	if o, err := meta.Accessor(obj); err == nil {
		o.SetManagedFields(nil)
	}
	return obj, nil
}
