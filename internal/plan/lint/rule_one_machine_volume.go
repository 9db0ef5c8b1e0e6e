// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import corev1 "k8s.io/api/core/v1"

var oneMachineVolume = &Rule{
	ID: "one-machine-volume", Level: Info, Kinds: "CronJob, Timetable, Job; on one machine",
	Summary: "a volume that carillon up can mount as root only, or not at all",
	Reason:  "On one machine there are no drivers of storage (CSI), and NFS and iSCSI need the right to mount.",
	Cure:    "For carillon up take hostPath, emptyDir, or a PersistentVolume of hostPath.",
	check: eachPod(func(_ *Subject, p *podSpec) []problem {
		var found []problem
		for i, v := range p.spec.Volumes {
			if field := networkVolume(v.VolumeSource); field != "" {
				found = append(found, one(p.path.and("volumes", i, field), "volume %s (%s) cannot be mounted by carillon up, or by root only", v.Name, field)...)
			}
		}
		return found
	}),
}

// networkVolume is the field of a volume that needs a driver or a mount.
func networkVolume(v corev1.VolumeSource) string {
	switch {
	case v.NFS != nil:
		return "nfs"
	case v.ISCSI != nil:
		return "iscsi"
	case v.CSI != nil:
		return "csi"
	case v.FC != nil:
		return "fc"
	case v.Ephemeral != nil:
		return "ephemeral"
	}
	return ""
}
