// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/outcome"
)

// compiled reads expressions that can be read.
func compiled(t testing.TB, succeeded, failed string) *outcome.Rule {
	t.Helper()
	rule, err := outcome.Compile(succeeded, failed)
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

// Two expressions over the object tell the outcome of a kind that nobody knows (timetable.md 3.9).
func TestExpressions(t *testing.T) {
	const (
		done   = `object.status.state == 'done'`
		broken = `object.status.state in ['broken', 'lost']`
		// of example 14.7
		velero       = `has(object.status) && has(object.status.phase) && object.status.phase == 'Completed'`
		veleroFailed = `has(object.status) && has(object.status.phase) && object.status.phase in ['Failed', 'PartiallyFailed', 'FailedValidation']`
		tekton       = `object.status.conditions.exists(c, c.type == 'Succeeded' && c.status == 'True')`
	)
	for sentence, c := range map[string]struct {
		succeeded, failed, object string
		want                      outcome.Phase
		says                      string // of the error, "" for none
	}{
		"succeeded":                        {done, broken, `{status: {state: done}}`, outcome.Succeeded, ""},
		"failed":                           {done, broken, `{status: {state: lost}}`, outcome.Failed, ""},
		"neither":                          {done, broken, `{status: {state: going}}`, outcome.Unfinished, ""},
		"failed is asked first":            {"true", "true", `{}`, outcome.Failed, ""},
		"fire and forget":                  {"true", "false", `{}`, outcome.Succeeded, ""},
		"no status":                        {done, broken, `{}`, outcome.Unfinished, ""},
		"no state":                         {done, broken, `{status: {}}`, outcome.Unfinished, ""},
		"no key in a map by name":          {`object.status['state'] == 'done'`, broken, `{status: {}}`, outcome.Unfinished, ""},
		"no key in a map by another field": {`object.status[object.kind] == 'done'`, broken, `{kind: X, status: {}}`, outcome.Unfinished, ""},
		"a missing key beside what holds":  {`object.status.state == 'done' || object.kind == 'X'`, broken, `{kind: X}`, outcome.Succeeded, ""},
		"a failure cannot be told, but a success": {done, `object.status.codes[0] != 0`, `{status: {state: done, codes: []}}`, outcome.Succeeded,
			"outcome.failed counts as false: index out of bounds: 0"},
		"Velero, new":           {velero, veleroFailed, `{spec: {}}`, outcome.Unfinished, ""},
		"Velero, completed":     {velero, veleroFailed, `{status: {phase: Completed}}`, outcome.Succeeded, ""},
		"Velero, partly failed": {velero, veleroFailed, `{status: {phase: PartiallyFailed}}`, outcome.Failed, ""},
		"Tekton, new":           {tekton, "false", `{status: {}}`, outcome.Unfinished, ""},
		"Tekton, running":       {tekton, "false", `{status: {conditions: [{type: Succeeded, status: Unknown}]}}`, outcome.Unfinished, ""},
		"Tekton, succeeded":     {tekton, "false", `{status: {conditions: [{type: Other}, {type: Succeeded, status: "True"}]}}`, outcome.Succeeded, ""},
		"a string": {`object.status.state`, "false", `{status: {state: done}}`, outcome.Unfinished,
			"outcome.succeeded is of type string and counts as false: it must be true or false, as object.status.phase == 'Completed' is"},
		"null":                         {`object.status.state`, "false", `{status: {state: null}}`, outcome.Unfinished, "of type null_type"},
		"a key of no object":           {`object.status.state.x == 1`, "false", `{status: {state: done}}`, outcome.Unfinished, ""},
		"an item that there is not":    {`object.status.codes[3] == 0`, "false", `{status: {codes: [1]}}`, outcome.Unfinished, "index out of bounds: 3"},
		"a number that is a string":    {`object.status.num > 3`, "false", `{status: {num: "4"}}`, outcome.Unfinished, "no such overload"},
		"a division by zero":           {`1 / object.status.num == 1`, "false", `{status: {num: 0}}`, outcome.Unfinished, "division by zero"},
		"whole numbers and others":     {`object.num == 1.0 && object.x > 1 && object.x == 1.5`, "false", `{num: 1, x: 1.5}`, outcome.Succeeded, ""},
		"functions of strings":         {`object.s.split(',').join('-').upperAscii() == 'A-B' && '%s!'.format([object.s]).replace(',', '') == 'ab!'`, "false", `{s: "a,b"}`, outcome.Succeeded, ""},
		"functions of lists":           {`object.l.sort().slice(0, 2) == [1, 2] && object.l.distinct().size() == 3 && lists.range(3).reverse() == [2, 1, 0]`, "false", `{l: [3, 2, 1, 3]}`, outcome.Succeeded, ""},
		"lists within lists":           {`[[object.l], object.l].flatten().flatten().size() == 4 && object.l.sortBy(x, -x)[0] == 2`, "false", `{l: [1, 2]}`, outcome.Succeeded, ""},
		"lists that are compared":      {`object.l != object.m && !(object.l == object.m) && 2 in object.l && [1] in [object.l, [1]]`, "false", `{l: [1, 2], m: [1, 3]}`, outcome.Succeeded, ""},
		"regular expressions":          {`object.s.matches('^(a+)+$') && object.s.matches(object.p)`, "false", `{s: aaa, p: a*}`, outcome.Succeeded, ""},
		"times":                        {`timestamp(object.t) + duration('1h') > timestamp('2026-05-04T12:30:00Z')`, "false", `{t: "2026-05-04T12:00:00Z"}`, outcome.Succeeded, ""},
		"a sort of what has no order":  {`object.s.sort() == []`, "false", `{s: x}`, outcome.Unfinished, "no such overload"},
		"a join of what is no text":    {`object.l.join(',') == ''`, "false", `{l: [1]}`, outcome.Unfinished, "outcome.succeeded counts as false: "},
		"a thousand items":             {`object.l.map(x, x * 2).filter(x, x > 10).exists(x, x == 1998)`, "false", `{l: [` + numbers(1000) + `]}`, outcome.Succeeded, ""},
		"an error on each side":        {`object.l[0] == 1`, `object.l[1] == 1`, `{l: []}`, outcome.Unfinished, "outcome.failed counts as false: index out of bounds: 1"},
		"failed, what costs too much":  {"true", `lists.range(99999).all(x, lists.range(9).all(y, y >= 0))`, `{}`, outcome.Succeeded, "outcome.failed costs more than"},
		"failed, with an error beside": {`object.l[0] == 1`, "true", `{l: []}`, outcome.Failed, ""},
	} {
		got, err := compiled(t, c.succeeded, c.failed).Of(object(t, c.object))
		if got != (outcome.Outcome{Phase: c.want}) {
			t.Errorf("%s: %v", sentence, got)
		}
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

func numbers(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint(i))
	}
	return strings.Join(all, ",")
}

// An expression that cannot be read says where and what to write instead.
func TestUnreadableExpressions(t *testing.T) {
	for sentence, c := range map[string]struct{ succeeded, failed, want string }{
		"of another variable": {`self.status.phase == 'Done'`, "false",
			"outcome.succeeded, column 1: undeclared reference to 'self'; what the run has started is called object"},
		"without object": {`true`, `has(object.status) && status.phase == 'Failed'`,
			"outcome.failed, column 23: undeclared reference to 'status'; write object.status"},
		"of a function that there is not": {`now() > timestamp(object.t)`, "false",
			"outcome.succeeded, column 4: undeclared reference to 'now'; there is only the variable object, and the functions of CEL for strings and lists"},
		"has of no field":  {`has(object)`, "false", "outcome.succeeded, column 5: invalid argument to has() macro; has asks for a field, as in has(object.status)"},
		"no expression":    {`object.status.phase =`, "false", "; an expression looks like object.status.phase == 'Completed'"},
		"of several lines": {"object.a == 1 &&\n  self.b", "false", "outcome.succeeded, line 2, column 3: undeclared reference to 'self'"},
		"a string":         {`'done'`, "false", "outcome.succeeded is of type string, and must be true or false: compare it, as in object.status.phase == 'Completed'"},
		"a list":           {"true", `[object.a]`, "outcome.failed is of type list(dyn), and must be true or false"},
		"a wrong operator": {`object.a == 1 + 'x'`, "false", "found no matching overload for '_+_'"},
		"a bad pattern":    {`object.a.matches('(')`, "false", "outcome.succeeded, column 18: "},
		"a bad duration":   {`object.a == duration('1d')`, "false", "outcome.succeeded, column 22: "},
		"both":             {`self`, `this`, "outcome.failed, column 1"},
		"too deep":         {strings.Repeat("(", 500) + "true" + strings.Repeat(")", 500), "false", "outcome.succeeded, column "},
	} {
		_, err := outcome.Compile(c.succeeded, c.failed)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

// What would take long or much memory is refused or given up: it counts as false and is told.
func TestCosts(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	many := object(t, `{s: "`+long+`", l: [`+numbers(5000)+`], d: [`+numbers(20_000)+`]}`)
	nested := func(start, each string, times int) string { // [[[x].map(a, each)[0]].map(a, each)[0] …
		for range times {
			start = "[" + start + "].map(a, " + each + ")[0]"
		}
		return start
	}
	for sentence, expression := range map[string]string{
		"a walk of 100,000 items":                  `lists.range(100000).all(x, x >= 0)`,
		"walks within walks":                       `object.l.all(x, object.l.all(y, x + y >= 0))`,
		"a list as long as memory":                 `lists.range(9000000000).size() > 0`,
		"replacing that squares":                   nested(`object.s`, `a.replace('', a)`, 4) + `.size() > 0`,
		"replacing that squares, so often":         nested(`object.s`, `a.replace('', a, 999999)`, 4) + `.size() > 0`,
		"joining what is there many times":         `object.l.map(x, object.s).join('').size() > 0`,
		"joining by what is long":                  `object.l.map(x, 'x').join(object.s).size() > 0`,
		"a format with many digits":                `'%.1000000000f'.format([1.0]).size() > 0`,
		"a format with many digits, by the object": `object.s.replace('x', '%.99999f').format(object.l.map(x, 1.0)).size() > 0`,
		"a format of what is there many times":     `'%s'.format([object.l.map(x, object.s)]).size() > 0`,
		"flattening what is there many times":      `object.l.map(x, object.l).flatten().size() > 0`,
		"flattening deep":                          nested(`object.l`, `[a,a,a,a,a,a,a,a]`, 20) + `.flatten(100).size() > 0`,
		"distinct of many":                         `object.d.distinct().size() > 0`,
		"sorting what is there many times":         `object.l.map(x, object.s).sort().size() > 0`,
		"sorting by what is there many times":      `object.l.sortBy(x, object.s).size() > 0`,
		"comparing what is nested":                 nested(`object.l`, `[a,a,a,a,a,a,a,a]`, 20) + ` == ` + nested(`object.l`, `[a,a,a,a,a,a,a,a]`, 20),
		"comparing what is nested, otherwise":      nested(`object.l`, `[a,a,a,a,a,a,a,a]`, 20) + ` != ` + nested(`object.l`, `[a,a,a,a,a,a,a,a]`, 20),
		"comparing the object often":               `object.l.all(x, object == object)`,
		"looking for what is nested":               nested(`object.l`, `[a,a,a,a,a,a,a,a]`, 16) + ` in [` + nested(`object.l`, `[a,a,a,a,a,a,a,a]`, 16) + `]`,
		"adding lists":                             nested(`object.l`, `a+a+a+a+a+a+a+a`, 20) + `.size() > 0`,
		"adding strings":                           nested(`object.s`, `a+a+a+a+a+a+a+a`, 20) + `.size() > 0`,
		"reversing often":                          `object.l.all(x, object.d.reverse().size() > 0)`,
		"splitting often":                          `object.l.all(x, object.s.split('').size() > 0)`,
		"a pattern made at run time, often":        `object.l.all(x, object.s.matches(object.s))`,
		"a pattern that is repeated":               `object.s.matches('^(?:[a-z]?[0-9]?[A-Z]?){1000}#$')`,
		"a pattern that is repeated, unbounded":    `object.s.matches('#(?:[a-z]?[0-9]?[A-Z]?){1000,}')`,
	} {
		if len(expression) > 1024 && !strings.Contains(sentence, "nested") && !strings.Contains(sentence, "looking") {
			t.Errorf("%s: %d characters, which the schema refuses", sentence, len(expression))
		}
		got, err := compiled(t, expression, "false").Of(many)
		if got.Phase != outcome.Unfinished || err == nil || !strings.Contains(err.Error(), "outcome.succeeded costs more than the 100000 steps") {
			t.Errorf("%s: %v, %v", sentence, got, err)
		}
	}
}

// FuzzExpressions: no text and no object makes it panic, and the outcome is the same each time.
func FuzzExpressions(f *testing.F) {
	for _, expression := range []string{`object.a == 1`, `object.l.map(x, x + 1).sort() == [1]`, `'%d'.format([object.a]) in object.l`, `object`, `has(object.a.b)`,
		`object.l.flatten(2).distinct() != lists.range(object.a)`, `[1] + object.l == object.l`, `object.s.replace('', object.s, -1).split('a').join(object.s) == ''`,
		`object.l.sortBy(x, x.y)`, `"\`, `object.?a`, `object.s.reverse().charAt(99) < object.s`, `timestamp(object.s).getDayOfWeek() == 0`} {
		f.Add(expression, `{"a":1,"l":[1,[2],"x"],"s":"aé"}`)
	}
	f.Fuzz(func(t *testing.T, expression, text string) {
		var obj map[string]any
		if len(expression) > 1024 || json.Unmarshal([]byte(text), &obj) != nil {
			return
		}
		rule, err := outcome.Compile(expression, "false")
		if err != nil {
			return
		}
		first, err := rule.Of(obj)
		second, again := rule.Of(obj)
		if first != second || (err == nil) != (again == nil) {
			t.Errorf("%v, %v; then %v, %v", first, err, second, again)
		}
		if err != nil && strings.Contains(err.Error(), "internal error") {
			t.Errorf("%s of %s: %v", expression, text, err)
		}
	})
}

// BenchmarkCompile reads expressions that nobody has compiled yet, and such that somebody has.
func BenchmarkCompile(b *testing.B) {
	for name, number := range map[string]func(int) int{"new": func(i int) int { return i }, "again": func(int) int { return 0 }} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				compiled(b, `has(object.status) && object.status.phase == 'Completed'`,
					fmt.Sprintf(`has(object.status) && object.status.phase in ['Failed', 'PartiallyFailed%d']`, number(i)))
			}
		})
	}
}

func BenchmarkOf(b *testing.B) {
	for name, c := range map[string]struct{ succeeded, failed, object string }{
		"velero": {`has(object.status) && has(object.status.phase) && object.status.phase == 'Completed'`,
			`has(object.status) && has(object.status.phase) && object.status.phase in ['Failed', 'PartiallyFailed', 'FailedValidation']`, `{status: {phase: InProgress}}`},
		"tekton": {`object.status.conditions.exists(c, c.type == 'Succeeded' && c.status == 'True')`,
			`object.status.conditions.exists(c, c.type == 'Succeeded' && c.status == 'False')`, `{status: {conditions: [{type: Succeeded, status: Unknown}]}}`},
	} {
		b.Run(name, func(b *testing.B) {
			rule, obj := compiled(b, c.succeeded, c.failed), object(b, c.object)
			b.ReportAllocs()
			for b.Loop() {
				if got, err := rule.Of(obj); got.Phase != outcome.Unfinished || err != nil {
					b.Fatal(got, err)
				}
			}
		})
	}
	b.Run("job", func(b *testing.B) {
		rule, obj := outcome.Known("batch/v1", "Job"), object(b, `{status: {conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-05-04T12:12:30Z"}]}}`)
		b.ReportAllocs()
		for b.Loop() {
			if got, err := rule.Of(obj); got.Phase != outcome.Succeeded || err != nil {
				b.Fatal(got, err)
			}
		}
	})
}
