// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package make

import (
	"encoding/json"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Assorted is the n-th of many CronJobs as clusters have them, each a little different from all others, with what the
// API server fills in. Of three one is short, one is like the nightly example and was applied with kubectl, and one
// has labels, a sidecar and many variables, as charts make them, 4 KB in all. All are daily, at three in the morning
// UTC or soon after.
func Assorted(n int) *batchv1.CronJob {
	name := fmt.Sprintf("daily-%05d", n)
	cj := CronJob("default", name).New()
	cj.Spec.Schedule = fmt.Sprintf("%d 3 * * *", n%60)
	cj.Spec.TimeZone = new("Etc/UTC")
	pod := &cj.Spec.JobTemplate.Spec.Template
	pod.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64(30)), DNSPolicy: corev1.DNSClusterFirst,
		SchedulerName: corev1.DefaultSchedulerName, SecurityContext: &corev1.PodSecurityContext{},
		Containers: []corev1.Container{container("main", fmt.Sprintf("date; sleep %d; echo done", 1+n%1000))},
	}
	switch n % 3 {
	case 1:
		nightly(cj, n)
	case 2:
		charted(cj, n)
	}
	return cj
}

func container(name, script string) corev1.Container {
	return corev1.Container{
		Name: name, Image: "host", Command: []string{"/bin/sh", "-c"}, Args: []string{script}, ImagePullPolicy: corev1.PullIfNotPresent,
		TerminationMessagePath: corev1.TerminationMessagePathDefault, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}
}

func nightly(cj *batchv1.CronJob, n int) {
	cj.Spec.ConcurrencyPolicy, cj.Spec.StartingDeadlineSeconds = batchv1.ForbidConcurrent, new(int64(3600))
	cj.Spec.JobTemplate.Spec.BackoffLimit, cj.Spec.JobTemplate.Spec.ActiveDeadlineSeconds = new(int32(2)), new(int64(7200))
	pod := &cj.Spec.JobTemplate.Spec.Template.Spec
	pod.Volumes = []corev1.Volume{{Name: "backups", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
		Path: fmt.Sprintf("/tmp/backups/%d", n), Type: new(corev1.HostPathDirectoryOrCreate)}}}}
	pod.Containers[0].Args = []string{`tar -czf "/backups/etc-$(date +%F).tar.gz" -C / etc/hostname && ls -l /backups`}
	pod.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "backups", MountPath: "/backups"}}
	applied, _ := json.Marshal(cj)
	cj.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: string(applied)}
}

func charted(cj *batchv1.CronJob, n int) {
	labels := map[string]string{
		"app.kubernetes.io/name": "report", "app.kubernetes.io/instance": fmt.Sprintf("report-%d", n), "app.kubernetes.io/managed-by": "Helm",
		"app.kubernetes.io/version": "1.27.3", "helm.sh/chart": "report-4.1.9", "team": fmt.Sprintf("team-%d", n%40),
	}
	cj.Labels = labels
	template := &cj.Spec.JobTemplate
	template.Labels, template.Spec.Template.Labels = labels, labels
	template.Spec.Template.Annotations = map[string]string{"checksum/config": strings.Repeat(fmt.Sprintf("%04x", n%65536), 16)}
	pod := &template.Spec.Template.Spec
	pod.ServiceAccountName, pod.DeprecatedServiceAccount = "report", "report"
	pod.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(1000)), FSGroup: new(int64(1000))}
	pod.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
	pod.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "node.kubernetes.io/pool", Operator: corev1.NodeSelectorOpIn, Values: []string{"batch", "spot"}}}}}}}}
	c := &pod.Containers[0]
	for i := range 24 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("REPORT_SETTING_%02d", i), Value: fmt.Sprintf("https://service-%d.example.com/api/v1/%d", i, n)})
	}
	for i := range 4 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SECRET_%d", i), ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: fmt.Sprintf("report-%d", n)}, Key: fmt.Sprintf("key-%d", i)}}})
	}
	c.Resources = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
	}
	c.SecurityContext = &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	for i := range 3 {
		volume := fmt.Sprintf("settings-%d", i)
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: fmt.Sprintf("report-%d-%d", n, i)}, DefaultMode: new(int32(420))}}})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: "/etc/report/" + volume, ReadOnly: true})
	}
	sidecar := container("log-shipper", "exec /bin/shipper --config /etc/shipper.yaml --level info --target logs.example.com:5044")
	sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	sidecar.Resources, sidecar.SecurityContext, sidecar.VolumeMounts = c.Resources, c.SecurityContext, c.VolumeMounts
	pod.InitContainers = []corev1.Container{sidecar}
}
