// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// Unreadable is an error of a user: an object holds something that its API has another type for. Its CRD did not check
// that when it was stored. Such an object must not keep a client from reading the others of a list, so the types of the
// kinds that are custom resources decode it without spec and status, and say so.
type Unreadable struct {
	// Field is the path of what cannot be read; Problem says what it is and what it must be.
	Field, Problem string
}

// Error implements error.
func (u *Unreadable) Error() string { return u.Field + " " + u.Problem }

// Reader is an object that may be unreadable.
type Reader interface {
	// Trouble says why it could not be read whole; nil if it could.
	Trouble() *Unreadable
}

// Trouble says why obj could not be read whole; nil if it could.
func Trouble(obj any) *Unreadable {
	if r, ok := obj.(Reader); ok {
		return r.Trouble()
	}
	return nil
}

// StatusReader is an object of which a part of the status may be unreadable although the rest can be served.
type StatusReader interface {
	// StatusTrouble says what of the status could not be read, the first of it; nil if all could.
	StatusTrouble() *Unreadable
}

// StatusTrouble says what of the status of obj could not be read, and counts as absent; nil if all could.
func StatusTrouble(obj any) *Unreadable {
	if r, ok := obj.(StatusReader); ok {
		return r.StatusTrouble()
	}
	return nil
}

// Decode reads a JSON object. One that does not fit T is read without its spec and status, and the trouble says why.
// The error is for what is no object of the API at all.
func Decode[T any](data []byte, obj *T) (*Unreadable, error) {
	err := json.Unmarshal(data, obj)
	if err == nil {
		return nil, nil
	}
	var whole map[string]any
	if json.Unmarshal(data, &whole) != nil {
		return nil, err
	}
	trouble := locate("", whole, func(part any) error {
		raw, err := json.Marshal(part)
		if err != nil {
			return err
		}
		var probe T
		return json.Unmarshal(raw, &probe)
	})
	maps.DeleteFunc(whole, func(member string, _ any) bool {
		return member != "apiVersion" && member != "kind" && member != "metadata"
	})
	bare, bareErr := json.Marshal(whole)
	if bareErr != nil {
		return nil, err
	}
	var empty T
	*obj = empty
	if bareErr = json.Unmarshal(bare, obj); bareErr != nil { // metadata is the server's, which types it
		return nil, err
	}
	return trouble, nil
}

// locate finds the smallest part of value that try refuses by itself, going down from path.
func locate(path string, value any, try func(any) error) *Unreadable {
	switch v := value.(type) {
	case map[string]any:
		if try(map[string]any{}) != nil {
			break // no object at all belongs here
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			within := func(part any) error { return try(map[string]any{key: part}) }
			if within(v[key]) != nil {
				return locate(join(path, key), v[key], within)
			}
		}
	case []any:
		if try([]any{}) != nil {
			break
		}
		for i, item := range v {
			within := func(part any) error { return try([]any{part}) }
			if within(item) != nil {
				return locate(fmt.Sprintf("%s[%d]", path, i), item, within)
			}
		}
	}
	return &Unreadable{Field: path, Problem: problem(value, try(value))}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// wanted is the Go type at the end of what the JSON decoder says.
var wanted = regexp.MustCompile(`of type (\S+)$`)

// word is what users call a Go type of ours.
func word(goType string) string {
	switch {
	case goType == "string" || strings.HasSuffix(goType, "Policy"):
		return "a string"
	case goType == "bool":
		return "true or false"
	case goType == "int32" || goType == "int64":
		return "a whole number"
	case goType == "map[string]string":
		return "an object of strings"
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	default:
		return "an object"
	}
}

func problem(value any, err error) string {
	is := "is of another type than it must be"
	switch v := value.(type) {
	case string:
		is = fmt.Sprintf("is the string %.40q", v)
	case bool:
		is = fmt.Sprintf("is %t", v)
	case int64, float64:
		is = fmt.Sprintf("is the number %v", v)
	case []any:
		is = "is a list"
	case map[string]any:
		is = "is an object"
	}
	if err == nil {
		return is
	}
	if m := wanted.FindStringSubmatch(err.Error()); m != nil {
		return is + ", and must be " + word(m[1])
	}
	return fmt.Sprintf("%s, which cannot be read: %v", is, err)
}
