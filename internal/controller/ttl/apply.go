// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ttl

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/kube/fence"
)

// remove deletes this very Job as it was read: another Job under the same name, and a Job whose time to live was
// changed a moment ago, survive with a conflict. Its pods go first, in the foreground, so that the Job does not vanish
// while they still run.
func (c *controller) remove(ctx context.Context, j *batchv1.Job) error {
	err := c.client.Delete(fence.WithCleanup(ctx), j,
		client.PropagationPolicy(metav1.DeletePropagationForeground),
		client.Preconditions{UID: &j.UID, ResourceVersion: &j.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Job %s/%s, whose time to live is over: %w", j.Namespace, j.Name, err)
	}
	return nil
}
