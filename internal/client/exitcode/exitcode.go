// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exitcode holds the exit codes of the program, which are a promise, and the error that carries one.
package exitcode

import "fmt"

// The exit codes. 0 is success.
const (
	Failed      = 1
	Usage       = 2
	Timeout     = 124
	Interrupted = 130
)

// Error is an error that carries the program's exit code. One without Err has said all already.
type Error struct {
	Code int
	Err  error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns what went wrong, nil if that was told already.
func (e *Error) Unwrap() error { return e.Err }

// UsageError says that the user's input is at fault: flags, arguments or manifests. The text is one that fmt.Errorf
// takes.
func UsageError(format string, args ...any) error {
	return &Error{Code: Usage, Err: fmt.Errorf(format, args...)}
}
