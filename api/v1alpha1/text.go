// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Duration is a length of time of the form 1h30m: hours, minutes and seconds,
// which time.ParseDuration reads. There are no days, because a day has not 24
// hours everywhere.
//
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=18
// +kubebuilder:validation:Pattern=`^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$`
// +kubebuilder:validation:XValidation:rule=`self.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$')`,message="a length of time is hours, minutes and seconds, such as 1h30m or 24h"
type Duration string

// Moment is a date and time of day in spec.timeZone, such as
// 2027-03-01T14:00, or the same with Z or an offset; where it is said, a date
// alone.
//
// +kubebuilder:validation:MaxLength=25
// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2})?)?$`
// +kubebuilder:validation:XValidation:rule=`self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2})?)?$')`,message="a moment is a date and a time of day, such as 2027-03-01T14:00, or the same with Z or an offset"
type Moment string

// Period is a span of local time: days, both ends included (2026-12-25,
// 2026-12-24/2027-01-02; without a year they come every year, 12-25,
// 12-24/01-02), or 2026-12-24T18:00/2026-12-27T06:00, whose end is not
// included.
//
// +kubebuilder:validation:MaxLength=33
// +kubebuilder:validation:Pattern=`^([0-9]{2}-[0-9]{2}(/[0-9]{2}-[0-9]{2})?|[0-9]{4}-[0-9]{2}-[0-9]{2}(/[0-9]{4}-[0-9]{2}-[0-9]{2})?|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2})$`
// +kubebuilder:validation:XValidation:rule=`!self.contains('/') || size(self) == 11 || self.split('/')[0] < self.split('/')[1] || (size(self) == 21 && self.split('/')[0] == self.split('/')[1])`,message="a period must not end before it begins, nor may one of date-times be empty"
// +kubebuilder:validation:XValidation:rule=`[self.split('/')[0], self.substring(self.indexOf('/') + 1)].all(x, x.matches('^([0-9]{4}-)?((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))(T([01][0-9]|2[0-3]):[0-5][0-9])?$'))`,message="a period must be made of dates and times of day that exist"
type Period string
