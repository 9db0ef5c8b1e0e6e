// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Command probe tells when it began, in nanoseconds since 1970. It is what the containers of the benchmark run.
package main

import (
	"fmt"
	"time"
)

func main() { fmt.Println(time.Now().UnixNano()) }
