// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/carillon-dev/carillon/internal/plan/paragraph"
	"github.com/carillon-dev/carillon/internal/ui/manifest"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// edit is the page on which a schedule is changed.
type edit struct {
	Subject  named
	Version  string
	Sections []section
	// YAML is the object as it is to be. With AsYAML it is what is edited; otherwise the form is, and it goes with it.
	YAML   string
	AsYAML bool
	// Faults are what is wrong and belongs to no input.
	Faults  []string
	Refused string
	// Preview is what would change; nil before anybody asked.
	Preview *preview
	// Saveable: nothing that was typed keeps it from being saved.
	Saveable bool
}

func serveEdit(w http.ResponseWriter, r *http.Request, q *request) error {
	if q.scheduled == nil {
		return page404(q, "edited", "A run does what it was started for. Edit what starts it, or retry the run with other values.")
	}
	view := func(e *edit) page.View {
		return page.View{Title: "Edit " + q.live.GetName(), Section: page.Schedules, Crumbs: q.crumbs(), Styles: []string{"act.css"}, Data: e}
	}
	if _, err := manifest.Text(clean(q.live.Object)); err != nil {
		f := page.BadInput("%s %s cannot be edited here: %v.", q.gvk.Kind, q.live.GetName(), err)
		f.Code, f.Cure = http.StatusUnprocessableEntity, "Edit it in a terminal: "+q.kubectl("edit")
		return f
	}
	wanted, e := q.wanted()
	e.Refused = q.mayNot(r.Context(), "patch")
	action := q.form.Get("do")
	switch {
	case len(q.form) == 0:
		e.AsYAML = r.URL.Query().Get("as") == "yaml"
		return q.site.Render(w, r, editPage, view(e))
	case action == "yaml", action == "form":
		if !e.faulty() {
			e.AsYAML = action == "yaml"
		}
		return q.site.Render(w, r, editPage, view(e))
	case e.faulty():
		return q.site.RenderInvalid(w, r, editPage, view(e))
	}
	if e.check(clean(q.live.Object), wanted); e.faulty() { // in words that an API server does not have
		return q.site.RenderInvalid(w, r, editPage, view(e))
	}
	change := difference(clean(q.live.Object), wanted)
	if action == "save" && q.unchanged() == nil && len(change) > 0 {
		err := q.send(r.Context(), change)
		if err == nil {
			page.Done(w, r, q.url(), q.saved(r.Context(), change))
			return nil
		}
		if !e.blame(err) {
			return err
		}
		return q.site.RenderInvalid(w, r, editPage, view(e))
	}
	if q.unchanged() != nil {
		e.Faults = append(e.Faults, "It has changed since you began. Nothing was saved. The difference below is to what it is now: look at it, and save again.")
	}
	if err := q.preview(r.Context(), e, wanted, change); err != nil {
		return err
	}
	if e.faulty() {
		if q.unchanged() == nil {
			e.Preview = nil // of what cannot be saved there is nothing to see
		}
		return q.site.RenderInvalid(w, r, editPage, view(e))
	}
	e.Saveable = true
	return q.site.Render(w, r, editPage, view(e))
}

// wanted is the object as the form wants it, and the page with what was typed.
func (r *request) wanted() (map[string]any, *edit) {
	e := &edit{Subject: r.named(), Version: r.version(), AsYAML: r.form.Get("mode") == "yaml"}
	object := clean(r.live.DeepCopy().Object)
	if text, sent := r.form["yaml"]; sent {
		e.YAML = strings.ReplaceAll(text[0], "\r\n", "\n")
		parsed, err := r.parse(e.YAML)
		if err != nil {
			return nil, e.unreadable(err)
		}
		object = parsed
	}
	e.Sections = sectionsOf(r.scheduled, object)
	form := r.form
	if e.AsYAML {
		form = url.Values{}
	}
	fill(e.Sections, object, form)
	if !e.AsYAML || e.YAML == "" {
		text, err := manifest.Text(object)
		if err != nil {
			return nil, e.unreadable(err)
		}
		e.YAML = text
	}
	return object, e
}

// unreadable tells what is wrong with the YAML, which stays as it is.
func (e *edit) unreadable(err error) *edit {
	e.Faults, e.AsYAML = append(e.Faults, upper(err.Error())+"."), true
	return e
}

