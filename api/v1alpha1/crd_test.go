// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json" // numbers are int64

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/kindtest"
	"github.com/carillon-dev/carillon/internal/testkit/vectors"
)

// contract holds the validation rules and vectors.
const contract = "../../docs/contract/timetable"

// crd is the definition of a resource of this API, as controller-gen has written it.
func crd(t *testing.T, resource string) *kindtest.CRD {
	t.Helper()
	text, err := os.ReadFile("../../deploy/crds/" + v1alpha1.GroupVersion.Group + "_" + resource + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return kindtest.ParseCRDs(t, text)[0]
}

func crds(t *testing.T) map[string]*kindtest.CRD {
	t.Helper()
	return map[string]*kindtest.CRD{"Timetable": crd(t, "timetables"), "Calendar": crd(t, "calendars")}
}

// What schema and CEL rules can tell is refused with the words of the contract, and nothing else is refused. What is
// accepted is read and written by the Go types without a change.
func TestValidationVectors(t *testing.T) {
	all := crds(t)
	for _, v := range vectors.ReadValidation(t, contract+"-vectors.json") {
		t.Run(v.ID+" "+v.Fragment, func(t *testing.T) {
			if v.ID == "VV-83" {
				t.Skip("an unknown field is refused by strict decoding, before the schema; test/integration tries it")
			}
			obj := v.Object(t)
			kind := obj["kind"].(string)
			err := all[kind].Admit(t, obj).ToAggregate()
			switch {
			case v.Accepted && err != nil:
				t.Errorf("refused: %v", err)
			case v.Accepted:
				roundTrip(t, kind, obj)
			case err == nil:
				t.Error("accepted")
			}
			for _, part := range v.Says {
				if err != nil && !strings.Contains(err.Error(), part) {
					t.Errorf("%v\ndoes not say: %s", err, part)
				}
			}
		})
	}
}

// roundTrip checks that the Go type of a kind takes all of an object and gives it back.
func roundTrip(t *testing.T, kind string, obj map[string]any) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	typed, err := scheme.New(v1alpha1.GroupVersion.WithKind(kind))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(typed); err != nil {
		t.Fatal(err)
	}
	if data, err = json.Marshal(typed); err != nil {
		t.Fatal(err)
	}
	var again map[string]any
	if err := utiljson.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(obj, again); diff != "" {
		t.Errorf("through the Go type (-before +after):\n%s", diff)
	}
}

// ruleRow is a row of the contract's table of CEL rules.
var ruleRow = regexp.MustCompile("(?m)^\\| (V\\d+) \\| [^|]+ \\| `(.*)` \\| (.*) \\|$")

// The CEL rules are those of the contract, word for word, at every place that they belong to; each one refuses some
// vector, and none costs more than an API server allows.
func TestRulesAreTheContract(t *testing.T) {
	text, err := os.ReadFile(contract + ".md")
	if err != nil {
		t.Fatal(err)
	}
	secondPart := map[string]bool{"V25": true, "V26": true, "V27": true}
	missing := map[string]string{} // by rule and message
	for _, row := range ruleRow.FindAllStringSubmatch(string(text), -1) {
		if !secondPart[row[1]] {
			missing[strings.ReplaceAll(row[2], `\|`, "|")+"\n"+row[3]] = row[1]
		}
	}
	if len(missing) != 30 {
		t.Fatalf("%d rules in the contract", len(missing))
	}
	refusals := map[string]bool{}
	for _, v := range vectors.ReadValidation(t, contract+"-vectors.json") {
		for _, part := range v.Says {
			refusals[part] = true
		}
	}
	names := map[string]string{}
	for kind, definition := range crds(t) {
		var total uint64
		for _, rule := range definition.Rules(t) {
			text := rule.Rule + "\n" + rule.Message
			if id := missing[text]; id != "" {
				names[text] = id
				delete(missing, text)
			}
			if names[text] == "" {
				t.Errorf("%s %s: the contract has no such rule: %s", kind, rule.Path, text)
			}
			if !refusals[rule.Message] {
				t.Errorf("no vector is refused by %s", names[text])
			}
			t.Logf("%9d %-4s %s %s", rule.Cost, names[text], kind, rule.Path)
			total += rule.Cost
			if rule.Cost > 10_000_000 {
				t.Errorf("%s costs too much", names[text])
			}
		}
		if t.Logf("%9d      %s", total, kind); total > 100_000_000 {
			t.Errorf("%s costs too much", kind)
		}
	}
	for rule, id := range missing {
		t.Errorf("%s is in no CRD: %s", id, rule)
	}
}

// kubectl explain has a text for every field, and whatever a user writes has its limits.
func TestEveryFieldIsExplainedAndBounded(t *testing.T) {
	for kind, definition := range crds(t) {
		for _, part := range []string{"spec", "status"} {
			if schema, ok := definition.Schema().Properties[part]; ok {
				explained(t, kind+"."+part, &schema, part == "spec")
			}
		}
		if definition.Schema().Description == "" {
			t.Errorf("%s has no description", kind)
		}
	}
}

