// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/printers"
	printersinternal "k8s.io/kubernetes/pkg/printers/internalversion"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/tutorial"
	"github.com/carillon-dev/carillon/internal/kind/volcano"
	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
)

var cronJobs = schema.GroupResource{Group: "batch", Resource: "cronjobs"}

// causes lists what the API server found wrong, "field: cause".
func causes(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var list []string
	for _, c := range status.Status().Details.Causes {
		list = append(list, c.Field+": "+string(c.Type))
	}
	slices.Sort(list)
	return list
}

// What the API server answers to the CronJobs that users write is what cronjob.md 1.1 says: an object is taken as it
// is, or refused at the field that is wrong. An update of what an older API server took is refused only for what it
// changes.
func TestCronJobValidation(t *testing.T) {
	const invalid, required, unsupported = ": FieldValueInvalid", ": FieldValueRequired", ": FieldValueNotSupported"
	p := plane.Start(t)
	ns := p.Namespace(t)
	api := p.Client().BatchV1().CronJobs(ns)
	tick := make.CronJob(ns, "tick")
	named := func(length int) make.CronJobBuilder { return make.CronJob(ns, strings.Repeat("a", length)) }
	everything := tick.Schedule("").Deadline(-1).History(-1, -1).Policy("Sometimes").Obj()
	everything.Spec.JobTemplate.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	everything.Spec.JobTemplate.Spec.ManualSelector = new(true)
	everything.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways

	relabel := func(cj *batchv1.CronJob) { cj.Spec.JobTemplate.Labels = map[string]string{"changed": "yes"} }
	for name, c := range map[string]struct {
		obj    *batchv1.CronJob
		change func(*batchv1.CronJob) // of an object that is stored already; nil: it is created
		want   []string
	}{
		"CJ-150 a name of 52":                         {obj: named(52).New()},
		"CJ-150 a name of 53":                         {obj: named(53).New(), want: []string{"metadata.name" + invalid}},
		"CJ-151 a stored name of 60":                  {obj: named(60).New(), change: relabel},
		"CJ-153 a zone in the schedule":               {obj: tick.Schedule("TZ=UTC 0 0 * * *").New(), want: []string{"spec.schedule" + invalid}},
		"CJ-154 a stored zone in the schedule":        {obj: tick.Schedule("TZ=UTC 0 0 * * *").New(), change: relabel},
		"CJ-155 a zone beside a stored one":           {obj: tick.Schedule("TZ=UTC 0 0 * * *").New(), change: func(cj *batchv1.CronJob) { cj.Spec.TimeZone = new("Europe/Rome") }, want: []string{"spec.schedule" + invalid}},
		"CJ-156 a zone comes into the schedule":       {obj: tick.New(), change: func(cj *batchv1.CronJob) { cj.Spec.Schedule = "TZ=UTC 0 0 * * *" }, want: []string{"spec.schedule" + invalid}},
		"CJ-158 an empty zone":                        {obj: tick.TimeZone("").New(), want: []string{"spec.timeZone" + invalid}},
		"CJ-158 Local":                                {obj: tick.TimeZone("Local").New(), want: []string{"spec.timeZone" + invalid}},
		"CJ-158 local, which cannot be loaded either": {obj: tick.TimeZone("local").New(), want: []string{"spec.timeZone" + invalid, "spec.timeZone" + invalid}},
		"CJ-158 a path":                               {obj: tick.TimeZone("A/./B").New(), want: []string{"spec.timeZone" + invalid}},
		"CJ-158 a leading minus":                      {obj: tick.TimeZone("-x/y").New(), want: []string{"spec.timeZone" + invalid}},
		"CJ-158 no place of this world":               {obj: tick.TimeZone("Mars/Olympus").New(), want: []string{"spec.timeZone" + invalid}},
		"CJ-158 a part of 15 characters":              {obj: tick.TimeZone(strings.Repeat("a", 15)).New(), want: []string{"spec.timeZone" + invalid}},
		"CJ-159 a stored bad zone":                    {obj: tick.TimeZone("Mars/Olympus").New(), change: relabel},
		"CJ-160 everything wrong": {obj: func() *batchv1.CronJob { o := everything; o.ObjectMeta = tick.New().ObjectMeta; return o }(), want: []string{
			"spec.concurrencyPolicy" + unsupported,
			"spec.failedJobsHistoryLimit" + invalid,
			"spec.jobTemplate.spec.manualSelector" + unsupported,
			"spec.jobTemplate.spec.selector" + invalid,
			"spec.jobTemplate.spec.template.spec.restartPolicy" + required,
			"spec.schedule" + required,
			"spec.startingDeadlineSeconds" + invalid,
			"spec.successfulJobsHistoryLimit" + invalid,
		}},
		"CJ-161 K a date that is none": {obj: tick.Schedule("0 0 30 2 *").New()},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			if c.change == nil {
				_, err = api.Create(t.Context(), c.obj, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			} else {
				if c.obj.Name == "tick" {
					c.obj.Name = "stored"
				}
				p.Implant(t, cronJobs, c.obj)
				stored, getErr := api.Get(t.Context(), c.obj.Name, metav1.GetOptions{})
				if getErr != nil {
					t.Fatal(getErr)
				}
				c.change(stored)
				_, err = api.Update(t.Context(), stored, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			}
			if err != nil && !apierrors.IsInvalid(err) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, causes(err)); diff != "" {
				t.Errorf("causes (-want +got):\n%s\n%v", diff, err)
			}
		})
	}
}

