// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"cmp"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// tool is something that applies objects again and again, from files that it takes for the truth.
type tool struct {
	name string
	// marks are labels and annotations that it leaves; value, if not "", is what the mark must have.
	marks []mark
	// managers are the names under which it writes.
	managers []string
}

type mark struct{ key, value string }

var tools = []tool{
	{"Argo CD", []mark{{"argocd.argoproj.io/tracking-id", ""}, {"argocd.argoproj.io/instance", ""}}, []string{"argocd-controller", "argocd-application-controller"}},
	{"Flux", []mark{{"kustomize.toolkit.fluxcd.io/name", ""}, {"helm.toolkit.fluxcd.io/name", ""}}, []string{"kustomize-controller", "helm-controller"}},
	{"Helm", []mark{{"app.kubernetes.io/managed-by", "Helm"}, {"meta.helm.sh/release-name", ""}}, []string{"helm"}},
}

// applier is somebody who writes an object from files.
type applier struct {
	name string
	// tool: it does so by itself, from a place of its own. Otherwise somebody calls a command.
	tool bool
}

// setsBack says what becomes of a change that the files do not have.
func (a applier) setsBack() string {
	if a.tool {
		return a.name + " applies this object from files of its own, and may set this back when it does so again. Change it there, too."
	}
	return "It was applied from a file (" + a.name + "), which says otherwise: whoever applies that again sets this back. Change it in the file, too."
}

// createsAgain says what becomes of a delete.
func (a applier) createsAgain() string {
	if a.tool {
		return a.name + " applies this object from files of its own, and may create it again. Take it out there, too."
	}
	return "It was applied from a file (" + a.name + "): whoever applies that again creates it again. Take it out of the file, too."
}

// commands are what people call, by the name under which the API server knows it.
var commands = map[string]string{"kubectl": "kubectl apply --server-side", "carillon": "carillon up -f"}

// appliers are those who write an object, and would write these fields of its spec again. Without fields they are all.
func appliers(o *unstructured.Unstructured, fields ...string) []applier {
	var found []applier
	ofTool := func(e metav1.ManagedFieldsEntry) bool {
		return slices.ContainsFunc(tools, func(t tool) bool { return slices.Contains(t.managers, e.Manager) })
	}
	for _, t := range tools {
		marked := slices.ContainsFunc(t.marks, func(m mark) bool {
			value, ok := o.GetAnnotations()[m.key]
			if !ok {
				value, ok = o.GetLabels()[m.key]
			}
			return ok && (m.value == "" || m.value == value)
		})
		if marked || slices.ContainsFunc(o.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return slices.Contains(t.managers, e.Manager) }) {
			found = append(found, applier{t.name, true})
		}
	}
	for _, e := range o.GetManagedFields() {
		if e.Operation != metav1.ManagedFieldsOperationApply || e.Manager == manager || e.Subresource != "" || ofTool(e) {
			continue
		}
		if len(fields) == 0 || adapter.OwnedFields(e.FieldsV1, "spec", fields) != nil {
			found = append(found, applier{cmp.Or(commands[e.Manager], e.Manager), false})
		}
	}
	if len(found) == 0 && lastApplied(o, fields) {
		found = append(found, applier{"kubectl apply", false})
	}
	return found
}

// setBack says for each of them that he sets a change of these fields back.
func setBack(o *unstructured.Unstructured, fields ...string) []string {
	var told []string
	for _, a := range appliers(o, fields...) {
		told = append(told, a.setsBack())
	}
	return told
}

// lastApplied tells whether kubectl apply has written one of the fields; or the object, without fields.
func lastApplied(o *unstructured.Unstructured, fields []string) bool {
	text, ok := o.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	if !ok || len(fields) == 0 {
		return ok
	}
	var applied struct {
		Spec map[string]any `json:"spec"`
	}
	if err := json.Unmarshal([]byte(text), &applied); err != nil {
		return true
	}
	return slices.ContainsFunc(fields, func(field string) bool { _, ok := applied.Spec[field]; return ok })
}
