// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/carillon-dev/carillon/internal/cron"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

var invalid = apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "tick", field.ErrorList{field.Required(field.NewPath("spec.template.spec.containers"), "")})

func dryRunsFail(err error) given { return func(w *world) { w.failDryRun = err } }

// stripsNoMore: owner references stay.
func stripsNoMore(w *world) { w.strip = false }

// dryRunsWere is how many dry runs there were so far.
func dryRunsWere(n int) given {
	return looks(func(w *world, fail func(string, ...any)) {
		if w.dryRuns != n {
			fail("%d dry runs, want %d", w.dryRuns, n)
		}
	})
}

// checked tells whether the status says that a dry run has answered for the template.
func checked(want bool) given {
	return looks(func(w *world, fail func(string, ...any)) {
		if got := w.stored().Status.CheckedTemplate; (got != "") != want {
			fail("checkedTemplate is %q", got)
		}
	})
}

var unknownField = apierrors.NewBadRequest(`Job in version "v1" cannot be handled as a Job: strict decoding error: unknown field "spec.backofLimit"`)

const leavesOut = `; but the API server does not know all of what spec.template makes, and leaves out what it does not know: unknown field ` +
	`"spec.backofLimit"; correct the name of the field`

func strictly(err error) given { return func(w *world) { w.failStrict = err } }

// readySays looks at what the condition Ready says beside that all is well.
func readySays(want string) given {
	return looks(func(w *world, fail func(string, ...any)) {
		c := meta.FindStatusCondition(w.stored().Status.Conditions, v1alpha1.ConditionReady)
		if want = "the spec is understood and allowed" + want; c.Message != want {
			fail("Ready says %q, want %q", c.Message, want)
		}
	})
}

