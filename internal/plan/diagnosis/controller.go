// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
)

// The leases of controllers that start runs.
const (
	carillonLease   = "carillon-manager"
	kubernetesLease = "kube-controller-manager"
)

func isControllerLease(lease *coordinationv1.Lease) bool {
	return lease.Name == carillonLease || lease.Name == kubernetesLease && lease.Namespace == "kube-system"
}

// leaseNames are the leases of the controllers that may serve what is asked about.
func (e *Evidence) leaseNames() []string {
	if e.Scheduled == nil || e.Scheduled.Kind.Info().Owner.Group == batchv1.GroupName {
		return []string{carillonLease, kubernetesLease}
	}
	return []string{carillonLease}
}

// presence says whether a controller is at work.
type presence int

const (
	unknownPresence presence = iota
	atWork
	absent
)

// controllers shows what tells whether a controller is at work.
func (b *builder) controllers() presence {
	if b.Standalone {
		b.show("API server", b.Now, "it answers, and it is that of a Carillon of this machine, in whose process the controllers run")
		return atWork
	}
	if !b.Read.Leases {
		b.lack("whether a controller is at work: the Leases %s were not looked at", listed(b.leaseNames()))
		return unknownPresence
	}
	found := unknownPresence
	for i := range b.Leases {
		lease := &b.Leases[i]
		if !slices.Contains(b.leaseNames(), lease.Name) {
			continue
		}
		var renewed time.Time
		if lease.Spec.RenewTime != nil {
			renewed = lease.Spec.RenewTime.Time
		}
		holder := ""
		if lease.Spec.HolderIdentity != nil {
			holder = *lease.Spec.HolderIdentity
		}
		switch {
		case holder == "" || renewed.IsZero():
			b.show("Lease "+lease.Name, renewed, "nobody holds it")
			if found == unknownPresence {
				found = absent
			}
		case b.Now.Sub(renewed) > leaseGrace(lease):
			b.show("Lease "+lease.Name, renewed, "held by %s, who renewed it last at %s: it is not at work any more", holder, b.when(renewed))
			if found == unknownPresence {
				found = absent
			}
		default:
			b.show("Lease "+lease.Name, renewed, "held by %s, renewed at %s: it is at work", holder, b.when(renewed))
			found = atWork
		}
	}
	if found == unknownPresence {
		b.lack("whether a controller is at work: there is no Lease %s, and one that runs alone needs none", listed(b.leaseNames()))
	}
	return found
}

// handWords says who does not wait for what somebody has started by hand.
const handWords = "The run was started by hand: Carillon waits for such a run, Kubernetes' own controller and that of Volcano would not."

// handBlocks tells whether a run that somebody started by hand surely holds the room: whatever Carillon serves, and the
// kinds that no controller serves otherwise.
func (e *Evidence) handBlocks() bool {
	owner := e.Scheduled.Kind.Info().Owner
	if e.Standalone || owner.Group != batchv1.GroupName && owner.Group != "batch.volcano.sh" {
		return true
	}
	return slices.ContainsFunc(e.Leases, func(lease coordinationv1.Lease) bool {
		return lease.Name == carillonLease && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" &&
			lease.Spec.RenewTime != nil && e.Now.Sub(lease.Spec.RenewTime.Time) <= leaseGrace(&lease)
	})
}

// leaseGrace is how old the last renewal of a controller at work may be.
func leaseGrace(lease *coordinationv1.Lease) time.Duration {
	grace := 15 * time.Second
	if s := lease.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
		grace = time.Duration(*s) * time.Second
	}
	return grace + 5*time.Second // clocks differ, and who saved a file took a while
}
