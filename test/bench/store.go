// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/othercontroller"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// stored is an object as it lies in the store.
type stored struct{ key, value string }

// batch is how many objects are written to the store in one transaction, which may have 128 operations.
const batch = 100

// put writes n objects into the store of a side, behind the API server's back, which would take minutes for so many. It
// learns of them from the store's own watch.
func (s *side) put(ctx context.Context, n int, object func(i int) (stored, error)) error {
	store, err := clientv3.New(clientv3.Config{Context: ctx, Endpoints: []string{"unix://" + filepath.Join(filepath.Dir(s.kubeconfig), "etcd.sock")}})
	if err != nil {
		return err
	}
	err = together((n+batch-1)/batch, 4, func(i int) error {
		var puts []clientv3.Op
		for j := i * batch; j < min(n, (i+1)*batch); j++ {
			one, err := object(j)
			if err != nil {
				return err
			}
			puts = append(puts, clientv3.OpPut(one.key, one.value))
		}
		_, err := store.Txn(ctx).Then(puts...).Commit()
		return err
	})
	return firstOf(err, store.Close())
}

// minutesOfHour are those at which daily objects are due.
const minutesOfHour = 60

// sortsOfAssorted is how many sorts of make.Assorted there are: those of a sort have the same fields.
const sortsOfAssorted = 3

// dailyCron is due once a day, in twelve hours.
func dailyCron(i int) string {
	return fmt.Sprintf("%d %d * * *", i%minutesOfHour, (time.Now().UTC().Hour()+12)%24)
}

// store puts n daily objects of a side's kind into its store. What the API server fills in comes from one of each sort
// that it is given, which goes again: nothing is left that a controller would have to write.
func (t *turn) store(ctx context.Context, n int) error {
	fill := t.storeCronJobs
	if t.name == "timetable" {
		fill = t.storeTimetables
	}
	if err := fill(ctx, n); err != nil {
		return err
	}
	path := "/apis/batch/v1/cronjobs"
	if t.name == "timetable" {
		path = "/apis/batch.carillon.dev/v1alpha1/timetables"
	}
	return t.caughtUp(ctx, path)
}

// catchUp is how long a server may take until it has seen all that is in its store.
const catchUp = 10 * time.Minute

// caughtUp waits until the server's own cache has all that is in its store now: a list of what is not older.
func (s *side) caughtUp(ctx context.Context, path string) error {
	list := func() *rest.Request { return s.client.Discovery().RESTClient().Get().AbsPath(path).Param("limit", "1") }
	text, err := list().SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		return err
	}
	var now metav1.PartialObjectMetadataList
	if err := json.Unmarshal(text, &now); err != nil {
		return err
	}
	for limit := time.Now().Add(catchUp); ; {
		err := list().Param("resourceVersion", now.ResourceVersion).Param("resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan)).Do(ctx).Error()
		if err == nil || !apierrors.IsTimeout(err) || time.Now().After(limit) {
			return err
		}
	}
}

