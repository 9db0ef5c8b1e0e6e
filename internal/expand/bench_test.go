// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package expand_test

import (
	"math"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/expand"
)

const jobSpec = `{"backoffLimit":1,"template":{"spec":{"restartPolicy":"Never","serviceAccountName":"reporter","containers":[{"name":"report",` +
	`"image":"registry/report:12","args":["--region=$(carillon.parameters.mode)","--kind=$(carillon.schedule)"],"env":[{"name":"SCHEDULED_TIME",` +
	`"value":"$(carillon.scheduledTime)"},{"name":"SINCE","value":"$(carillon.lastSuccessScheduledTime)"},{"name":"ATTEMPT","value":"$(carillon.attempt)"}]}]}}}`

// BenchmarkCompile reads the template of example 14.8, and one of 256 KiB.
func BenchmarkCompile(b *testing.B) {
	for name, text := range map[string]string{
		"job":     jobSpec,
		"plain":   strings.ReplaceAll(jobSpec, "$(carillon.", "$(CARILLON_"),
		"largest": `["` + strings.Repeat("x", 256<<10-len(jobSpec)-5) + `",` + jobSpec + `]`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := expand.Compile("spec", []byte(text), parameters); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkExpand makes one run of the template of example 14.8.
func BenchmarkExpand(b *testing.B) {
	for name, text := range map[string]string{"job": jobSpec, "plain": strings.ReplaceAll(jobSpec, "$(carillon.", "$(CARILLON_")} {
		b.Run(name, func(b *testing.B) {
			template, err := expand.Compile("spec", []byte(text), parameters)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				template.Expand(&tick, math.MaxInt)
			}
		})
	}
}