func explained(t *testing.T, path string, s *apiextensionsv1.JSONSchemaProps, asked bool) {
	t.Helper()
	if len(s.Description) < 10 && !strings.Contains(path, "[]") && !strings.Contains(path, "{}") {
		t.Errorf("%s is not explained: %q", path, s.Description)
	}
	for line := range strings.SplitSeq(s.Description, "\n") {
		if len(line) > 75 && !strings.HasSuffix(path, ".conditions[]") && !strings.Contains(path, ".conditions[].") {
			t.Errorf("%s: kubectl explain breaks its lines after 75 characters, and keeps the breaks of the comment, which is wider: %q", path, line)
		}
	}
	if s.Default != nil && s.Type != "object" && !strings.Contains(s.Description, strings.Trim(string(s.Default.Raw), `"`)) {
		t.Errorf("%s: kubectl explain shows no defaults, so the comment has to say %s: %q", path, s.Default.Raw, s.Description)
	}
	if s.XPreserveUnknownFields != nil { // the template's spec, whose size the controller checks
		return
	}
	switch s.Type {
	case "array":
		if s.MaxItems == nil || s.XListType == nil {
			t.Errorf("%s has no maximum or no list type", path)
		}
		explained(t, path+"[]", s.Items.Schema, asked)
	case "string":
		if asked && s.MaxLength == nil && len(s.Enum) == 0 && s.Format != "date-time" {
			t.Errorf("%s may be of any length", path)
		}
	case "integer":
		if asked && (s.Minimum == nil || s.Maximum == nil) {
			t.Errorf("%s has no minimum or no maximum", path)
		}
	case "object":
		if s.AdditionalProperties != nil {
			if s.MaxProperties == nil {
				t.Errorf("%s has no maximum", path)
			}
			explained(t, path+"{}", s.AdditionalProperties.Schema, asked)
		}
		for name, field := range s.Properties {
			explained(t, path+"."+name, &field, asked)
		}
	}
}

// Of the second part nothing is in the CRD before it works.
func TestSecondPartIsNotServed(t *testing.T) {
	schema := crd(t, "timetables").Schema()
	for path, field := range map[string]map[string]apiextensionsv1.JSONSchemaProps{
		"notify": schema.Properties["spec"].Properties, "outbox": schema.Properties["status"].Properties,
	} {
		if _, there := field[path]; there {
			t.Errorf("%s is in the CRD", path)
		}
	}
}

