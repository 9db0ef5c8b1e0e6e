// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/plan/forecast"
)

// liveRuns are the runs of the past whose Jobs an API server still has. Of each page nothing but durations is kept, so
// that a cluster may have any number of Jobs.
func (c *forecastCommand) liveRuns(ctx context.Context, tell func(string)) ([]forecast.Run, error) {
	server, err := c.input.cluster.Connect()
	if err != nil {
		return nil, err
	}
	namespace := server.Namespace
	if c.input.allNamespaces {
		namespace = ""
	}
	jobs, err := server.Resource(batchv1.SchemeGroupVersion.WithKind("Job"), namespace)
	if err != nil {
		return nil, err
	}
	var runs []forecast.Run
	for options := (metav1.ListOptions{Limit: cluster.PageSize}); ; {
		page, err := jobs.List(ctx, options)
		switch {
		case apierrors.IsForbidden(err):
			tell(fmt.Sprintf("how long runs take is assumed: Jobs may not be listed: %v", err))
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("list jobs.batch: %w", err)
		}
		for n := range page.Items {
			if run, ok := forecast.RunOf(&page.Items[n]); ok {
				runs = append(runs, run)
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return runs, nil
		}
	}
}
