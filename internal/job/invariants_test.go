// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// JOB-352: one write that breaks each rule of the API server, and none that is broken by a legal one.
func TestCheckStatus(t *testing.T) {
	t.Parallel()
	type edit = func(*batchv1.Job)
	is := func(kinds ...batchv1.JobConditionType) edit {
		return func(j *batchv1.Job) {
			for _, k := range kinds {
				withCondition(k, corev1.ConditionTrue, "r")(j)
			}
		}
	}
	const complete, failed, target, met, suspended = batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet, batchv1.JobSuspended
	status := func(f func(*batchv1.JobStatus)) edit { return func(j *batchv1.Job) { f(&j.Status) } }
	startedAt := func(d time.Duration) edit {
		return status(func(s *batchv1.JobStatus) { s.StartTime = ptr.To(ago(d)) })
	}
	completedAt := func(d time.Duration) edit {
		return status(func(s *batchv1.JobStatus) { s.CompletionTime = ptr.To(ago(d)) })
	}
	done := []edit{startedAt(time.Minute), completedAt(0), is(met, complete)}
	all := func(lists ...any) (edits []edit) {
		for _, l := range lists {
			switch l := l.(type) {
			case edit:
				edits = append(edits, l)
			case []edit:
				edits = append(edits, l...)
			}
		}
		return edits
	}
	tests := map[string]struct {
		spec     string
		both     []edit // spec, and status before and after
		old, new []edit
		want     []string
	}{
		"nothing changes":       {},
		"INV-01 negative":       {new: all(counted(-1, 0)), want: []string{"INV-01", "INV-09"}},
		"INV-01 ready negative": {new: all(status(func(s *batchv1.JobStatus) { s.Ready = ptr.To[int32](-1) })), want: []string{"INV-01"}},
		"INV-02 twice":          {new: all(uncounted("a", "a")), want: []string{"INV-02"}},
		"INV-02 empty": {new: all(status(func(s *batchv1.JobStatus) {
			s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{""}}
		})), want: []string{"INV-02"}},
		"INV-02 each once":                       {new: all(uncounted("a b", "c"))},
		"INV-03":                                 {both: all(startedAt(0)), new: all(is(met, failed)), want: []string{"INV-03", "INV-17"}},
		"INV-04":                                 {new: all(is(met, target)), want: []string{"INV-04"}},
		"INV-05":                                 {both: all(successPolicy(batchv1.SuccessPolicyRule{}), startedAt(time.Minute)), old: all(completedAt(0), is(complete)), new: all(completedAt(0), is(complete)), want: []string{"INV-05"}},
		"INV-06":                                 {old: all(is(met)), want: []string{"INV-06"}},
		"INV-07":                                 {both: all(startedAt(time.Minute), completedAt(0)), old: all(is(complete)), new: all(is(complete, met)), want: []string{"INV-07"}},
		"INV-08":                                 {old: all(counted(0, 2)), new: all(counted(0, 1)), want: []string{"INV-08"}},
		"INV-09 NonIndexed":                      {old: all(counted(2, 0)), new: all(counted(1, 0)), want: []string{"INV-09"}},
		"INV-09 Indexed, being resized":          {spec: "indexed p2 c2", old: all(counted(2, 0)), new: all(counted(1, 0))},
		"INV-09 Indexed, not resizable":          {spec: "indexed p1 c2", old: all(counted(2, 0)), new: all(counted(1, 0)), want: []string{"INV-09"}},
		"INV-10 FailureTarget":                   {old: all(is(target)), want: []string{"INV-10"}},
		"INV-10 Failed":                          {both: all(startedAt(0)), old: all(is(target, failed)), new: all(is(target)), want: []string{"INV-10"}},
		"INV-11":                                 {both: all(startedAt(time.Minute), is(met, complete)), old: all(completedAt(2)), new: all(completedAt(time.Second)), want: []string{"INV-11"}},
		"INV-12":                                 {spec: "indexed p3 c3", new: all(indexesDone("0-3", "")), want: []string{"INV-12"}},
		"INV-12 not looked at when unchanged":    {spec: "indexed p3 c3", both: all(indexesDone("0-3", ""))},
		"INV-13":                                 {spec: "indexed p3 c3 blpi1", new: all(indexesDone("", "2,1")), want: []string{"INV-13"}},
		"INV-14":                                 {spec: "c3", new: all(indexesDone("0", "")), want: []string{"INV-14"}},
		"INV-15":                                 {spec: "indexed c3", new: all(status(func(s *batchv1.JobStatus) { s.FailedIndexes = ptr.To("") })), want: []string{"INV-15"}},
		"INV-16":                                 {spec: "indexed p9 c9 blpi1", new: all(indexesDone("0-3", "3,4")), want: []string{"INV-16"}},
		"INV-16 disjoint":                        {spec: "indexed p9 c9 blpi1", new: all(indexesDone("0-3", "4"))},
		"INV-17":                                 {both: all(startedAt(0)), new: all(is(failed)), want: []string{"INV-17"}},
		"INV-17 both at once":                    {both: all(startedAt(0)), new: all(is(target, failed))},
		"INV-18":                                 {both: all(startedAt(time.Minute)), new: all(completedAt(0), is(complete)), want: []string{"INV-18"}},
		"INV-18 both at once":                    {new: done},
		"INV-19":                                 {new: all(done, status(func(s *batchv1.JobStatus) { s.Active = 1 })), want: []string{"INV-19"}},
		"INV-20":                                 {new: all(completedAt(0), is(met, complete)), want: []string{"INV-20"}},
		"INV-20 exempt":                          {spec: "suspend c0", new: all(completedAt(0), is(met, complete))},
		"INV-20 suspended alone is not exempt":   {spec: "suspend c1", new: all(completedAt(0), is(met, complete)), want: []string{"INV-20"}},
		"INV-21":                                 {new: all(done, uncounted("a", "")), want: []string{"INV-21"}},
		"INV-22 changed":                         {old: all(startedAt(1)), new: all(startedAt(time.Second)), want: []string{"INV-22"}},
		"INV-22 gone":                            {old: all(startedAt(1)), want: []string{"INV-22"}},
		"INV-22 set":                             {new: all(startedAt(1))},
		"INV-22 gone while suspended":            {spec: "suspend", old: all(startedAt(1))},
		"INV-22 changed with the resumption":     {old: all(startedAt(1), is(suspended)), new: all(startedAt(time.Second), withCondition(suspended, "False", "r"))},
		"INV-22 changed after the resumption":    {old: all(startedAt(1), withCondition(suspended, "False", "r")), new: all(startedAt(time.Second), withCondition(suspended, "False", "r")), want: []string{"INV-22"}},
		"INV-23":                                 {new: all(startedAt(0), completedAt(time.Minute), is(met, complete)), want: []string{"INV-23"}},
		"INV-24":                                 {new: all(completedAt(0)), want: []string{"INV-24"}},
		"INV-25":                                 {new: all(startedAt(0), is(met, complete)), want: []string{"INV-25"}},
		"INV-26":                                 {new: all(done, is(target, failed)), want: []string{"INV-03", "INV-04", "INV-26", "INV-29"}},
		"INV-27":                                 {new: all(status(func(s *batchv1.JobStatus) { s.Active, s.Ready = 1, ptr.To[int32](2) })), want: []string{"INV-27"}},
		"INV-28":                                 {new: all(done, status(func(s *batchv1.JobStatus) { s.Terminating = ptr.To[int32](1) })), want: []string{"INV-28"}},
		"INV-29":                                 {old: all(is(target)), new: all(done, is(target)), want: []string{"INV-04", "INV-29"}},
		"conditions of others are nobody's rule": {new: all(is("acme.io/Mine"))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := aJob(test.spec, test.both...), aJob(test.spec, test.both...)
			for _, e := range test.old {
				e(before)
			}
			for _, e := range test.new {
				e(after)
			}
			var got []string
			for _, v := range CheckStatus(before, after) {
				got = append(got, v.ID)
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("violations (-want +got):\n%s", d)
			}
		})
	}
}
