// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

// FailureText says what the reason of a failed Job means, as a sentence without its end; "" if it is not known.
func FailureText(reason string) string { return failureWords[reason] }

// ExitText says what shells and kernels mean by an exit code; "" if nothing special.
func ExitText(code int32) string { return exitWords[code] }
