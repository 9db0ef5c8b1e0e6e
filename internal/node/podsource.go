// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/kubernetes/pkg/kubelet/metrics"
)

const (
	// relistPoll is how often the kubelet is asked whether it has listed all containers, and relistTimeout how long
	// that is waited for: a start with Pods that are looked at too early is better than none.
	relistPoll    = 2 * time.Millisecond
	relistTimeout = time.Minute
)

// podSource holds the kubelet's requests for its Pods back until listed is closed.
//
// With container events in use the kubelet calls what it knows of containers complete from its first moment on, before
// it has listed any. A Pod that it looks at in between seems to have no containers; and if the API has one of them as
// running, the kubelet writes that it vanished (ContainerStatusUnknown, exit code 137), which fails a Job for our
// restart. So the Pods come after the containers.
type podSource struct {
	next   http.RoundTripper
	listed <-chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (s *podSource) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Path == "/api/v1/pods" && strings.Contains(request.URL.Query().Get("fieldSelector"), "spec.nodeName=") {
		select {
		case <-s.listed:
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
	}
	return s.next.RoundTrip(request)
}

// awaitRelist returns a channel that is closed when the kubelet that is started next has listed all containers, at the
// latest after relistTimeout. count tells how many such listings ended in this process.
func awaitRelist(ctx context.Context, log logr.Logger, count func() uint64) <-chan struct{} {
	listed := make(chan struct{})
	before := count()
	go func() {
		defer close(listed)
		limit := time.NewTimer(relistTimeout)
		defer limit.Stop()
		tick := time.NewTicker(relistPoll)
		defer tick.Stop()
		for count() == before {
			select {
			case <-tick.C:
			case <-limit.C:
				log.Info("The kubelet has not listed its containers; it gets its Pods all the same", "after", relistTimeout.String())
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return listed
}

// relists is how many listings of all containers the kubelets of this process have ended, as their metric counts them.
func relists() uint64 {
	if !metrics.PLEGRelistDuration.IsCreated() {
		return 0 // no kubelet was started yet
	}
	collected := make(chan prometheus.Metric, 1)
	metrics.PLEGRelistDuration.Collect(collected)
	var m dto.Metric
	if err := (<-collected).Write(&m); err != nil {
		return 0
	}
	return m.GetHistogram().GetSampleCount()
}