// A CronJob of nothing but schedule and template gets the documented defaults (CJ-162).
func TestCronJobDefaults(t *testing.T) {
	p := plane.Start(t)
	ns := p.Namespace(t)
	sparse := make.CronJob(ns, "tick").NoHistoryLimits().New()
	sparse.Spec.ConcurrencyPolicy, sparse.Spec.Suspend = "", nil
	sparse.Status.Active = []corev1.ObjectReference{{Name: "dropped"}}
	got, err := p.Client().BatchV1().CronJobs(ns).Create(t.Context(), sparse, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := got.DeepCopy()
	want.Generation, want.Status = 1, batchv1.CronJobStatus{}
	want.Spec.ConcurrencyPolicy, want.Spec.Suspend = batchv1.AllowConcurrent, new(false)
	want.Spec.SuccessfulJobsHistoryLimit, want.Spec.FailedJobsHistoryLimit = new(int32(3)), new(int32(1))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

// warnings collects what the API server warns of.
type warnings struct {
	mu   sync.Mutex
	said []string
}

func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

// A name that is no DNS label is taken, with a warning that says where it will hurt (CJ-163).
func TestCronJobNameWarning(t *testing.T) {
	p := plane.Start(t)
	ns := p.Namespace(t)
	for name, warns := range map[string]bool{"a.b": true, "a-b": false} {
		t.Run(name, func(t *testing.T) {
			var heard warnings
			config := p.Config()
			config.WarningHandlerWithContext = &heard
			client := kubernetes.NewForConfigOrDie(config)
			if _, err := client.BatchV1().CronJobs(ns).Create(t.Context(), make.CronJob(ns, name).New(), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			text := strings.Join(heard.said, "\n")
			if got := strings.Contains(text, "metadata.name"); got != warns {
				t.Errorf("heard %q", text)
			}
		})
	}
}

// The CRDs refuse what the API server itself refuses in their place: for kind T the one that we ship also an update of
// what was stored before (CJ-152), and both kinds take a date that is none (CJ-161). Kind V's rules for names and zones
// are in Volcano's webhook; TestVolcanoWithoutItsWebhook has what the controller makes of such objects.
func TestCustomCronJobValidation(t *testing.T) {
	p := plane.Start(t)
	install(t, definitions(t, tutorial.Kind{}))
	install(t, definitions(t, volcano.Kind{}))
	ns := p.Namespace(t)
	dyn := dynamic.NewForConfigOrDie(p.Config())
	w := &world{T: t, plane: p, client: p.Client(), namespace: ns}
	served := func(k kind.Kind) {
		w.eventually("the API is served", func(ctx context.Context) error {
			_, err := dyn.Resource(k.Info().OwnerResource).Namespace(ns).List(ctx, metav1.ListOptions{})
			return err
		})
	}
	served(tutorial.Kind{})
	served(volcano.Kind{})

	long := strings.Repeat("a", 60)
	for name, c := range map[string]struct {
		kind    kind.Kind
		name    string
		edit    bool // of a stored object; else it is created
		refused bool
	}{
		"CJ-150 T a name of 53":        {kind: tutorial.Kind{}, name: long[:53], refused: true},
		"CJ-152 T a stored name of 60": {kind: tutorial.Kind{}, name: long, edit: true, refused: true},
		"CJ-161 T a date that is none": {kind: tutorial.Kind{}, name: "never"},
		"CJ-161 V a date that is none": {kind: volcano.Kind{}, name: "never"},
	} {
		t.Run(name, func(t *testing.T) {
			obj := customCronJob(c.kind, ns, c.name, "0 0 30 2 *")
			api := dyn.Resource(c.kind.Info().OwnerResource).Namespace(ns)
			var err error
			if c.edit {
				p.Implant(t, c.kind.Info().OwnerResource.GroupResource(), obj)
				stored, getErr := api.Get(t.Context(), c.name, metav1.GetOptions{})
				if getErr != nil {
					t.Fatal(getErr)
				}
				if err := unstructured.SetNestedField(stored.Object, true, "spec", "suspend"); err != nil {
					t.Fatal(err)
				}
				_, err = api.Update(t.Context(), stored, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			} else {
				_, err = api.Create(t.Context(), obj, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			}
			switch {
			case err != nil && !apierrors.IsInvalid(err):
				t.Error(err)
			case c.refused && (err == nil || !strings.Contains(err.Error(), "metadata.name")):
				t.Errorf("got %v, want a refusal of metadata.name", err)
			case !c.refused && err != nil:
				t.Error(err)
			}
		})
	}
}

// printed is what `kubectl get` shows of an object of group batch, by column: the server makes the table.
func (w *world) printed(resource, name string) map[string]any {
	w.Helper()
	data, err := w.client.BatchV1().RESTClient().Get().Namespace(w.namespace).Resource(resource).Name(name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(w.Context()).Raw()
	if err != nil {
		w.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(data, &table); err != nil {
		w.Fatal(err)
	}
	return cells(w.T, &table)
}

func cells(t *testing.T, table *metav1.Table) map[string]any {
	t.Helper()
	if len(table.Rows) != 1 {
		t.Fatalf("%d rows", len(table.Rows))
	}
	row := map[string]any{}
	for i, c := range table.ColumnDefinitions {
		row[c.Name] = table.Rows[0].Cells[i]
	}
	return row
}

// A CronJob is printed as cronjob.md 1.7 says (CJ-165, CJ-166).
func TestCronJobIsPrinted(t *testing.T) {
	p := plane.Start(t)
	w := &world{T: t, plane: p, client: p.Client(), namespace: p.Namespace(t)}

	t.Run("CJ-165 what is not set", func(t *testing.T) {
		w.createCronJob(make.CronJob(w.namespace, "bare"))
		row := w.printed("cronjobs", "bare")
		for column, want := range map[string]any{"Name": "bare", "Schedule": "*/10 * * * *", "Timezone": "<none>", "Suspend": "False", "Active": float64(0), "Last Schedule": "<none>"} {
			if row[column] != want {
				t.Errorf("%s is %v, want %v", column, row[column], want)
			}
		}
		// Defaulting knows no CronJob without suspend, neither at creation nor when one is read from the store, so the
		// server's printer is asked itself.
		table, err := printers.NewTableGenerator().With(printersinternal.AddHandlers).GenerateTable(&batch.CronJob{
			Status: batch.CronJobStatus{LastScheduleTime: &metav1.Time{}},
		}, printers.GenerateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if row := cells(t, table); row["Suspend"] != "<unset>" || row["Last Schedule"] != "<unknown>" {
			t.Errorf("suspend %v, last %v", row["Suspend"], row["Last Schedule"])
		}
	})

	for want, ago := range map[string]time.Duration{"95s": 95 * time.Second, "3h20m": 200 * time.Minute, "2d2h": 50 * time.Hour} {
		t.Run("CJ-166 "+want, func(t *testing.T) {
			cj := w.createCronJob(make.CronJob(w.namespace, "last-"+want))
			// What is printed has a resolution of seconds, and the clock goes on while it is asked for.
			w.eventually(want, func(ctx context.Context) error {
				last := time.Now().Add(-ago).Truncate(time.Second)
				cj = w.cronJob(ctx, cj.Name)
				cj.Status.LastScheduleTime = new(metav1.NewTime(last))
				if _, err := w.client.BatchV1().CronJobs(w.namespace).UpdateStatus(ctx, cj, metav1.UpdateOptions{FieldManager: "kubectl-edit"}); err != nil {
					return err
				}
				got := w.printed("cronjobs", cj.Name)["Last Schedule"]
				if took := time.Since(last) - ago; took >= time.Second {
					return fmt.Errorf("the clock has gone on by %v", took)
				}
				if got != want {
					t.Fatalf("printed %v, want %s", got, want)
				}
				return nil
			})
		})
	}
}
