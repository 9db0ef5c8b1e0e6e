// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package kindtest

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

// CRD is a CustomResourceDefinition that can do to an object what an API server does with it: prune, default,
// validate. It has one version.
type CRD struct {
	v1         *apiextensionsv1.CustomResourceDefinition
	props      *apiextensions.JSONSchemaProps
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	rules      *schemacel.Validator
}

// ParseCRDs reads a YAML file of CRDs, as strictly as possible, and checks them as an API server would.
func ParseCRDs(t *testing.T, text []byte) []*CRD {
	t.Helper()
	var crds []*CRD
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		v1 := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict([]byte(document), v1); err != nil {
			t.Fatal(err)
		}
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&v1.Spec)
		v1.Status.StoredVersions = []string{v1.Spec.Versions[0].Name}
		internal := &apiextensions.CustomResourceDefinition{}
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(v1, internal, nil); err != nil {
			t.Fatal(err)
		}
		if errs := crdvalidation.ValidateCustomResourceDefinition(context.Background(), internal); len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		props := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1.Spec.Versions[0].Schema.OpenAPIV3Schema, props, nil); err != nil {
			t.Fatal(err)
		}
		crd := &CRD{v1: v1, props: props}
		var err error
		if crd.structural, err = structuralschema.NewStructural(props); err != nil {
			t.Fatal(err)
		}
		if crd.validator, _, err = validation.NewSchemaValidator(props); err != nil {
			t.Fatal(err)
		}
		crd.rules = schemacel.NewValidator(crd.structural, true, math.MaxInt64)
		crds = append(crds, crd)
	}
	return crds
}

// Admit prunes and defaults obj in place and gives what an API server would find wrong with it. Numbers must be int64.
func (c *CRD) Admit(t *testing.T, obj map[string]any) field.ErrorList {
	t.Helper()
	pruning.Prune(obj, c.structural, true)
	defaulting.Default(obj, c.structural)
	errs := validation.ValidateCustomResource(nil, obj, c.validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.structural, obj)...)
	if c.rules != nil {
		more, _ := c.rules.Validate(context.Background(), nil, c.structural, obj, nil, math.MaxInt64)
		errs = append(errs, more...)
	}
	return errs
}

// Serves checks that the CRD serves the resource and kind that an adapter expects, with a status of its own.
func (c *CRD) Serves(t *testing.T, resource schema.GroupVersionResource, kind schema.GroupVersionKind) {
	t.Helper()
	version := c.v1.Spec.Versions[0]
	got := schema.GroupVersionResource{Group: c.v1.Spec.Group, Version: version.Name, Resource: c.v1.Spec.Names.Plural}
	if got != resource || c.v1.Spec.Names.Kind != kind.Kind {
		t.Errorf("serves %v of kind %s, want %v of kind %v", got, c.v1.Spec.Names.Kind, resource, kind)
	}
	if version.Subresources == nil || version.Subresources.Status == nil {
		t.Error("has no status subresource")
	}
	if c.v1.Spec.Scope != apiextensionsv1.NamespaceScoped {
		t.Errorf("scope %s", c.v1.Spec.Scope)
	}
}

// Schema is the schema of the CRD's version.
func (c *CRD) Schema() *apiextensionsv1.JSONSchemaProps {
	return c.v1.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// Rule is a CEL rule of a CRD.
type Rule struct {
	Path, Rule, Message string
	Cost                uint64 // what an API server estimates for one object at its limits
}

// Rules lists the CEL rules with what an API server estimates that they cost: a rule may cost 10,000,000, and those of
// a CRD together 100,000,000.
func (c *CRD) Rules(t *testing.T) []Rule {
	t.Helper()
	return rulesOf(t, "", c.props, crdvalidation.RootCELContext(c.props))
}

func rulesOf(t *testing.T, path string, props *apiextensions.JSONSchemaProps, ctx *crdvalidation.CELSchemaContext) []Rule {
	t.Helper()
	var rules []Rule
	if len(props.XValidations) > 0 {
		info, err := ctx.TypeInfo()
		if err != nil || info == nil {
			t.Fatalf("%s: no types for its rules: %v", path, err)
		}
		compiled, err := schemacel.Compile(info.Schema, info.DeclType, celconfig.PerCallLimit,
			environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), schemacel.NewExpressionsEnvLoader())
		if err != nil {
			t.Fatal(err)
		}
		for i, result := range compiled {
			if result.Error != nil {
				t.Errorf("%s: %v", path, result.Error)
			}
			cardinality := result.MaxCardinality
			if ctx.MaxCardinality != nil {
				cardinality = *ctx.MaxCardinality
			}
			rules = append(rules, Rule{path, props.XValidations[i].Rule, props.XValidations[i].Message, result.MaxCost * cardinality})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(props.Properties)) {
		child := props.Properties[name]
		rules = append(rules, rulesOf(t, strings.TrimPrefix(path+"."+name, "."), &child, ctx.ChildPropertyContext(&child, name))...)
	}
	if props.Items != nil && props.Items.Schema != nil {
		rules = append(rules, rulesOf(t, path+"[]", props.Items.Schema, ctx.ChildItemsContext(props.Items.Schema))...)
	}
	if props.AdditionalProperties != nil && props.AdditionalProperties.Schema != nil {
		values := props.AdditionalProperties.Schema
		rules = append(rules, rulesOf(t, path+"{}", values, ctx.ChildAdditionalPropertiesContext(values))...)
	}
	return rules
}