// parse reads the YAML of the same object.
func (r *request) parse(text string) (map[string]any, error) {
	converted, err := manifest.JSON(text)
	if err != nil {
		return nil, fmt.Errorf("this YAML cannot be read: %w", err)
	}
	object := &unstructured.Unstructured{}
	if err := utilyaml.Unmarshal(converted, &object.Object); err != nil {
		return nil, fmt.Errorf("this YAML cannot be read: %w", err)
	}
	if err := manifest.Bounded(object.Object); err != nil {
		return nil, err
	}
	switch {
	case object.Object == nil:
		return nil, errors.New("there is nothing left of it; to delete it use Delete")
	case object.GroupVersionKind() != r.gvk:
		return nil, fmt.Errorf("it must stay a %s of %s", r.gvk.Kind, r.gvk.GroupVersion())
	case object.GetName() != r.live.GetName() || object.GetNamespace() != "" && object.GetNamespace() != r.live.GetNamespace():
		return nil, fmt.Errorf("it must stay %s in namespace %s: with another name it would be another object", r.live.GetName(), r.live.GetNamespace())
	}
	if _, ok := object.Object["spec"].(map[string]any); !ok {
		return nil, errors.New("it needs a spec")
	}
	object.SetNamespace(r.live.GetNamespace())
	return clean(object.Object), nil
}

// Blamed are the inputs that are at fault.
func (e *edit) Blamed() []*setting {
	var blamed []*setting
	for _, group := range e.Sections {
		for _, s := range group.Settings {
			if s.Fault != "" {
				blamed = append(blamed, s)
			}
		}
	}
	return blamed
}

func (e *edit) faulty() bool { return len(e.Faults) > 0 || len(e.Blamed()) > 0 }

// check tells what is wrong with what was changed, at its input, or with its path where the YAML was edited.
func (e *edit) check(before, wanted map[string]any) {
	for _, group := range e.Sections {
		for _, s := range group.Settings {
			err := s.wrong(before, wanted)
			switch {
			case err == nil:
			case e.AsYAML:
				e.Faults = append(e.Faults, s.Path()+": "+strings.TrimSuffix(err.Error(), ".")+".")
			default:
				s.Fault = paragraph.Sentence(err.Error())
			}
		}
	}
}

// blame tells of an answer of the API server at the fields that it names; false if it is none about the input.
func (e *edit) blame(err error) bool {
	text, known := refusal(err)
	if !known {
		return false
	}
	causes := causesOf(err)
	if len(causes) == 0 {
		e.Faults = append(e.Faults, text)
	}
	told := map[string]bool{}
	for _, cause := range causes {
		if text := cause.Field + ": " + cause.Message; !told[text] {
			told[text] = true
			e.blameField(cause)
		}
	}
	return true
}

// blameField puts a cause to the input that it is about.
func (e *edit) blameField(cause metav1.StatusCause) {
	for _, group := range e.Sections {
		for _, s := range group.Settings {
			if path := s.Path(); !e.AsYAML && (cause.Field == path || strings.HasPrefix(cause.Field, path+".") || strings.HasPrefix(cause.Field, path+"[")) {
				s.Fault = strings.TrimSpace(s.Fault + " " + upper(cause.Message) + ".")
				return
			}
		}
	}
	e.Faults = append(e.Faults, strings.TrimPrefix(cause.Field+": "+cause.Message, ": ")+".")
}

// saved says what was saved.
func (r *request) saved(ctx context.Context, change map[string]any) string {
	after, err := edited(ctx, r, change)
	if err != nil {
		return "Saved."
	}
	if resumptionOf(after, r.now).suspended {
		return "Saved. It is suspended: nothing starts."
	}
	return "Saved. " + r.nextTime(after)
}

// difference is the merge patch (RFC 7386) that makes one object of another; empty if they are the same.
func difference(from, to map[string]any) map[string]any {
	change := map[string]any{}
	for key, value := range to {
		before, there := from[key]
		a, isMap := before.(map[string]any)
		b, staysMap := value.(map[string]any)
		switch {
		case there && isMap && staysMap:
			if below := difference(a, b); len(below) > 0 {
				change[key] = below
			}
		case !there || !equality.Semantic.DeepEqual(before, value):
			change[key] = value
		}
	}
	for key := range from {
		if _, stays := to[key]; !stays {
			change[key] = nil
		}
	}
	return change
}

// changedFields are the fields of spec that a patch changes.
func changedFields(change map[string]any) []string {
	spec, _ := change["spec"].(map[string]any)
	return slices.Sorted(maps.Keys(spec))
}
