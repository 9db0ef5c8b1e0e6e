// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/deploy/crds"
)

// stateMetrics is what of kube-state-metrics' configuration we use, in its words.
type stateMetrics struct {
	Kind string `json:"kind"`
	Spec struct {
		Resources []struct {
			GroupVersionKind struct {
				Group, Version, Kind string
			} `json:"groupVersionKind"`
			MetricNamePrefix string              `json:"metricNamePrefix"`
			LabelsFromPath   map[string][]string `json:"labelsFromPath"`
			ErrorLogV        int                 `json:"errorLogV"`
			Metrics          []stateMetric       `json:"metrics"`
		} `json:"resources"`
	} `json:"spec"`
}

type stateMetric struct {
	Name string `json:"name"`
	Help string `json:"help"`
	Each struct {
		Type  string `json:"type"`
		Gauge *struct {
			Path      []string `json:"path"`
			NilIsZero bool     `json:"nilIsZero"`
		} `json:"gauge"`
		StateSet *struct {
			LabelName string   `json:"labelName"`
			Path      []string `json:"path"`
			List      []string `json:"list"`
		} `json:"stateSet"`
	} `json:"each"`
}

// exposed are the metrics of the configuration: the labels of each, with the values of those that it lists.
func exposed(t *testing.T) map[string]map[string][]string {
	t.Helper()
	var config stateMetrics
	read(t, "monitoring/kube-state-metrics.yaml", &config)
	if config.Kind != "CustomResourceStateMetrics" || len(config.Spec.Resources) != 1 {
		t.Fatalf("kind %q, %d resources", config.Kind, len(config.Spec.Resources))
	}
	r := config.Spec.Resources[0]
	gv := v1alpha1.GroupVersion
	if got := r.GroupVersionKind; got.Group != gv.Group || got.Version != gv.Version || got.Kind != "Timetable" {
		t.Errorf("it is about %+v", got)
	}
	schema := timetableSchema(t)
	for label, path := range r.LabelsFromPath {
		if !slices.Equal(path, []string{"metadata", "name"}) && !slices.Equal(path, []string{"metadata", "namespace"}) {
			t.Errorf("the label %s comes from %v", label, path)
		}
	}
	metrics := map[string]map[string][]string{}
	for _, m := range r.Metrics {
		labels := map[string][]string{}
		for label := range r.LabelsFromPath {
			labels[label] = nil
		}
		var path []string
		switch {
		case m.Each.Type == "Gauge" && m.Each.Gauge != nil:
			path = m.Each.Gauge.Path
		case m.Each.Type == "StateSet" && m.Each.StateSet != nil:
			path = m.Each.StateSet.Path
			labels[m.Each.StateSet.LabelName] = m.Each.StateSet.List
		default:
			t.Errorf("%s: a %s without its fields", m.Name, m.Each.Type)
			continue
		}
		field, err := at(schema, path)
		switch {
		case err != nil:
			t.Errorf("%s: %v", m.Name, err)
		case m.Each.Type == "StateSet" && len(field.Enum) != len(m.Each.StateSet.List):
			t.Errorf("%s: lists %v of %d values", m.Name, m.Each.StateSet.List, len(field.Enum))
		case m.Each.Type == "Gauge" && field.Type != "integer" && field.Format != "date-time":
			t.Errorf("%s: a %s %s is no number", m.Name, field.Type, field.Format)
		}
		if m.Each.StateSet != nil && field != nil {
			for _, value := range field.Enum {
				if word, err := strconv.Unquote(string(value.Raw)); err != nil || !slices.Contains(m.Each.StateSet.List, word) {
					t.Errorf("%s: %s is not listed", m.Name, value.Raw)
				}
			}
		}
		metrics[r.MetricNamePrefix+"_"+m.Name] = labels
	}
	return metrics
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func timetableSchema(t *testing.T) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	_, text, found := crds.Find("timetables." + v1alpha1.GroupVersion.Group)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil || !found {
		t.Fatalf("found %v, %v", found, err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// at follows a path of kube-state-metrics: a field, an index of a list, or [key=value] for the item of a list of
// conditions.
func at(schema *apiextensionsv1.JSONSchemaProps, path []string) (*apiextensionsv1.JSONSchemaProps, error) {
	conditions := []string{v1alpha1.ConditionReady, v1alpha1.ConditionHealthy, v1alpha1.ConditionLate, v1alpha1.ConditionPaused, v1alpha1.ConditionCompleted}
	for i, part := range path {
		if schema.Type == "array" {
			if condition, ok := strings.CutPrefix(part, "[type="); ok {
				if !slices.Contains(conditions, strings.TrimSuffix(condition, "]")) {
					return nil, fmt.Errorf("%v: there is no condition of that type", path[:i+1])
				}
			} else if _, err := strconv.Atoi(part); err != nil {
				return nil, fmt.Errorf("%v: %s is no index of a list", path[:i+1], part)
			}
			schema = schema.Items.Schema
			continue
		}
		next, ok := schema.Properties[part]
		if !ok {
			return nil, fmt.Errorf("%v is no field of a Timetable", path[:i+1])
		}
		schema = &next
	}
	return schema, nil
}

// What kube-state-metrics is told to look at exists, and has a value that it can make a number of.
func TestStateMetrics(t *testing.T) {
	metrics := exposed(t)
	for _, want := range []string{"healthy", "last_success", "last_failure", "next", "consecutive_failures"} { // timetable.md section 8
		if _, ok := metrics["kube_timetable_"+want]; !ok {
			t.Errorf("there is no %s", want)
		}
	}
	for _, wrong := range [][]string{{"status", "lastSuccess"}, {"status", "conditions", "[type=Fine]", "status"}, {"status", "next", "first"}} {
		if _, err := at(timetableSchema(t), wrong); err == nil {
			t.Errorf("%v is taken for a field", wrong)
		}
	}
}

// ruleFile is a file of rules, in Prometheus' words.
type ruleFile struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []struct {
			Alert       string            `json:"alert"`
			Expr        string            `json:"expr"`
			For         string            `json:"for"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"rules"`
	} `json:"groups"`
}

// Each alert is about a metric that kube-state-metrics exposes, a status that the metric has, and labels that it has.
func TestAlerts(t *testing.T) {
	metrics := exposed(t)
	var rules ruleFile
	read(t, "monitoring/rules.yaml", &rules)
	expression := regexp.MustCompile(`^([a-z_]+)\{([a-z]+)="([A-Za-z]+)"\} == 1$`)
	var alerts []string
	for _, rule := range rules.Groups[0].Rules {
		alerts = append(alerts, rule.Alert)
		if _, err := time.ParseDuration(rule.For); err != nil {
			t.Errorf("%s: for: %v", rule.Alert, err)
		}
		match := expression.FindStringSubmatch(rule.Expr)
		if match == nil {
			t.Errorf("%s: the test does not know what this is about: %s", rule.Alert, rule.Expr)
			continue
		}
		labels := metrics[match[1]]
		if !slices.Contains(labels[match[2]], match[3]) {
			t.Errorf("%s: %s has the labels %v", rule.Alert, match[1], labels)
		}
		for _, text := range rule.Annotations {
			for _, label := range regexp.MustCompile(`\{\{ \$labels\.([a-z_]+) \}\}`).FindAllStringSubmatch(text, -1) {
				if _, ok := labels[label[1]]; !ok {
					t.Errorf("%s: %s has no label %s", rule.Alert, match[1], label[1])
				}
			}
			if strings.Count(text, "{{") != len(regexp.MustCompile(`\{\{ \$labels\.[a-z_]+ \}\}`).FindAllString(text, -1)) {
				t.Errorf("%s: %s", rule.Alert, text)
			}
		}
	}
	if want := []string{"TimetableUnhealthy", "TimetableLate", "TimetableNotReady"}; !slices.Equal(alerts, want) {
		t.Errorf("alerts %q, want %q", alerts, want)
	}
}
