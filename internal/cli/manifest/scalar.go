// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"

	"go.yaml.in/yaml/v3"
)

// unquoted finds the values that YAML reads as a boolean or a number where the object wants text, as in "name: no" or
// "value: 1e3", and says for each what is read, on which line of the file, and that quotes are the cure. fields is what
// the document was decoded to. For custom resources only the metadata is known to be text.
func unquoted(doc []byte, obj *unstructured.Unstructured, first int) []string {
	root := &yaml.Node{}
	if yaml.Unmarshal(doc, root) != nil || len(root.Content) == 0 {
		return nil
	}
	w := walk{first: first}
	if typed, err := scheme.Scheme.New(obj.GroupVersionKind()); err == nil {
		w.value(reflect.TypeOf(typed).Elem(), obj.Object, root.Content[0], "")
	} else {
		w.value(reflect.TypeFor[metav1.ObjectMeta](), obj.Object["metadata"], child(root.Content[0], "metadata"), "metadata")
	}
	return w.found
}

// walk goes through a type, what was decoded and what was written, side by side.
type walk struct {
	first int // line of the file on which the document begins
	found []string
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (w *walk) value(t reflect.Type, v any, at *yaml.Node, path string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if at != nil && at.Kind == yaml.AliasNode {
		at = at.Alias
	}
	if v == nil || reflect.PointerTo(t).Implements(unmarshaler) { // quantities, times and the like take what they take
		return
	}
	switch t.Kind() {
	case reflect.String:
		w.text(v, at, path)
	case reflect.Struct:
		if m, ok := v.(map[string]any); ok {
			w.fields(t, m, at, path)
		}
	case reflect.Map:
		if m, ok := v.(map[string]any); ok {
			for key, each := range m {
				w.value(t.Elem(), each, child(at, key), path+"."+key)
			}
		}
	case reflect.Slice:
		if list, ok := v.([]any); ok {
			for i, each := range list {
				w.value(t.Elem(), each, item(at, i), fmt.Sprintf("%s[%d]", path, i))
			}
		}
	}
}

func (w *walk) fields(t reflect.Type, m map[string]any, at *yaml.Node, path string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && (field.Anonymous || strings.Contains(options, "inline")) {
			w.fields(field.Type, m, at, path)
			continue
		}
		if each, ok := m[name]; ok {
			w.value(field.Type, each, child(at, name), strings.TrimPrefix(path+"."+name, "."))
		}
	}
}

func (w *walk) text(v any, at *yaml.Node, path string) {
	var kind string
	switch v.(type) {
	case bool:
		kind = "a boolean"
	case int64, float64, json.Number:
		kind = "a number"
	default:
		return
	}
	written, line := fmt.Sprint(v), w.first
	if at != nil {
		written, line = at.Value, w.first+at.Line-1
	}
	w.found = append(w.found, fmt.Sprintf("line %d: %s: YAML reads %s as %s, and text is wanted here: write it in quotes, %s",
		line, path, written, kind, strconv.Quote(written)))
}

// child is the value of a key in a mapping.
func child(at *yaml.Node, key string) *yaml.Node {
	if at == nil || at.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(at.Content); i += 2 {
		if at.Content[i].Value == key {
			return at.Content[i+1]
		}
	}
	return nil
}

// item is an element of a sequence.
func item(at *yaml.Node, i int) *yaml.Node {
	if at == nil || at.Kind != yaml.SequenceNode || i >= len(at.Content) {
		return nil
	}
	return at.Content[i]
}
