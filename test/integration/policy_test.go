// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refusal is an admission policy that lets nobody do something in the namespace of a test.
type refusal struct {
	name, group, resource string
	operation             admissionv1.OperationType
	object                string // a CEL expression: to which objects
}

// refuse sets a policy up and waits until it works, which is when try, a dry run, is refused; other errors of try are
// waited out. lift takes the policy away and waits until try is let through.
func (w *world) refuse(r refusal, try func(ctx context.Context) error) (lift func()) {
	w.Helper()
	policies := w.client.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	bindings := w.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	name := w.namespace + "-" + r.name
	_, err := policies.Create(w.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{r.operation},
					Rule:       admissionv1.Rule{APIGroups: []string{r.group}, APIVersions: []string{"*"}, Resources: []string{r.resource}},
				}}},
			},
			MatchConditions: []admissionv1.MatchCondition{{Name: "object", Expression: r.object}},
			Validations:     []admissionv1.Validation{{Expression: "false", Message: "refused by the test"}},
		},
	}, metav1.CreateOptions{})
	if err == nil {
		_, err = bindings.Create(w.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		w.Fatal(err)
	}
	remove := func() {
		ctx := context.Background()
		for _, err := range []error{bindings.Delete(ctx, name, metav1.DeleteOptions{}), policies.Delete(ctx, name, metav1.DeleteOptions{})} {
			if err != nil && !apierrors.IsNotFound(err) {
				w.Error(err)
			}
		}
	}
	w.Cleanup(remove)
	w.eventually("the policy works", func(ctx context.Context) error {
		err := try(ctx)
		if err == nil {
			return errors.New("not yet")
		}
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			return nil
		}
		return err
	})
	return func() {
		w.Helper()
		remove()
		w.eventually("the policy works no more", try)
	}
}
