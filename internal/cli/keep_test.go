// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/carillon-dev/carillon/internal/standalone"
)

// What users write is understood, said back in the same units, and refused in words that tell what is meant.
func TestKeepFlags(t *testing.T) {
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		args    string
		want    standalone.Keep
		message string
		refused string
	}{
		"nothing said":      {want: standalone.Keep{Runs: 90 * day, Logs: 1 << 30}, message: "runs are remembered for 90 days, with 1.0 GiB of their logs (--keep-runs, --keep-logs)"},
		"days, GiB":         {args: "--keep-runs=30d --keep-logs=2GiB", want: standalone.Keep{Runs: 30 * day, Logs: 2 << 30}, message: "runs are remembered for 30 days, with 2.0 GiB of their logs (--keep-runs, --keep-logs)"},
		"weeks, Gi":         {args: "--keep-runs=2w --keep-logs=1Gi", want: standalone.Keep{Runs: 14 * day, Logs: 1 << 30}, message: "runs are remembered for 14 days, with 1.0 GiB of their logs (--keep-runs, --keep-logs)"},
		"hours, MB":         {args: "--keep-runs=36h30m --keep-logs=500MB", want: standalone.Keep{Runs: 36*time.Hour + 30*time.Minute, Logs: 500e6}, message: "runs are remembered for 36h30m, with 477 MiB of their logs (--keep-runs, --keep-logs)"},
		"for ever, no logs": {args: "--keep-runs=0 --keep-logs=0", want: standalone.Keep{}, message: "runs are remembered for ever, their logs are not (--keep-logs)"},
		"all":               {args: "--keep-runs=0d --keep-logs=-1", want: standalone.Keep{Logs: -1}, message: "runs are remembered for ever, with all their logs (--keep-runs, --keep-logs)"},
		"no duration":       {args: "--keep-runs=soon", refused: "must be a duration such as 90d"},
		"a number alone":    {args: "--keep-runs=90", refused: "must be a duration such as 90d"},
		"less than nothing": {args: "--keep-runs=-1h", refused: "must be a duration such as 90d"},
		"a second":          {args: "--keep-runs=1s", refused: "must be a minute at least"},
		"a thousand years":  {args: "--keep-runs=400000d", refused: "70 years at most"},
		"no bytes":          {args: "--keep-logs=lots", refused: "must be a number of bytes such as 1GiB"},
		"minus two":         {args: "--keep-logs=-2", refused: "must be a number of bytes such as 1GiB"},
		"a few bytes":       {args: "--keep-logs=1000", refused: "must be 1MiB at least"},
	} {
		t.Run(name, func(t *testing.T) {
			var keep standalone.Keep
			flags := pflag.NewFlagSet("up", pflag.ContinueOnError)
			keepFlags(flags, &keep)
			err := flags.Parse(strings.Fields(test.args))
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) {
					t.Errorf("refused with %v, want %q", err, test.refused)
				}
				return
			}
			if err != nil || keep != test.want {
				t.Fatalf("%+v, %v; want %+v", keep, err, test.want)
			}
			if got := keepMessage(keep); got != test.message {
				t.Errorf("message %q, want %q", got, test.message)
			}
			for _, flag := range []string{"keep-runs", "keep-logs"} { // what it writes it reads
				before := keep
				if err := flags.Set(flag, flags.Lookup(flag).Value.String()); err != nil || keep != before {
					t.Errorf("%s: %s is read as %+v, %v", flag, flags.Lookup(flag).Value, keep, err)
				}
			}
		})
	}
}
