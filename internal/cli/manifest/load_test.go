// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const cronJob = `apiVersion: batch/v1
kind: CronJob
metadata: {name: hello}
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: c, image: host, command: ["true"]}]
`

// What is right is read whole, in the order in which it is written.
func TestParse(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string // Object.String()
	}{
		"one document":                     {cronJob, []string{"f.yaml: document 1 (line 1), CronJob hello"}},
		"a separator first":                {"---\n" + cronJob, []string{"f.yaml: document 1 (line 2), CronJob hello"}},
		"two documents, the second's line": {cronJob + "---\n" + strings.Replace(cronJob, "hello", "bye", 1), []string{"f.yaml: document 1 (line 1), CronJob hello", "f.yaml: document 2 (line 13), CronJob bye"}},
		"comments and empty documents":     {"# only words\n---\n\n---\n" + cronJob, []string{"f.yaml: document 3 (line 5), CronJob hello"}},
		"a list":                           {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n", []string{"f.yaml: document 1 (line 1), ConfigMap a", "f.yaml: document 1 (line 1), ConfigMap b"}},
		"JSON":                             {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"n":"1"}}`, []string{"f.yaml: document 1 (line 1), ConfigMap a"}},
		"a kind that we do not know":       {"apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}\nspec: {any: 1}\n", []string{"f.yaml: document 1 (line 1), Thing x"}},
		"a generated name":                 {"apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: j-}\n", []string{"f.yaml: document 1 (line 1), Job j-…"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects, err := Parse("f.yaml", []byte(test.text), func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range objects {
				got = append(got, o.String())
			}
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// What is wrong names the file, the document and the field, and nothing is returned.
func TestParseFaults(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"a field that does not exist":         {strings.Replace(cronJob, "schedule:", "shedule:", 1), []string{"f.yaml: document 1 (line 1): CronJob hello:", `unknown field "spec.shedule"`}},
		"a field twice":                       {cronJob + "kind: Job\n", []string{"document 1", `key "kind" already set`}},
		"no kind":                             {"apiVersion: v1\n", []string{"kind is missing"}},
		"no apiVersion":                       {"kind: Job\n", []string{"apiVersion is missing"}},
		"no name":                             {"apiVersion: batch/v1\nkind: Job\n", []string{"Job: metadata.name is missing"}},
		"not YAML":                            {"a: [\n", []string{"document 1 (line 1)"}},
		"a wrong type":                        {strings.Replace(cronJob, "{name: hello}", "{name: hello}\nspec2: x", 1), []string{`unknown field "spec2"`}},
		"a scalar":                            {"hello\n", []string{"document 1"}},
		"a name that YAML reads as a boolean": {strings.Replace(cronJob, "hello", "n", 1), []string{"f.yaml: document 1 (line 1): CronJob: line 3: metadata.name: YAML reads n as a boolean", `write it in quotes, "n"`}},
		"a name that YAML reads as a number":  {"---\n" + strings.Replace(cronJob, "hello", "1e3", 1), []string{"line 4: metadata.name: YAML reads 1e3 as a number", `"1e3"`}},
		"a name of a custom resource":         {"apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: yes\n", []string{"line 4: metadata.name: YAML reads yes as a boolean"}},
		"an environment variable":             {strings.Replace(cronJob, "image: host", "image: host, env: [{name: A, value: on}, {name: B, value: 012}]", 1), []string{"line 11: spec.jobTemplate.spec.template.spec.containers[0].env[0].value: YAML reads on as a boolean", `env[1].value: YAML reads 012 as a number`, `"012"`}},
		"a label, an argument":                {strings.Replace(strings.Replace(cronJob, "{name: hello}", "{name: hello, labels: {tier: 1}}", 1), `["true"]`, `["sleep", 5]`, 1), []string{"line 3: metadata.labels.tier: YAML reads 1 as a number", "command[1]: YAML reads 5"}},
		"an old CronJob's unknown field":      {strings.Replace(strings.Replace(cronJob, "batch/v1", "batch/v1beta1", 1), "schedule:", "shedule:", 1), []string{`unknown field "spec.shedule"`}},
		"nothing":                             {"# nothing\n", []string{"there is no object in it"}},
		"two faults are both told":            {strings.Replace(cronJob, "schedule:", "shedule:", 1) + "---\nkind: Job\n", []string{"spec.shedule", "document 2 (line 13): apiVersion is missing"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects, err := Parse("f.yaml", []byte(test.text), func(string) {})
			var fault *Fault
			if !errors.As(err, &fault) {
				t.Fatalf("got objects %v and error %v, want a Fault", objects, err)
			}
			if len(objects) != 0 {
				t.Errorf("returned %d objects beside the fault", len(objects))
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the message lacks %q:\n%s", want, err)
				}
			}
		})
	}
}

// A CronJob of batch/v1beta1 is one of batch/v1, and that is told once, also in a list.
func TestOldCronJob(t *testing.T) {
	old := strings.Replace(cronJob, "batch/v1", "batch/v1beta1", 1)
	for name, text := range map[string]string{
		"a document": old,
		"a list":     "apiVersion: v1\nkind: List\nitems:\n- " + strings.TrimSpace(strings.ReplaceAll(old, "\n", "\n  ")) + "\n",
		"JSON":       `{"apiVersion":"batch/v1beta1","kind":"CronJob","metadata":{"name":"hello"},"spec":{"schedule":"@daily"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var told []string
			objects, err := Parse("f.yaml", []byte(text), func(line string) { told = append(told, line) })
			if err != nil {
				t.Fatal(err)
			}
			if len(objects) != 1 || objects[0].GetAPIVersion() != "batch/v1" || objects[0].GetName() != "hello" {
				t.Errorf("read %v", objects)
			}
			if len(told) != 1 || !strings.Contains(told[0], "CronJob hello: batch/v1beta1 is read as batch/v1") {
				t.Errorf("told %q", told)
			}
		})
	}
}

// A directory gives its manifests in the order of their names; stdin is "-"; a path that is not there
// is a fault that names it.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b.yaml": strings.Replace(cronJob, "hello", "b", 1), "a.yml": strings.Replace(cronJob, "hello", "a", 1), "README.md": "no manifest",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := Load(t.Context(), []string{dir, "-"}, strings.NewReader(strings.Replace(cronJob, "hello", "c", 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range objects {
		names = append(names, o.GetName())
	}
	if got := strings.Join(names, " "); got != "a b c" {
		t.Errorf("read %q, want a b c", got)
	}
	for name, path := range map[string]string{"a path that is not there": filepath.Join(dir, "none.yaml"), "an empty directory": t.TempDir()} {
		var fault *Fault
		if _, err := Load(t.Context(), []string{path}, nil, nil); !errors.As(err, &fault) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want a Fault that names %s", name, err, path)
		}
	}
}

// No input panics, and whatever is accepted has a kind and a name.
func FuzzParse(f *testing.F) {
	f.Add(cronJob)
	f.Add("---\n---\na: b\n")
	f.Add("apiVersion: v1\nkind: List\nitems: [1, {}, null]\n")
	f.Add("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":1}}")
	f.Add("apiVersion: v1\nkind: ConfigMap\nmetadata: []\n")
	f.Fuzz(func(t *testing.T, text string) {
		objects, err := Parse("f.yaml", []byte(text), func(string) {})
		if err != nil {
			return
		}
		for _, o := range objects {
			if o.GetKind() == "" || (o.GetName() == "" && o.GetGenerateName() == "") {
				t.Errorf("accepted %s", o)
			}
		}
	})
}
