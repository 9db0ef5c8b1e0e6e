// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// A dry run allows no field that the server does not know, so that a misspelt one is told; that refuses nothing, since the
// create itself allows it (TT-261).
func TestMisspeltField(t *testing.T) {
	misspelt := func(spec *v1alpha1.TimetableSpec) {
		spec.Template.Spec = runtime.RawExtension{Raw: []byte(`{"backofLimit":1,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}`)}
	}
	serveTimetable(t, misspelt, func(w *timetabled) {
		w.strict = apierrors.NewBadRequest(`Job in version "v1" cannot be handled as a Job: strict decoding error: unknown field "spec.backofLimit"`)
		w.sync()
		for range 3 {
			w.next(1)
		}
		c := meta.FindStatusCondition(w.stored().Status.Conditions, v1alpha1.ConditionReady)
		if c.Status != "True" || !strings.Contains(c.Message, `unknown field "spec.backofLimit"`) {
			t.Errorf("Ready is %+v", c)
		}
		if told := w.says("UnknownFields"); len(told) != 1 || !strings.HasPrefix(told[0], "Warning") || !strings.Contains(told[0], `"spec.backofLimit"`) {
			t.Errorf("told %q", told)
		}
		if w.stored().Status.Counts.Started == 0 {
			t.Error("nothing has started")
		}
	})
}
