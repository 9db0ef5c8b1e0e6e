// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package expand_test

import (
	"fmt"
	"time"

	"github.com/carillon-dev/carillon/internal/expand"
)

func Example() {
	parameters, err := expand.CompileParameters([]expand.Parameter{{Name: "table", Default: "orders", Pattern: "^[a-z_]{1,40}$"}})
	if err != nil {
		panic(err)
	}
	template, err := expand.Compile("spec.template.spec", []byte(`{"args":["$(carillon.parameters.table)","$(carillon.scheduledTime)","$(HOME)"]}`), parameters.Names())
	if err != nil {
		panic(err)
	}
	defaults, _ := parameters.Values(nil)
	spec, _, _ := template.Expand(&expand.Values{ScheduledTime: time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC), Parameters: defaults}, 1<<20)
	fmt.Println(string(spec))

	_, err = expand.Compile("spec.template.spec", []byte(`{"args":["$(carillon.scheduledTime.week)"]}`), parameters.Names())
	fmt.Println(err)
	// Output:
	// {"args":["orders","2026-05-04T12:10:00Z","$(HOME)"]}
	// spec.template.spec.args[0]: unknown variable scheduledTime.week; there is scheduledTime alone and with .utc, .unix, .date, .compact
}
