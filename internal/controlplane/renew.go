// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// renewal replaces certificates long before they end. Who serves with them reads the files again by itself; connections
// that are open stay so.
type renewal struct {
	plane *ControlPlane
	pki   *pki
	began time.Time
	// stale says that the administrator's kubeconfig is to be written.
	stale bool
}

// run goes on until ctx ends.
func (r *renewal) run(ctx context.Context) {
	// Ticks and not a timer for the next certificate: clocks are set, and machines sleep.
	ticker := time.NewTicker(max(time.Second, min(time.Hour, r.pki.life/30)))
	defer ticker.Stop()
	said := ""
	for now := r.began; ; {
		// What stays as it is, is said once.
		if trouble := r.pass(now); trouble != said {
			if said = trouble; said != "" {
				r.plane.warn(said)
			}
		}
		select {
		case now = <-ticker.C:
			now = now.Round(0) // what the clock on the wall says
		case <-ctx.Done():
			return
		}
	}
}

// pass does what is due now and gives what the user should know.
func (r *renewal) pass(now time.Time) (trouble string) {
	renewed, err := r.pki.renew(now)
	r.stale = r.stale || slices.Contains(renewed, adminCertificate)
	if len(renewed) > 0 {
		r.plane.Logger().Info("Renewed certificates", "names", renewed)
	}
	if err == nil && r.stale {
		if err = r.plane.writeAdminKubeconfig(r.pki, now); err == nil {
			r.stale = false
		}
	}
	if err == nil {
		err = r.pki.checkAuthority(now)
	}
	if err != nil {
		return fmt.Sprintf("certificates: %v", err)
	}
	if ends := r.began.Add(processLife); ends.Sub(now) < processLife/12 {
		return fmt.Sprintf("this process cannot serve after %s, when a certificate ends that the API server renews at its start alone: start Carillon again before", instant(ends))
	}
	return r.pki.authorityEnds(now)
}
