// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A manual run is a child that no scheduled time has: somebody made it, usually with kubectl create job --from. It is a
// child like any other for Forbid, for history and for lastSuccessfulTime. But nobody who starts a run by hand wants
// the next scheduled time to delete it, so Replace leaves it alone and starts beside it (cronjob.md B1).

// manual tells whether no scheduled time made the child: it proves none, and its name is not that of one.
//
// The name counts because an admission webhook may take annotations away, and because a run by hand that took the name
// of a scheduled time is that time's run: the name is the lock. A name that merely looks like one, such as a name that
// ends in seconds where ours end in minutes, tells a time before the CronJob or one that has not come yet.
func manual(in *Input, c Child) bool {
	if _, proved := proof(in, c); proved {
		return false
	}
	if in.Traits.TrustStamp {
		return true
	}
	digits, ours := strings.CutPrefix(c.Name, in.Owner.Name+"-")
	if !ours {
		return true
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	unit := int64(max(in.Traits.NameUnit, time.Second) / time.Second)
	if err != nil || n < 0 || n > in.Now.Unix()/unit {
		return true
	}
	return n < in.Owner.Created.Unix()/unit
}

// manualRuns are the manual runs among unfinished children; scheduledRuns are the others.
func manualRuns(in *Input, unfinished []Child) []Child {
	return slices.DeleteFunc(slices.Clone(unfinished), func(c Child) bool { return !manual(in, c) })
}

func scheduledRuns(in *Input, unfinished []Child) []Child {
	return slices.DeleteFunc(slices.Clone(unfinished), func(c Child) bool { return manual(in, c) })
}

// forbidding are the unfinished children that Forbid waits for: all but manual runs that are suspended, which run
// nothing until somebody resumes them, perhaps never.
func forbidding(in *Input, unfinished []Child) []Child {
	return slices.DeleteFunc(slices.Clone(unfinished), func(c Child) bool { return c.Suspended && manual(in, c) })
}
