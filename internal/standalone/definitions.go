// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package standalone

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/deploy/timetable"
)

const (
	// definitionsRetry is how long after a failure the definitions are applied again.
	definitionsRetry = 5 * time.Second
	// establishedPoll is how often a definition is looked at until the API server serves it.
	establishedPoll = 20 * time.Millisecond
	// definitionsManager owns the fields that Carillon applies for itself.
	definitionsManager = "carillon"
)

// definitionResources are where objects of the kinds that the manifests hold are found. All are cluster-scoped.
var definitionResources = map[string]string{
	"CustomResourceDefinition":         "customresourcedefinitions",
	"ValidatingAdmissionPolicy":        "validatingadmissionpolicies",
	"ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
	"ClusterRole":                      "clusterroles",
}

// installDefinitions has the API server serve the kinds of our own: it applies the manifests of deploy/timetable at
// every start, so that an upgrade brings its own and a change by hand does not last. tried is closed after the first
// attempt, and installed when the kinds are served. A failure is logged and tried again until the plane ends.
func (s *Standalone) installDefinitions() (tried, installed <-chan struct{}) {
	first, done := make(chan struct{}), make(chan struct{})
	log := s.plane.Logger().WithName("definitions")
	go func() {
		for attempt := 1; ; attempt++ {
			err := applyDefinitions(s.ctx, s.plane.AdminConfig(), timetable.Manifests())
			if err == nil {
				close(done)
			}
			if attempt == 1 {
				close(first)
			}
			if err == nil || s.ctx.Err() != nil {
				return
			}
			log.Error(err, "Cannot install the kinds Timetable and Calendar; trying again", "after", definitionsRetry.String())
			select {
			case <-s.ctx.Done():
				return
			case <-time.After(definitionsRetry):
			}
		}
	}()
	return first, done
}

// applyDefinitions applies manifests and waits until the API server serves what they define. Applied twice they change
// nothing; what somebody else added to an object stays.
func applyDefinitions(ctx context.Context, config *rest.Config, manifests [][]byte) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	for _, manifest := range manifests {
		objects, err := objectsOf(manifest)
		if err != nil {
			return err
		}
		for _, obj := range objects {
			if err := applyDefinition(ctx, client, obj); err != nil {
				return fmt.Errorf("%s %s: %w", obj.GetKind(), obj.GetName(), err)
			}
		}
	}
	return nil
}

// objectsOf reads the documents of a manifest.
func objectsOf(manifest []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for reader := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &obj.Object); err != nil {
			return nil, err
		}
		if len(obj.Object) > 0 { // not a comment alone
			objects = append(objects, obj)
		}
	}
}

func applyDefinition(ctx context.Context, client dynamic.Interface, obj *unstructured.Unstructured) error {
	resource, known := definitionResources[obj.GetKind()]
	if !known {
		return errors.New("a kind that is not applied here")
	}
	objects := client.Resource(obj.GroupVersionKind().GroupVersion().WithResource(resource))
	options := metav1.ApplyOptions{FieldManager: definitionsManager, Force: true}
	if _, err := objects.Apply(ctx, obj.GetName(), obj, options); err != nil {
		return err
	}
	if obj.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}) {
		return nil
	}
	return wait.PollUntilContextCancel(ctx, establishedPoll, true, func(ctx context.Context) (bool, error) {
		live, err := objects.Get(ctx, obj.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &definition); err != nil {
			return false, err
		}
		for _, c := range definition.Status.Conditions {
			if c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse {
				return false, errors.New(c.Message)
			}
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
}
