// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/standalone"
)

// keepFlags adds the flags that say how much is remembered of runs.
func keepFlags(flags *pflag.FlagSet, keep *standalone.Keep) {
	*keep = standalone.DefaultKeep()
	flags.Var((*keepRuns)(&keep.Runs), "keep-runs", "how long a run is remembered after its end, also when its Job is deleted, such as 90d, 12w or 36h; 0 is for ever")
	flags.Var((*keepLogs)(&keep.Logs), "keep-logs", "how much of the disk the logs of ended runs may take, compressed, such as 1GiB or 500MB: the oldest go first; 0 keeps none, -1 any number")
}

// keepRuns is a flag: a duration with days and weeks, 0 for ever.
type keepRuns time.Duration

var _ pflag.Value = (*keepRuns)(nil)

// Set implements pflag.Value.
func (k *keepRuns) Set(text string) error {
	span, ok := history.ParseSpan(text)
	if zero, err := time.ParseDuration(text); err == nil && zero == 0 || text == "0d" || text == "0w" {
		span, ok = 0, true
	}
	switch {
	case !ok:
		return errors.New("must be a duration such as 90d, 12w or 36h (70 years at most), or 0 for ever")
	case span != 0 && span < time.Minute:
		return errors.New("must be a minute at least; 0 is for ever")
	}
	*k = keepRuns(span)
	return nil
}

// String implements pflag.Value.
func (k *keepRuns) String() string {
	d := time.Duration(*k)
	if days := d / (24 * time.Hour); d == days*24*time.Hour {
		if days == 0 {
			return "0"
		}
		return fmt.Sprintf("%dd", days)
	}
	return d.String()
}

// Type implements pflag.Value.
func (k *keepRuns) Type() string { return "duration" }

// keepLogs is a flag: a number of bytes, 0 for none, -1 for any.
type keepLogs int64

var _ pflag.Value = (*keepLogs)(nil)

// minKeepLogs is less than which a journal does not need: a log is kept in parts of this order.
const minKeepLogs = 1 << 20

// Set implements pflag.Value. It takes quantities as Kubernetes writes them, and those with a B after them.
func (k *keepLogs) Set(text string) error {
	q, err := resource.ParseQuantity(strings.TrimSuffix(text, "B"))
	switch n := q.Value(); {
	case err != nil || n < -1:
		return errors.New("must be a number of bytes such as 1GiB or 500MB, 0 for none, or -1 for any number")
	case n > 0 && n < minKeepLogs:
		return errors.New("must be 1MiB at least; 0 keeps none")
	default:
		*k = keepLogs(n)
	}
	return nil
}

// String implements pflag.Value.
func (k *keepLogs) String() string {
	if *k <= 0 {
		return fmt.Sprint(int64(*k))
	}
	text := resource.NewQuantity(int64(*k), resource.BinarySI).String()
	if strings.HasSuffix(text, "i") {
		text += "B"
	}
	return text
}

// Type implements pflag.Value.
func (k *keepLogs) Type() string { return "quantity" }

// keepMessage tells the user what is remembered.
func keepMessage(keep standalone.Keep) string {
	runs := "runs are remembered for ever"
	if keep.Runs > 0 {
		runs = "runs are remembered for " + keepText(keep.Runs)
	}
	switch {
	case keep.Logs == 0:
		return runs + ", their logs are not (--keep-logs)"
	case keep.Logs < 0:
		return runs + ", with all their logs (--keep-runs, --keep-logs)"
	}
	return fmt.Sprintf("%s, with %s of their logs (--keep-runs, --keep-logs)", runs, quantity.Bytes(keep.Logs))
}

// tellWhen calls tell when done is closed, which may be at once, unless ctx ends before.
func tellWhen(ctx context.Context, done <-chan struct{}, tell func()) {
	select {
	case <-done:
		tell()
		return
	default:
	}
	go func() {
		select {
		case <-done:
			tell()
		case <-ctx.Done():
		}
	}()
}

func keepText(d time.Duration) string {
	if days := int(d / (24 * time.Hour)); d == time.Duration(days)*24*time.Hour {
		return quantity.Count(days, "day")
	}
	return duration.Exact(d)
}
