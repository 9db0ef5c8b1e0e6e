// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/deploy/crds"
)

var timetableResource = v1alpha1.GroupVersion.WithResource("timetables")

// dynamicTimetables are the Timetables of a control plane.
func dynamicTimetables(kubeconfig string) (dynamic.ResourceInterface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return client.Resource(timetableResource).Namespace(namespace), nil
}

// defineTimetables installs the API of Timetables, and waits until it is served.
func defineTimetables(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return err
	}
	for _, name := range []string{"timetables.batch.carillon.dev", "calendars.batch.carillon.dev"} {
		_, text, _ := crds.Find(name)
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &definition); err != nil {
			return err
		}
		if _, err := client.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, &definition, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	objects, err := dynamicTimetables(kubeconfig)
	if err != nil {
		return err
	}
	for limit := time.Now().Add(time.Minute); ; {
		_, err := objects.List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil {
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("the API of Timetables is not served: %w", err)
		}
		if err := sleepUntil(ctx, time.Now().Add(200*time.Millisecond)); err != nil {
			return err
		}
	}
}

// runTemplate says of a Timetable's runs what a CronJob's template does of its Jobs.
func runTemplate(template *batchv1.JobTemplateSpec) (v1alpha1.RunTemplate, error) {
	spec, err := json.Marshal(template.Spec)
	run := v1alpha1.RunTemplate{Spec: runtime.RawExtension{Raw: spec}}
	if len(template.Labels) > 0 {
		run.Metadata.Labels = map[string]v1alpha1.LabelValue{}
	}
	for key, value := range template.Labels {
		run.Metadata.Labels[key] = v1alpha1.LabelValue(value)
	}
	return run, err
}

// newTimetable is a Timetable that starts what a CronJob with that template does.
func newTimetable(name, cron, timeZone string, template *batchv1.JobTemplateSpec) (*unstructured.Unstructured, error) {
	run, err := runTemplate(template)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Timetable",
		"metadata": map[string]any{"name": name, "namespace": namespace},
		"spec":     map[string]any{"schedules": []any{map[string]any{"cron": cron}}, "timeZone": timeZone, "template": run},
	})
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	return obj, obj.UnmarshalJSON(text)
}

// createTimetables creates Timetables that are to those of createCronJobs what they can be.
func createTimetables(ctx context.Context, kubeconfig string, n int, cron string) error {
	objects, err := dynamicTimetables(kubeconfig)
	if err != nil {
		return err
	}
	return together(n, 16, func(i int) error {
		obj, err := newTimetable(fmt.Sprintf("tick-%05d", i), cron, "UTC", &batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: podTemplate()}})
		if err != nil {
			return err
		}
		_, err = objects.Create(ctx, obj, metav1.CreateOptions{})
		return err
	})
}
