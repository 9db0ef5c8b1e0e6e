// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"errors"
	"fmt"
)

// An Unreadable is an object that is none of its API: a field has a value of another type.
type Unreadable struct {
	Object
	// Field is the path of the field, such as "spec.periods"; "" if that is not known.
	Field string
	// Message says what is wrong with it.
	Message string
}

// Error says what is wrong, without the object.
func (u Unreadable) Error() string { return u.Message }

func unreadable(object Object, err error) Unreadable {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok || wrong.Field == "" {
		return Unreadable{Object: object, Message: err.Error()}
	}
	return Unreadable{Object: object, Field: wrong.Field, Message: fmt.Sprintf("%s: its API takes no %s there", wrong.Field, wrong.Value)}
}
