// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package uitest

import (
	"encoding/json"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// answerAs makes a fake answer as an API server does where that matters to acts: rights, preconditions, dry runs.
func answerAs(client *dynamicfake.FakeDynamicClient, w *World) {
	tracker := client.Tracker()
	client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured).DeepCopy()
		verb, _, _ := unstructured.NestedString(review.Object, "spec", "resourceAttributes", "verb")
		resource, _, _ := unstructured.NestedString(review.Object, "spec", "resourceAttributes", "resource")
		review.Object["status"] = map[string]any{"allowed": !slices.Contains(w.Forbidden, verb+" "+resource), "reason": "no RoleBinding grants it"}
		return true, review, nil
	})
	client.PrependReactor("*", "*", func(action clienttesting.Action) (handled bool, answer runtime.Object, err error) {
		gvr := action.GetResource()
		if w.Refuses != nil {
			if err := w.Refuses(action); err != nil {
				return true, nil, err
			}
		}
		if slices.Contains(w.Forbidden, action.GetVerb()+" "+gvr.Resource) {
			return true, nil, apierrors.NewForbidden(gvr.GroupResource(), "", errors.New("no RoleBinding grants it"))
		}
		var name string
		var wanted metav1.ObjectMeta
		dryRun := false
		switch a := action.(type) {
		case clienttesting.PatchActionImpl:
			change := struct{ Metadata metav1.ObjectMeta }{}
			if err := json.Unmarshal(a.GetPatch(), &change); err != nil {
				return true, nil, err
			}
			name, wanted, dryRun = a.GetName(), change.Metadata, len(a.PatchOptions.DryRun) > 0
		case clienttesting.DeleteActionImpl:
			name = a.GetName()
			if p := a.DeleteOptions.Preconditions; p != nil && p.UID != nil {
				wanted.UID = *p.UID
			}
		default:
			return false, nil, nil
		}
		before, err := tracker.Get(gvr, action.GetNamespace(), name)
		if err != nil {
			return true, nil, err
		}
		is, err := meta.Accessor(before)
		if err != nil {
			return true, nil, err
		}
		if wanted.UID != "" && wanted.UID != is.GetUID() || wanted.ResourceVersion != "" && wanted.ResourceVersion != is.GetResourceVersion() {
			return true, nil, apierrors.NewConflict(gvr.GroupResource(), name, errors.New("the object has been modified"))
		}
		if !dryRun {
			return false, nil, nil
		}
		before = before.DeepCopyObject()
		_, answer, err = clienttesting.ObjectReaction(tracker)(action)
		return true, answer, errors.Join(err, tracker.Update(gvr, before, action.GetNamespace()))
	})
}
