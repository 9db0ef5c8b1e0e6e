// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// Sink is where events go.
type Sink interface {
	// Create stores a new event.
	Create(ctx context.Context, event *corev1.Event) error
	// Patch changes count, message and last timestamp of an event by a JSON merge patch.
	Patch(ctx context.Context, namespace, name string, patch []byte) error
}

// newSink returns a Sink that writes to the API server of config over httpClient.
func newSink(config *rest.Config, httpClient *http.Client) (Sink, error) {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	c, err := typedcorev1.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	return apiSink{c}, nil
}

type apiSink struct{ client typedcorev1.EventsGetter }

func (s apiSink) Create(ctx context.Context, event *corev1.Event) error {
	_, err := s.client.Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{})
	return err
}

func (s apiSink) Patch(ctx context.Context, namespace, name string, patch []byte) error {
	_, err := s.client.Events(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
