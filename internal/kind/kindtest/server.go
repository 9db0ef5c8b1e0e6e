// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package kindtest

import (
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// Server holds a CronJob as JSON and takes patches of it as an API server does: a status patch changes the status, and
// the metadata only where the API lets it; another one changes everything but the status; preconditions must hold. It
// is stricter than an API server: what that would drop in silence is an error.
type Server struct {
	Object map[string]any
	// RideAlong: a status write takes metadata.
	RideAlong bool
}

// ErrConflict is the answer to a patch whose preconditions do not hold.
var ErrConflict = fmt.Errorf("the patch conflicts with what is stored")

// Patch carries the patch out.
func (v *Server) Patch(p adapter.CronJobPatch) error {
	if p.Type != types.MergePatchType {
		return fmt.Errorf("a patch of type %s", p.Type)
	}
	var patch map[string]any
	if err := json.Unmarshal(p.Data, &patch); err != nil {
		return err
	}
	metadata, _ := patch["metadata"].(map[string]any)
	stored := v.Object["metadata"].(map[string]any)
	if metadata["uid"] != stored["uid"] {
		return fmt.Errorf("%w: stored UID %v, patch %s", ErrConflict, stored["uid"], p.Data)
	}
	rv, bound := metadata["resourceVersion"]
	if bound && rv != stored["resourceVersion"] {
		return fmt.Errorf("%w: stored version %v, patch %s", ErrConflict, stored["resourceVersion"], p.Data)
	}
	delete(metadata, "resourceVersion")
	switch p.Subresource {
	case "status":
		if !bound {
			return fmt.Errorf("a status patch that is bound to no version: %s", p.Data)
		}
		if len(metadata) > 1 && !v.RideAlong {
			return fmt.Errorf("a status patch with metadata that is lost: %s", p.Data)
		}
	case "":
		if patch["status"] != nil {
			return fmt.Errorf("a patch of the object with a status that is lost: %s", p.Data)
		}
	default:
		return fmt.Errorf("a patch of %q", p.Subresource)
	}
	v.Object = merge(v.Object, patch).(map[string]any)
	v.Object["metadata"].(map[string]any)["resourceVersion"] = stored["resourceVersion"].(string) + "1"
	return nil
}

// merge is RFC 7386.
func merge(into, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	target, ok := into.(map[string]any)
	if !ok {
		target = map[string]any{}
	}
	target = maps.Clone(target)
	for k, v := range p {
		if v == nil {
			delete(target, k)
		} else {
			target[k] = merge(target[k], v)
		}
	}
	return target
}
