// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"crypto/sha256"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// fieldSet is a set of fields as managed fields write it: "f:name" is a field, "k:{…}" the item of a list with these
// keys, "v:…" one with this value, "i:3" one at this place, and "." the field itself.
type fieldSet = map[string]any

func fieldsOf(f *metav1.FieldsV1) fieldSet {
	set := fieldSet{}
	if f != nil {
		_ = json.Unmarshal(f.GetRawBytes(), &set) // what cannot be read is of nobody
	}
	return set
}

// places are fields of an object, by where they are: "/spec/schedule", "/spec/containers/0/name". Those of scalars, and
// of what is kept whole, are among them.
type places map[string]bool

// longestPath is how long the path of a field may be in bytes, so that many fields far below long names stay small.
const longestPath = 250

// below is the path of a field in another one; its digest where it would be longer than longestPath.
func below(path, key string) string {
	if len(path)+1+len(key) <= longestPath {
		return path + "/" + key
	}
	digest := sha256.Sum256([]byte(path + "/" + key))
	return string(digest[:])
}

// owned adds the fields of value that a set names.
func (p places) owned(path string, value any, set fieldSet) {
	for key, inside := range set {
		deeper, _ := inside.(fieldSet)
		at, found, ok := step(path, value, key)
		switch {
		case key == "." && len(set) == 1:
			p[path] = true // a map or list of which nothing is inside
		case !ok:
		case len(deeper) == 0:
			p[at] = true
		default:
			p.owned(at, found, deeper)
		}
	}
}

// step goes to what a key of a set names; ok is false if it is not there.
func step(path string, value any, key string) (at string, found any, ok bool) {
	kind, name, _ := strings.Cut(key, ":")
	switch inside := value.(type) {
	case map[string]any:
		found, ok = inside[name]
		return below(path, name), found, ok && kind == "f"
	case []any:
		i := -1
		switch kind {
		case "k":
			var keys map[string]any
			if json.Unmarshal([]byte(name), &keys) != nil {
				return "", nil, false
			}
			i = slices.IndexFunc(inside, func(item any) bool { return hasKeys(item, keys) })
		case "v":
			var wanted any
			if json.Unmarshal([]byte(name), &wanted) != nil {
				return "", nil, false
			}
			i = slices.IndexFunc(inside, func(item any) bool { return reflect.DeepEqual(item, wanted) })
		case "i":
			if n, err := strconv.Atoi(name); err == nil && n < len(inside) {
				i = n
			}
		}
		if i >= 0 {
			return below(path, strconv.Itoa(i)), inside[i], true
		}
	}
	return "", nil, false
}

func hasKeys(item any, keys map[string]any) bool {
	m, ok := item.(map[string]any)
	for key, value := range keys {
		ok = ok && reflect.DeepEqual(m[key], value)
	}
	return ok
}

// alike adds the fields of value that another one has, too, whatever is in them.
func (p places) alike(path string, value, other any) {
	switch o := other.(type) {
	case map[string]any:
		if v, ok := value.(map[string]any); ok && len(o) > 0 {
			for key := range o {
				if inside, there := v[key]; there {
					p.alike(below(path, key), inside, o[key])
				}
			}
			return
		}
	case []any:
		if v, ok := value.([]any); ok && len(o) > 0 {
			for i := range v {
				if match, there := counterpart(v[i], i, o); there {
					p.alike(below(path, strconv.Itoa(i)), v[i], match)
				} else {
					p[below(path, strconv.Itoa(i))] = true // it was added
				}
			}
			return
		}
	}
	p[path] = true
}

// counterpart is the item of a list that stands for another one: that of its name or key, or else that at its place.
func counterpart(item any, i int, list []any) (any, bool) {
	if m, ok := item.(map[string]any); ok {
		for _, key := range []string{"name", "key", "mountPath", "containerPort"} {
			if m[key] == nil {
				continue
			}
			for _, other := range list {
				if hasKeys(other, map[string]any{key: m[key]}) {
					return other, true
				}
			}
			return nil, false
		}
	}
	if i < len(list) {
		return list[i], true
	}
	return nil, false
}

// prune gives what is at some places, and nil if nothing is.
func prune(path string, value any, kept places) any {
	if kept[path] {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		left := map[string]any{}
		for key, inside := range v {
			if got := prune(below(path, key), inside, kept); got != nil {
				left[key] = got
			}
		}
		if len(left) > 0 {
			return left
		}
	case []any:
		var left []any
		for i, inside := range v {
			if got := prune(below(path, strconv.Itoa(i)), inside, kept); got != nil {
				left = append(left, got)
			}
		}
		if len(left) > 0 {
			return left
		}
	}
	return nil
}

// withoutNulls leaves out fields that are null: to apply them is to apply nothing.
func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inside := range v {
			if inside == nil {
				delete(v, key)
				continue
			}
			v[key] = withoutNulls(inside)
		}
		if metadata, ok := v["metadata"].(map[string]any); ok { // what kubectl keeps has an empty one
			if annotations, ok := metadata["annotations"].(map[string]any); ok && len(annotations) == 0 {
				delete(metadata, "annotations")
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return value
}

// asWritten writes quantities of resources in after as they are in before where they are the same: the API server
// writes 0.5 as 500m.
func asWritten(before, after any) {
	switch b := before.(type) {
	case map[string]any:
		a, ok := after.(map[string]any)
		if !ok {
			return
		}
		for key, was := range b {
			if key == "limits" || key == "requests" {
				sameQuantities(was, a[key])
			}
			asWritten(was, a[key])
		}
	case []any:
		if a, ok := after.([]any); ok {
			for i := range a {
				if was, there := counterpart(a[i], i, b); there {
					asWritten(was, a[i])
				}
			}
		}
	}
}

func sameQuantities(before, after any) {
	b, _ := before.(map[string]any)
	a, _ := after.(map[string]any)
	for name, is := range a {
		was, err := quantityOf(b[name])
		if err != nil {
			continue
		}
		if now, err := quantityOf(is); err == nil && now.Cmp(was) == 0 {
			a[name] = b[name]
		}
	}
}

func quantityOf(value any) (resource.Quantity, error) {
	switch v := value.(type) {
	case string:
		return resource.ParseQuantity(v)
	case int64:
		return *resource.NewQuantity(v, resource.DecimalSI), nil
	case float64:
		return resource.ParseQuantity(strconv.FormatFloat(v, 'f', -1, 64))
	}
	return resource.Quantity{}, strconv.ErrSyntax
}

// leaves adds the fields of a set that have none inside, as people write them: "spec.template.containers[main].image".
// Of those with long paths the beginning is there.
func leaves(path string, set fieldSet, all *[]string) {
	for key, inside := range set {
		if key == "." {
			continue
		}
		at := path
		if len(at) < longestPath {
			at += written(key)
			at = at[:min(len(at), longestPath)]
		}
		before := len(*all)
		deeper, _ := inside.(fieldSet)
		if leaves(at, deeper, all); len(*all) > before {
			continue
		}
		if len(at) == longestPath {
			at = strings.ToValidUTF8(at, "") + "…"
		}
		*all = append(*all, strings.TrimPrefix(at, "."))
	}
}

func written(key string) string {
	kind, name, _ := strings.Cut(key, ":")
	if kind == "f" {
		return "." + name
	}
	var keys map[string]any
	if kind == "k" && json.Unmarshal([]byte(name), &keys) == nil {
		if text, ok := keys["name"].(string); ok {
			return "[" + text + "]"
		}
	}
	return "[" + name + "]"
}