// Templates are tried before they are needed, once each; what the server says of one is told, and keeps nothing from
// starting. Only what takes our owner reference off does.
func TestTemplateScenarios(t *testing.T) {
	const other = `{template: {metadata: {labels: {x: z}}}}`
	play(t, map[string]scenario{
		"TT-208 a template that the server finds invalid": {given: []given{dryRunsFail(invalid)}, steps: []step{
			{at: "12:05", want: "Ready False/TemplateRejected\nHealthy False/NotReady"},
			{at: "12:10", given: []given{createsFail(invalid), checked(true)}, want: "refused @12:10\nsay CreateFailed\nW 12:10 CreateFailed"},
			{at: "12:15", given: []given{createsFail(nil), dryRunsWere(1)}, want: "create @12:10\nsay RunStarted\nReady False/TemplateRejected"},
			{at: "12:16", given: []given{dryRunsFail(nil), edited(other)}, want: "Ready True/Accepted\nwrites 1"},
			{at: "12:17", given: []given{dryRunsWere(2), checked(true)}, want: "writes 0"}}},
		"an edit of something else asks for no dry run": {given: []given{dryRunsFail(invalid)}, steps: []step{
			{at: "12:05", given: []given{dryRunsWere(1), dryRunsFail(nil), edited("{lateAfter: 5m}")}, want: "say TemplateRejected\nReady False/TemplateRejected"},
			{at: "12:06", given: []given{dryRunsWere(1)}, want: "writes 0"}}},
		"another process remembers": {given: []given{dryRunsFail(invalid)}, steps: []step{
			{at: "12:05", given: []given{restarted}, want: "say TemplateRejected\nwrites 0"},
			{at: "12:06", given: []given{dryRunsWere(1)}, want: "Ready False/TemplateRejected"}}},
		"TT-261 fields that the server does not know": {given: []given{strictly(unknownField)}, steps: []step{
			{at: "12:05", given: []given{readySays(leavesOut), checked(true)}, want: "Ready True/Accepted\nwrites 0"},
			{at: "12:06", given: []given{restarted}, want: "writes 0"},
			{at: "12:10", given: []given{dryRunsWere(1)}, want: "create @12:10\nsay RunStarted"},
			{at: "12:11", given: []given{readySays(leavesOut), strictly(nil), edited(other)}, want: "writes 1"},
			{at: "12:12", given: []given{dryRunsWere(2), readySays("")}, want: "Ready True/Accepted\nwrites 0"}}},
		"another mistake hides that a field is not known": {spec: "{exclude: [{calendar: holidays}]}", given: []given{calendar("holidays", "12-25"), strictly(unknownField)}, steps: []step{
			{at: "12:05", given: []given{noCalendar("holidays")}, want: "say InvalidSpec\nReady False/CalendarNotFound"},
			{at: "12:06", given: []given{restarted, checked(false)}, want: "say InvalidSpec\nwrites 0"},
			{at: "12:07", given: []given{dryRunsWere(1), calendar("holidays", "12-25")}, want: "say UnknownFields\nReady True/Accepted"},
			{at: "12:08", given: []given{dryRunsWere(2), readySays(leavesOut)}, want: "writes 0"}}},
		"a suspended one is tried, too": {spec: "{suspend: true}", given: []given{dryRunsFail(invalid)}, steps: []step{{at: "12:05", want: "Ready False/TemplateRejected\nPaused True/Suspended"}}},
		"what is accepted is not tried again": {steps: []step{started, {at: "12:15", given: []given{restarted, dryRunsWere(1), checked(true)}, want: "writes 0"},
			{at: "12:16", given: []given{dryRunsWere(1)}, want: ""}}},
		"a quota gives no verdict, and it is tried again": {given: []given{dryRunsFail(quota)}, steps: []step{
			{at: "12:05", given: []given{checked(false), dryRunsWere(1)}, want: "Ready True/Accepted\nwake 12:10"},
			{at: "12:13:19", given: []given{dryRunsWere(1), dryRunsFail(nil)}, want: "create @12:10\nsay RunStarted\nwake 12:13:20"},
			{at: "12:13:20", want: "writes 1"},
			{at: "12:13:21", given: []given{dryRunsWere(2), checked(true)}, want: ""}}},
		"an edit is tried at once although the template before had no verdict": {given: []given{dryRunsFail(quota)}, steps: []step{
			{at: "12:05", given: []given{dryRunsFail(nil), edited(other)}, want: ""}, {at: "12:05:01", given: []given{checked(true), dryRunsWere(2)}, want: ""}}},
		"a status that cannot be written": {given: []given{writesFail(internal)}, steps: []step{
			{at: "12:05", given: []given{writesFail(nil)}, want: "writes 1"}, {at: "12:06", given: []given{checked(true), dryRunsWere(1)}, want: "writes 0"}}},
		"a status that somebody erased": {given: []given{dryRunsFail(invalid)}, steps: []step{
			{at: "12:05", given: []given{erased, restarted}, want: "say TemplateRejected\nReady False/TemplateRejected"}, {at: "12:06", given: []given{dryRunsWere(2)}, want: ""}}},
		"conditions that somebody erased": {given: []given{dryRunsFail(invalid)}, steps: []step{
			{at: "12:05", given: []given{noConditions}, want: "Ready False/TemplateRejected"}, {at: "12:06", given: []given{dryRunsWere(2)}, want: ""}}},
		"another mistake hides that it is rejected": {spec: "{exclude: [{calendar: holidays}]}", given: []given{calendar("holidays", "12-25"), dryRunsFail(invalid)}, steps: []step{
			{at: "12:05", given: []given{noCalendar("holidays")}, want: "say InvalidSpec\nReady False/CalendarNotFound"},
			{at: "12:06", given: []given{restarted, checked(false)}, want: "say InvalidSpec\nwrites 0"},
			{at: "12:07", given: []given{dryRunsWere(1), calendar("holidays", "12-25")}, want: "say TemplateRejected\nReady False/TemplateRejected"},
			{at: "12:08", given: []given{dryRunsWere(2)}, want: ""}}},
		"what cannot be tried is not": {spec: "{template: {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding}, outcome: {succeeded: 'true', failed: 'false'}}",
			given: []given{notGranted}, steps: []step{{at: "12:05", given: []given{dryRunsWere(0)}, want: ""}}},

		"TT-197 the dry run tells that owner references are removed": {given: []given{strips}, steps: []step{
			{at: "12:05", want: "Ready False/OwnerRemoved"},
			{at: "12:20", want: "say TimesMissed\nsay RunLate\nW 12:20 NotReady since 12:10\nL 12:10 Missed/NotReady"},
			{at: "12:25", given: []given{stripsNoMore, restarted, dryRunsWere(1)}, want: "say OwnerRemoved\nwrites 0"},
			{at: "12:26", given: []given{edited(other)}, want: "Ready True/Accepted\ncreate @12:20\nsay RunStarted"}}},
		"TT-197 it is found at a create": {steps: []step{
			{at: "12:10", given: []given{strips}, want: `
				create @12:10
				stop @12:10
				say OwnerRemoved
				say TimesMissed
				Ready False/OwnerRemoved
				W none
				A none
				writes 1
				L 12:10 Missed/CreateFailed`},
			{at: "12:15", want: "writes 0"},
			{at: "12:25", given: []given{stripsNoMore}, want: "W 12:20 NotReady\nReady False/OwnerRemoved"},
			{at: "12:26", given: []given{dryRunsWere(1), edited("{lateAfter: 5m}")}, want: "Ready True/Accepted\ncreate @12:20\nsay RunStarted"},
			{at: "12:27", given: []given{dryRunsWere(2)}, want: ""}}},
		"TT-197 the rest of an outage waits": {spec: "{catchUp: {policy: All}}", steps: []step{{at: "12:05", want: ""},
			{at: "12:35", asleep: true, given: []given{strips}, want: `
				create @12:10
				stop @12:10
				say OwnerRemoved
				say TimesMissed
				L 12:10 Missed/CreateFailed
				W 12:20 NotReady
				W 12:30 NotReady`}}},
		"TT-197 at the create of a second attempt": {spec: "{retry: {limit: 2}}", steps: []step{started,
			{at: "12:11", given: []given{fails("@12:10"), strips}, want: "say RunRetrying"},
			{at: "12:11:10", want: `
				create @12:10-r2
				stop @12:10-r2
				say RunRetrying
				say OwnerRemoved
				Ready False/OwnerRemoved
				A 12:10 Schedule attempt 2 retry 12:11:10`},
			{at: "12:12", want: "writes 0"},
			{at: "12:13", given: []given{stripsNoMore, edited("{lateAfter: 5m}")}, want: "create @12:10-r3\nA 12:10 Schedule attempt 3"}}},
		"TT-197 at the create of the last attempt": {spec: "{retry: {limit: 1}}", steps: []step{started,
			{at: "12:11", given: []given{fails("@12:10"), strips}, want: "say RunRetrying"},
			{at: "12:11:11", want: `
				create @12:10-r2
				stop @12:10-r2
				say RunRetrying
				say OwnerRemoved
				say RunFailed
				Ready False/OwnerRemoved
				A none
				L 12:10 Failed/RunFailed after 2`}}},
		"TT-197 an attempt, and no status can be written": {spec: "{retry: {limit: 1}}", steps: []step{started,
			{at: "12:11:05", given: []given{fails("@12:10"), strips, writesFail(internal)}, want: ""},
			{at: "12:11:15", want: "create @12:10-r2\nstop @12:10-r2\nsay OwnerRemoved"},
			{at: "12:12", given: []given{gone("@12:10-r2"), stripsNoMore, edited(other)}, want: ""},
			{at: "12:13", given: []given{writesFail(nil)}, want: "say RunFailed\nA none\nL 12:10 Failed/RunFailed after 2"}}},
		"TT-197 a first child, and no status can be written": {steps: []step{
			{at: "12:10", given: []given{strips, writesFail(internal)}, want: "create @12:10\nstop @12:10\nsay OwnerRemoved"},
			{at: "12:12", given: []given{gone("@12:10"), stripsNoMore, edited(other)}, want: ""},
			{at: "12:13", given: []given{edited("{suspend: true}")}, want: ""},
			{at: "12:14", given: []given{edited("{suspend: false}")}, want: ""},
			{at: "12:15", given: []given{writesFail(nil)}, want: "say TimesMissed\nL 12:10 Missed/CreateFailed"},
			{at: "12:20", want: "create @12:20\nsay RunStarted\nA 12:20 Schedule"}}},
		"TT-197 the child cannot be deleted": {steps: []step{{at: "12:10", given: []given{strips, deletesFail(internal)}, want: `
			create @12:10
			stop @12:10
			say OwnerRemoved
			say TimesMissed
			say CleanupFailed
			L 12:10 Missed/CreateFailed`}}},
	})
}

