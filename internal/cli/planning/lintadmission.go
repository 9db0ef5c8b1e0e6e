// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/deploy/crds"
	"github.com/carillon-dev/carillon/internal/plan/lint"
)

// admission asks the definitions of Carillon's own kinds whether an API server would take an object: their schemas and
// rules, as it does. Definitions are read when the first object asks for them.
type admission struct {
	definitions map[string]*definition // by resource; nil for one that cannot be read
}

// definition is what an API server checks the objects of one kind with.
type definition struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	rules      *schemacel.Validator
}

// resources are the kinds that are asked about.
var resources = map[string]string{"Timetable": "timetables." + v1alpha1.GroupVersion.Group, "Calendar": "calendars." + v1alpha1.GroupVersion.Group}

// refusals are why an API server would not take an object; none for kinds of others.
func (a *admission) refusals(ctx context.Context, object *unstructured.Unstructured) []lint.Refusal {
	resource, ours := resources[object.GetKind()]
	if !ours || object.GroupVersionKind().GroupVersion() != v1alpha1.GroupVersion {
		return nil
	}
	d, read := a.definitions[resource]
	if !read {
		var err error
		if d, err = readDefinition(resource); err != nil {
			d = nil // a test reads both
		}
		a.definitions[resource] = d
	}
	if d == nil {
		return nil
	}
	content := object.DeepCopy().Object
	delete(content, "status")
	pruning.Prune(content, d.structural, true)
	defaulting.Default(content, d.structural)
	wrong := validation.ValidateCustomResource(nil, content, d.validator)
	wrong = append(wrong, listtype.ValidateListSetsAndMaps(nil, d.structural, content)...)
	if len(wrong) == 0 && d.rules != nil { // rules are for what has the right types
		wrong, _ = d.rules.Validate(ctx, nil, d.structural, content, nil, celconfig.RuntimeCELCostBudget)
	}
	var found []lint.Refusal
	for _, each := range wrong {
		message := each.Detail
		if message == "" {
			message = each.ErrorBody()
		}
		found = append(found, lint.Refusal{Field: each.Field, Message: message})
	}
	return found
}

// readDefinition reads a definition that Carillon ships.
func readDefinition(resource string) (*definition, error) {
	_, text, found := crds.Find(resource)
	if !found {
		return nil, fmt.Errorf("there is no definition of %s", resource)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, crd); err != nil {
		return nil, err
	}
	if len(crd.Spec.Versions) != 1 || crd.Spec.Versions[0].Schema == nil {
		return nil, fmt.Errorf("the definition of %s has %d versions", resource, len(crd.Spec.Versions))
	}
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, props, nil); err != nil {
		return nil, err
	}
	d := &definition{}
	var err error
	if d.structural, err = structuralschema.NewStructural(props); err != nil {
		return nil, err
	}
	if d.validator, _, err = validation.NewSchemaValidator(props); err != nil {
		return nil, err
	}
	d.rules = schemacel.NewValidator(d.structural, true, celconfig.PerCallLimit)
	return d, nil
}
