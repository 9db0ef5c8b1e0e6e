// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

// Rules is the table of all rules: first those about when something runs, then about what happens when runs overlap,
// are late or fail, then about what is left of them, then about the Job and its Pods, and last about the files
// themselves.
var Rules = []*Rule{
	scheduleUnreadable, specUnreadable, invalidValue, refusedByAPI, templateUnusable, timeZoneUnknown, timeZoneInSchedule, neverFires, nothingLeft, calendarMissing, tooFrequent,
	noTimeZone, dayOfMonthAndWeek, unevenStep, dayMissing, minuteStar, everyDrifts, everyBeyondDeadline, everyInCron, belowAMinute, clockChanges, clockChangeDaysOnly,

	herd, overlapWithoutLimit, noRunDeadline, deadlineBeyondInterval, replaceNeverFinishes, twoDeadlines,
	startingDeadlineZero, startingDeadlineShort, noStartingDeadline, suspended,

	failuresNotKept, successesNotKept, ttlZero, ttlBelowHistory, jobKeptForEver,

	backoffOnFailure, backoffTimesRetry, backoffBeyondDeadline, activeDeadlineZero,
	restartPolicy, selector, podFailurePolicy, indexedWithoutCompletions, perIndexWithoutIndexed, parallelismWithoutCompletions, parallelismZero,
	nameTooLong, nameWithDot, childNameTooLong, ignoredMetadata, unknownField,
	containerIncomplete, imageLatest, imageStale, noRequests, noMemoryLimit, requestAboveLimit, secretInPlainText, hostPath, volumeNotDeclared,
	sidecarNeverEnds, serviceAccountAlias,
	oneMachineVolume, oneMachinePlacement, oneMachineSecurity, oneMachineNetwork,

	unknownKind, deprecatedAPI, duplicate,
	suppressionWithoutReason, suppressionOfUnknownRule, suppressionUnused,
}