// What an answer to a dry run says of a template.
func TestJudgeTemplate(t *testing.T) {
	owner := newWorld(t, "").stored()
	ours := &unstructured.Unstructured{Object: map[string]any{}}
	ours.SetNamespace("ops")
	ours.SetLabels(map[string]string{v1alpha1.LabelTimetableUID: "u1"})
	ours.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind("Timetable"))})
	nobodys := ours.DeepCopy()
	nobodys.SetOwnerReferences(nil)
	labelless := ours.DeepCopy()
	labelless.SetLabels(nil)
	terminating := apierrors.NewForbidden(jobs, "tick", errors.New("namespace ops is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	denied := func(code int32) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: `admission webhook "x.example.com" denied the request: no`}}
	}
	for name, c := range map[string]struct {
		answer *unstructured.Unstructured
		err    error
		want   cron.TemplateVerdict
	}{
		"accepted":                          {answer: ours, want: cron.TemplateAccepted},
		"without owner reference":           {answer: nobodys, want: cron.TemplateOwnerRemoved},
		"without label":                     {answer: labelless, want: cron.TemplateOwnerRemoved},
		"invalid":                           {err: invalid, want: cron.TemplateRejected},
		"bad request":                       {err: apierrors.NewBadRequest("unknown field"), want: cron.TemplateRejected},
		"refused by an admission plugin":    {err: apierrors.NewForbidden(jobs, "tick", errors.New("violates PodSecurity")), want: cron.TemplateRejected},
		"refused by a webhook, 403":         {err: denied(403), want: cron.TemplateRejected},
		"refused by a webhook, 409":         {err: denied(409), want: cron.TemplateRejected},
		"a webhook that is broken":          {err: denied(500), want: cron.TemplateUnjudged},
		"a webhook without dry runs":        {err: apierrors.NewBadRequest(`admission webhook "x.example.com" does not support dry run`), want: cron.TemplateUnjudged},
		"a full quota":                      {err: quota, want: cron.TemplateUnjudged},
		"a right that the controller lacks": {err: apierrors.NewForbidden(jobs, "", errors.New(`User "system:serviceaccount:carillon:carillon" cannot create resource "jobs"`)), want: cron.TemplateUnjudged},
		"a namespace that goes away":        {err: terminating, want: cron.TemplateUnjudged},
		"a name that is taken":              {err: apierrors.NewAlreadyExists(jobs, "tick"), want: cron.TemplateUnjudged},
		"too many requests":                 {err: apierrors.NewTooManyRequests("later", 1), want: cron.TemplateUnjudged},
		"an error of the server":            {err: internal, want: cron.TemplateUnjudged},
		"no answer":                         {err: errors.New("connection reset"), want: cron.TemplateUnjudged},
	} {
		t.Run(name, func(t *testing.T) {
			got := worldKind.JudgeTemplate(owner, c.answer, c.err, nil)
			if got.Verdict != c.want || (got.Message != "") != (c.want == cron.TemplateRejected) {
				t.Errorf("%+v, want %s", got, c.want)
			}
		})
	}
	long := worldKind.JudgeTemplate(owner, nil, apierrors.NewBadRequest(strings.Repeat("<&>", 1000)), nil)
	w := newWorld(t, "")
	w.failDryRun = apierrors.NewBadRequest(strings.Repeat("<&>", 1000))
	w.pass()
	if c := w.stored().Status.Conditions[0]; c.Message != long.Message {
		t.Errorf("the status tells\n%s\nof\n%s", c.Message, long.Message)
	}
	w = newWorld(t, "")
	w.failStrict = apierrors.NewBadRequest("strict decoding error: " + strings.Repeat("<&>", 1000))
	w.pass()
	if w.writes = 0; func() int { w.pass(); return w.writes }() > 0 {
		t.Error("the fields that are left out are written again")
	}
	w = newWorld(t, "")
	w.failDryRun = apierrors.NewBadRequest(strings.Repeat("<&>", 1000))
	w.pass()
	if w.writes = 0; func() int { w.pass(); return w.writes }() > 0 {
		t.Error("the words of the server are written again")
	}
}
