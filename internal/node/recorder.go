// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"context"
	"fmt"
	"regexp"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	v1core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/kubelet"
	kubeletevents "k8s.io/kubernetes/pkg/kubelet/events"
)

// newEventRecorder sends the kubelet's events to the API until ctx ends.
func newEventRecorder(ctx context.Context, client v1core.EventsGetter, nodeName string) record.EventRecorderLogger {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&v1core.EventSinkImpl{Interface: client.Events("")})
	recorder := broadcaster.NewRecorder(legacyscheme.Scheme, corev1.EventSource{Component: "kubelet", Host: nodeName})
	return quietRecorder{recorder}
}

// quietRecorder leaves out what tells the user of a Pod nothing: that the
// kubelet has not looked at the Pod yet. After a restart its volumes are
// tried before it has taken note of the Pod's ConfigMaps and Secrets, also for
// Pods that ended long ago, and the next try finds them. What is missing from
// the API is told in other words ("configmap … not found").
type quietRecorder struct{ record.EventRecorderLogger }

func (r quietRecorder) Event(object runtime.Object, kind, reason, message string) {
	if !unregistered(reason, message) {
		r.EventRecorderLogger.Event(object, kind, reason, message)
	}
}

func (r quietRecorder) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	r.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

func (r quietRecorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, kind, reason, format string, args ...any) {
	if message := fmt.Sprintf(format, args...); !unregistered(reason, message) {
		r.EventRecorderLogger.AnnotatedEventf(object, annotations, kind, reason, "%s", message)
	}
}

func (r quietRecorder) WithLogger(logger klog.Logger) record.EventRecorderLogger {
	return quietRecorder{r.EventRecorderLogger.WithLogger(logger)}
}

// onlyUnregistered matches the kubelet's errors about volumes whose only causes
// are objects that it has not taken note of: one, or a list in brackets.
var onlyUnregistered = regexp.MustCompile(`: (\[(object "[^" ]*"/"[^" ]*" not registered(, )?)+\]|object "[^" ]*"/"[^" ]*" not registered)\s*$`)

func unregistered(reason, message string) bool {
	return reason == kubeletevents.FailedMountVolume && onlyUnregistered.MatchString(message)
}

// skipKernelLog lets the kubelet be built without its watcher of the kernel
// log for out-of-memory kills. That watcher needs /dev/kmsg, which an ordinary
// user may not read where kernel.dmesg_restrict is set, which is missing in
// most containers, and without which the kubelet does not start.
//
// NewMainKubelet leaves the watcher out when its recorder is exactly a
// *record.FakeRecorder, next asks the tracer provider for its tracer, and then
// stores the recorder for good. So the recorder is a fake one at first and the
// request for the tracer puts the real one in its place. The end-to-end tests
// fail when an upstream change breaks this: no Pod would have events.
func skipKernelLog(deps *kubelet.Dependencies, recorder record.EventRecorderLogger) {
	deps.Recorder = &record.FakeRecorder{}
	deps.TracerProvider = recorderSwap{
		TracerProvider: noop.NewTracerProvider(),
		swap:           func() { deps.Recorder = recorder },
	}
}

// kubeletTracer is the name under which NewMainKubelet asks for its tracer.
const kubeletTracer = "k8s.io/kubernetes/pkg/kubelet"

type recorderSwap struct {
	trace.TracerProvider
	swap func()
}

func (r recorderSwap) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	if name == kubeletTracer {
		r.swap()
	}
	return r.TracerProvider.Tracer(name, options...)
}