// The shortest Timetable gets the defaults of the contract, and a policy that is left empty gets the same as one that
// is left out.
func TestDefaults(t *testing.T) {
	definition := crd(t, "timetables")
	want := vectors.Decode(t, `{
		schedules: [{name: main, cron: "*/10 * * * *", dayRule: Either}],
		timeZone: UTC, dst: {gap: Shift, overlap: First}, catchUp: {policy: Latest}, onResume: Skip,
		concurrency: {policy: Forbid}, lateAfter: 10m,
		history: {succeeded: {limit: 3}, failed: {limit: 3}, ledger: 20},
		template: {apiVersion: batch/v1, kind: Job, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}}}`)
	for name, policies := range map[string]string{
		"nothing but schedules and template": `{}`,
		"empty policies":                     `{dst: {}, catchUp: {}, concurrency: {}, history: {succeeded: {}}}`,
		"policies that are null":             `{dst: null, catchUp: null, concurrency: null, history: {failed: null, ledger: null}, timeZone: null}`,
	} {
		t.Run(name, func(t *testing.T) {
			obj := vectors.Timetable(t)
			spec := obj["spec"].(map[string]any)
			for field, value := range vectors.Decode(t, policies) {
				spec[field] = value
			}
			if err := definition.Admit(t, obj).ToAggregate(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			roundTrip(t, "Timetable", obj)
		})
	}

	t.Run("retry and parameters", func(t *testing.T) {
		obj := vectors.Timetable(t)
		spec := obj["spec"].(map[string]any)
		for field, value := range vectors.Decode(t, `{retry: {limit: 2}, parameters: [{name: mode, default: full}]}`) {
			spec[field] = value
		}
		if err := definition.Admit(t, obj).ToAggregate(); err != nil {
			t.Fatal(err)
		}
		want := vectors.Decode(t, `{retry: {limit: 2, delay: 10s, maxDelay: 10m}, parameters: [{name: mode, default: full, pattern: "^[A-Za-z0-9._:/@=,+-]*$"}]}`)
		if diff := cmp.Diff(want, map[string]any{"retry": spec["retry"], "parameters": spec["parameters"]}); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Template metadata has labels and annotations only, so nothing else reaches a child (TT-203).
func TestTemplateMetadataIsPruned(t *testing.T) {
	obj := vectors.Timetable(t)
	template := obj["spec"].(map[string]any)["template"].(map[string]any)
	template["metadata"] = vectors.Decode(t, `{name: x, namespace: kube-system, finalizers: [a/b], labels: {team: sales},
		ownerReferences: [{apiVersion: v1, kind: Node, name: n, uid: u}], annotations: {a: b}}`)
	if err := crd(t, "timetables").Admit(t, obj).ToAggregate(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(vectors.Decode(t, `{labels: {team: sales}, annotations: {a: b}}`), template["metadata"]); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

// kubectl get shows what the contract's TT-185 says, and a little more with -o wide.
func TestColumns(t *testing.T) {
	text, err := os.ReadFile("../../deploy/crds/batch.carillon.dev_timetables.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var narrow, wide []string
	definition := vectors.Decode(t, string(text))["spec"].(map[string]any)
	version := definition["versions"].([]any)[0].(map[string]any)
	for _, column := range version["additionalPrinterColumns"].([]any) {
		c := column.(map[string]any)
		if c["priority"] == nil {
			narrow = append(narrow, strings.ToUpper(c["name"].(string)))
		} else {
			wide = append(wide, strings.ToUpper(c["name"].(string)))
		}
	}
	if got, want := fmt.Sprint(narrow, wide), "[READY HEALTHY ACTIVE NEXT LAST SUCCESS AGE] [PAUSED WAITING FAILURES ZONE]"; got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
	names := definition["names"].(map[string]any)
	if got := fmt.Sprint(names["shortNames"], names["categories"]); got != "[tt] [carillon]" {
		t.Errorf("short names and categories %s", got)
	}
}

// yamlBlock is a block of YAML in the contract.
var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// The examples of the contract can be applied as they stand, but for what belongs to the second part.
func TestExamplesOfTheContract(t *testing.T) {
	text, err := os.ReadFile(contract + ".md")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	_, examples, _ := strings.Cut(string(text), "\n# 14. Examples")
	for _, block := range yamlBlock.FindAllStringSubmatch(examples, -1) {
		tried += applicable(t, block[1])
	}
	if tried < 10 {
		t.Errorf("%d examples", tried)
	}
}

// So can those of examples/, and each of them has one Timetable at least.
func TestShippedExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/timetable/*.yaml")
	if err != nil || len(files) < 7 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if applicable(t, string(text)) == 0 {
			t.Errorf("%s shows nothing", file)
		}
	}
}

// applicable tells how many objects of this API the documents hold, each of which must be admitted whole.
func applicable(t *testing.T, documents string) int {
	t.Helper()
	all, tried := crds(t), 0
	for document := range strings.SplitSeq(documents, "\n---\n") {
		obj := vectors.Decode(t, document)
		kind := obj["kind"].(string)
		if all[kind] == nil {
			continue
		}
		delete(obj["spec"].(map[string]any), "notify")
		name := obj["metadata"].(map[string]any)["name"].(string)
		admitted := runtime.DeepCopyJSON(obj)
		if err := all[kind].Admit(t, admitted).ToAggregate(); err != nil {
			t.Errorf("%s %s: %v", kind, name, err)
		}
		roundTrip(t, kind, admitted)
		if unknown := lost(obj, admitted); unknown != "" {
			t.Errorf("%s %s: %s is pruned", kind, name, unknown)
		}
		tried++
	}
	return tried
}

// lost names a field of before that after does not have.
func lost(before, after any) string {
	switch value := before.(type) {
	case map[string]any:
		there, _ := after.(map[string]any)
		for field := range value {
			if _, ok := there[field]; !ok {
				return field
			}
			if inside := lost(value[field], there[field]); inside != "" {
				return field + "." + inside
			}
		}
	case []any:
		there, _ := after.([]any)
		for i := range value {
			if i >= len(there) {
				return fmt.Sprint(i)
			}
			if inside := lost(value[i], there[i]); inside != "" {
				return fmt.Sprintf("%d.%s", i, inside)
			}
		}
	}
	return ""
}

// The schema lets through every schedule of which the contract says at what times it runs.
func TestScheduleVectorsAreAdmitted(t *testing.T) {
	text, err := os.ReadFile(contract + "-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	definition := crd(t, "timetables")
	for _, v := range vectors.Decode(t, string(text))["schedule"].([]any) {
		vector := v.(map[string]any)
		obj := vectors.Timetable(t)
		spec := obj["spec"].(map[string]any)
		for _, field := range []string{"schedules", "timeZone", "dst", "window"} {
			if value := vector[field]; value != nil {
				spec[field] = value
			}
		}
		var exclude []any
		if periods, ok := vector["exclude"].([]any); ok {
			for _, period := range periods {
				exclude = append(exclude, map[string]any{"period": period})
			}
			spec["exclude"] = exclude
		}
		if seconds, ok := vector["jitterSeconds"]; ok {
			spec["jitter"] = fmt.Sprintf("%vs", seconds)
		}
		if err := definition.Admit(t, obj).ToAggregate(); err != nil {
			t.Errorf("%s: %v", vector["id"], err)
		}
	}
}