func (t *turn) storeCronJobs(ctx context.Context, n int) error {
	var examples []*batchv1.CronJob
	for i := range sortsOfAssorted {
		cj := make.Assorted(i)
		cj.Namespace, cj.Name = namespace, fmt.Sprintf("example-%d", i)
		made, err := t.client.BatchV1().CronJobs(namespace).Create(ctx, cj, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		examples = append(examples, made)
		if err := t.client.BatchV1().CronJobs(namespace).Delete(ctx, cj.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	codec := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	versioned := scheme.Codecs.CodecForVersions(codec, codec, batchv1.SchemeGroupVersion, batchv1.SchemeGroupVersion)
	return t.put(ctx, n, func(i int) (stored, error) {
		cj, example := make.Assorted(i), examples[i%sortsOfAssorted]
		cj.Namespace, cj.Spec.Schedule = namespace, dailyCron(i)
		cj.UID, cj.Generation = uuid.NewUUID(), 1
		cj.CreationTimestamp, cj.ManagedFields = example.CreationTimestamp, example.ManagedFields
		var data bytes.Buffer
		err := versioned.Encode(cj, &data)
		return stored{"/registry/cronjobs/" + namespace + "/" + cj.Name, data.String()}, err
	})
}

// storeTimetables stores Timetables with the status that the controller writes on the day on which it first sees them.
func (t *turn) storeTimetables(ctx context.Context, n int) error {
	objects, err := dynamicTimetables(t.kubeconfig)
	if err != nil {
		return err
	}
	examples := []*v1alpha1.Timetable{}
	for i := range minutesOfHour { // of which the sorts are a divisor
		obj, err := newTimetable(fmt.Sprintf("example-%d", i), dailyCron(i), "Etc/UTC", &make.Assorted(i).Spec.JobTemplate)
		if err != nil {
			return err
		}
		made, err := objects.Create(ctx, obj, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if err := objects.Delete(ctx, made.GetName(), metav1.DeleteOptions{}); err != nil {
			return err
		}
		example := &v1alpha1.Timetable{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(made.Object, example); err != nil {
			return err
		}
		if err := serve(example); err != nil {
			return err
		}
		example.ResourceVersion = "" // which the store itself keeps
		examples = append(examples, example)
	}
	return t.put(ctx, n, func(i int) (stored, error) {
		obj, cj := *examples[i%len(examples)], make.Assorted(i)
		template, err := runTemplate(&cj.Spec.JobTemplate)
		if err != nil {
			return stored{}, err
		}
		obj.Spec.Template.Metadata, obj.Spec.Template.Spec = template.Metadata, template.Spec
		read, obstacle := timetable.ReadTemplate(&obj.Spec)
		if obstacle != nil {
			return stored{}, obstacle
		}
		obj.Status.CheckedTemplate = read.Fingerprint() // else there would be a dry run of each
		obj.Name, obj.Labels, obj.UID = cj.Name, cj.Labels, uuid.NewUUID()
		data, err := json.Marshal(&obj)
		return stored{"/registry/batch.carillon.dev/timetables/" + namespace + "/" + obj.Name, string(data)}, err
	})
}

// serve gives a Timetable the status that the controller's first pass leaves.
func serve(tt *v1alpha1.Timetable) error {
	kind, obj := timetable.Kind{MinInterval: manager.MinTimetableInterval}, &timetable.Object{Timetable: *tt}
	in := cron.Input{Now: tt.CreationTimestamp.Add(time.Second), Traits: kind.Info().Traits}
	var err error
	if in.Owner, in.Policy, in.Stored, err = kind.Read(obj, adapter.ReadOptions{}); err != nil {
		return err
	}
	plan := cron.Decide(in)
	if plan.CheckTemplate != nil {
		in.AddTemplateCheckResult(cron.TemplateCheckResult{Verdict: cron.TemplateAccepted})
		plan = cron.Decide(in)
	}
	if plan.StatusWrite == nil {
		return fmt.Errorf("the first pass over a Timetable writes nothing: %s", plan)
	}
	patches, err := kind.Patches(obj, *plan.StatusWrite)
	if err != nil {
		return err
	}
	var patch struct {
		Status map[string]any `json:"status"`
	}
	if err := json.Unmarshal(patches[0].Data, &patch); err != nil {
		return err
	}
	owned := map[string]any{}
	for field := range patch.Status {
		owned["f:"+field] = map[string]any{}
	}
	fields, err := json.Marshal(map[string]any{"f:status": owned})
	if err != nil {
		return err
	}
	tt.ManagedFields = append(tt.ManagedFields, metav1.ManagedFieldsEntry{Manager: othercontroller.OurFieldManager,
		Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: v1alpha1.GroupVersion.String(), Time: &tt.CreationTimestamp,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(fields)), Subresource: "status"})
	return json.Unmarshal(patches[0].Data, tt) // a merge patch of a status that was empty
}
