// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// nameTime is how a time stands in a name, in UTC.
const nameTime = "20060102-150405"

// baseName is what the names of all runs of a Timetable begin with: its name if that has at most 30 characters, else a
// part of it and of its hash.
func baseName(timetable string) string {
	const longest, kept, digits = 30, 23, 6
	if len(timetable) <= longest {
		return timetable
	}
	return timetable[:kept] + "-" + hash(timetable, digits)
}

// hash gives the first hex digits of the SHA-256 of a text.
func hash(text string, digits int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:digits]
}

// RunName is the name of the run of a scheduled time: that of its first child.
func RunName(timetable string, scheduledTime time.Time) string {
	var room [64]byte // for all of them: one allocation instead of two
	return string(scheduledTime.UTC().AppendFormat(append(append(room[:0], baseName(timetable)...), '-'), nameTime))
}

// ManualRunName is the name of the run that a request with this UID asks for.
func ManualRunName(timetable string, request types.UID) string {
	return baseName(timetable) + "-m-" + hash(string(request), 10)
}

// BackfillRunName is the name of the run of a scheduled time in the backfill with this UID.
func BackfillRunName(timetable string, backfill types.UID, scheduledTime time.Time) string {
	return baseName(timetable) + "-b" + hash(string(backfill), 6) + "-" + scheduledTime.UTC().Format(nameTime)
}

// ChildName is the name of the child of an attempt, which counts from 1. It is the lock: one attempt of one run has one
// name, and no other has it. Names have at most 58 characters; a Job can have 63, and so can the host name of a Pod.
func ChildName(run string, attempt int32) string {
	if attempt <= 1 {
		return run
	}
	return run + "-r" + strconv.Itoa(int(attempt))
}
