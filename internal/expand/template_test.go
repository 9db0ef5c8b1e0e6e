// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package expand_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/expand"
)

var rome = mustZone("Europe/Rome")

func mustZone(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return zone
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// tick is the second attempt of the run of 12:10.
var tick = expand.Values{
	Zone:                     rome,
	ScheduledTime:            at("2026-05-04T12:10:00Z"),
	PreviousTime:             at("2026-05-03T22:30:00Z"),
	LastSuccessScheduledTime: at("2026-05-04T12:00:00Z"),
	Schedules:                []string{"daily", "weekly"},
	Run:                      "tick-20260504-121000",
	Attempt:                  2,
	Trigger:                  "CatchUp",
	Timetable:                "tick",
	Namespace:                "ops",
	Parameters:               map[string]string{"mode": `a"b`, "empty": ""},
}

var parameters = []string{"mode", "empty"}

// expanded compiles and expands.
func expanded(t *testing.T, text string, values *expand.Values) string {
	t.Helper()
	template, err := expand.Compile("spec.template.spec", []byte(text), parameters)
	if err != nil {
		t.Fatal(err)
	}
	got, size, ok := template.Expand(values, math.MaxInt)
	if !ok || size != len(got) {
		t.Fatalf("size %d, %t; the text has %d bytes", size, ok, len(got))
	}
	return string(got)
}

// A variable stands for a fact of the run (timetable.md 3.9).
func TestVariables(t *testing.T) {
	for name, want := range map[string]string{
		"scheduledTime":         "2026-05-04T14:10:00+02:00",
		"scheduledTime.utc":     "2026-05-04T12:10:00Z",
		"scheduledTime.unix":    "1777896600",
		"scheduledTime.date":    "2026-05-04",
		"scheduledTime.compact": "20260504T121000Z",
		"previousTime":          "2026-05-04T00:30:00+02:00",
		"previousTime.utc":      "2026-05-03T22:30:00Z",
		"previousTime.date":     "2026-05-04", // local
		"nextTime":              "",
		"nextTime.utc":          "",
		"nextTime.unix":         "",
		"nextTime.date":         "",
		"nextTime.compact":      "",
		// the scheduled time of the run that succeeded, not its end.
		"lastSuccessScheduledTime":         "2026-05-04T14:00:00+02:00",
		"lastSuccessScheduledTime.utc":     "2026-05-04T12:00:00Z",
		"lastSuccessScheduledTime.compact": "20260504T120000Z",
		"schedule":                         "daily",
		"schedules":                        "daily,weekly",
		"run":                              "tick-20260504-121000",
		"attempt":                          "2",
		"trigger":                          "CatchUp",
		"timetable":                        "tick",
		"namespace":                        "ops",
		"parameters.mode":                  `a\"b`,
		"parameters.empty":                 "",
	} {
		if got := expanded(t, `["<$(carillon.`+name+`)>"]`, &tick); got != `["<`+want+`>"]` {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	none := &expand.Values{ScheduledTime: at("2026-05-04T14:10:00+02:00")}
	if got := expanded(t, `["$(carillon.scheduledTime)", "$(carillon.schedule)", "$(carillon.parameters.mode)"]`, none); got !=
		`["2026-05-04T12:10:00Z", "", ""]` {
		t.Errorf("without a zone, schedules and parameters: %s", got)
	}
}

// What is no variable stays as it is, byte by byte (TT-206).
func TestTexts(t *testing.T) {
	for sentence, c := range map[string]struct{ text, want string }{
		"no variable":                          {`{"a":[1,2.50,true,null,"x"]}`, `{"a":[1,2.50,true,null,"x"]}`},
		"a variable of Kubernetes":             {`"$(HOME)"`, `"$(HOME)"`},
		"one of Kubernetes that stays":         {`"$$(HOME)"`, `"$$(HOME)"`},
		"a variable that stays":                {`"$$(carillon.run)"`, `"$(carillon.run)"`},
		"one that stays, of an unknown name":   {`"$$(carillon.sh --now)"`, `"$(carillon.sh --now)"`},
		"three dollars":                        {`"$$$(carillon.attempt)"`, `"$$(carillon.attempt)"`},
		"four dollars":                         {`"$$$$(carillon.attempt)"`, `"$$$(carillon.attempt)"`},
		"a dollar before":                      {`"$ $(carillon.attempt)"`, `"$ 2"`},
		"two beside each other":                {`"$(carillon.attempt)$(carillon.attempt)"`, `"22"`},
		"one that stays, beside one":           {`"$$(carillon.run)$(carillon.attempt)"`, `"$(carillon.run)2"`},
		"no closing parenthesis":               {`"$(carillon.run"`, `"$(carillon.run"`},
		"a parenthesis in the next string":     {`["$(carillon.run",")"]`, `["$(carillon.run",")"]`},
		"an opening one behind it":             {`"$(carillon.attempt)("`, `"2("`},
		"another prefix":                       {`"$(carillo.run) $(carillonrun) $(Carillon.run)"`, `"$(carillo.run) $(carillonrun) $(Carillon.run)"`},
		"the prefix alone":                     {`"carillon.run"`, `"carillon.run"`},
		"a key":                                {`{"$(carillon.run)":"$(carillon.attempt)"}`, `{"$(carillon.run)":"2"}`},
		"blanks between":                       {" { \"a\" : [ \"$(carillon.attempt)\" , 1 ] } ", " { \"a\" : [ \"2\" , 1 ] } "},
		"numbers that Go would write in short": {`[1e3,12345678901234567890,"$(carillon.attempt)"]`, `[1e3,12345678901234567890,"2"]`},
		"escapes around":                       {`"\"\\$(carillon.attempt)\n\u00e9é"`, `"\"\\2\n\u00e9é"`},
		"a backslash before":                   {`"\\\\$(carillon.attempt)"`, `"\\\\2"`},
		"escapes within":                       {`"\u0024(c\u0061rillon.\u0061ttempt\u0029"`, `"2"`},
		"escapes within one that stays":        {`"\u0024\u0024(carillon.run)"`, `"\u0024(carillon.run)"`},
		"the same key twice":                   {`{"a":"$(carillon.attempt)","a":"$(carillon.run)"}`, `{"a":"2","a":"tick-20260504-121000"}`},
		"a string alone":                       {`"$(carillon.attempt)"`, `"2"`},
		"empty":                                {`{"a":{},"b":[],"c":"","d":"$(carillon.attempt)"}`, `{"a":{},"b":[],"c":"","d":"2"}`},
	} {
		if got := expanded(t, c.text, &tick); got != c.want {
			t.Errorf("%s: %s gives %s, want %s", sentence, c.text, got, c.want)
		}
	}
}

// What a value holds is not looked at again, and cannot leave its string.
func TestValuesAreText(t *testing.T) {
	for _, value := range []string{`$(carillon.run)`, `$$(carillon.run)`, `","injected":"`, "\n\x00\u2028", `\`, `"`, "</script>", "\xff"} {
		got := expanded(t, `{"a":"x$(carillon.parameters.mode)x"}`, &expand.Values{Parameters: map[string]string{"mode": value}})
		var m map[string]string
		if err := json.Unmarshal([]byte(got), &m); err != nil {
			t.Fatalf("%q: %v", value, err)
		}
		if want := "x" + strings.ToValidUTF8(value, "\ufffd") + "x"; len(m) != 1 || m["a"] != want {
			t.Errorf("%q gives %q", value, m)
		}
	}
}

// A mistake is told when the template is read, with its place and what there is instead (VV-74).
func TestUnknownVariables(t *testing.T) {
	for sentence, c := range map[string]struct{ text, field, name, says string }{
		"no such name": {`{"a":"$(carillon.nope)"}`, "spec.template.spec.a", "nope",
			"spec.template.spec.a: unknown variable nope; there are scheduledTime, previousTime, nextTime, lastSuccessScheduledTime, schedule," +
				" schedules, run, attempt, trigger, timetable, namespace, parameters.NAME, and times with .utc, .unix, .date, .compact;" +
				" $$(carillon.…) keeps the text as it is"},
		"no such form": {`"$(carillon.scheduledTime.week)"`, "spec.template.spec", "scheduledTime.week",
			"unknown variable scheduledTime.week; there is scheduledTime alone and with .utc, .unix, .date, .compact"},
		"two forms":            {`"$(carillon.scheduledTime.utc.date)"`, "spec.template.spec", "scheduledTime.utc.date", "alone and with .utc"},
		"a form of no time":    {`"$(carillon.run.utc)"`, "spec.template.spec", "run.utc", "run has no forms"},
		"no such parameter":    {`"$(carillon.parameters.nope)"`, "spec.template.spec", "parameters.nope", "spec.parameters declares mode, empty"},
		"parameters alone":     {`"$(carillon.parameters)"`, "spec.template.spec", "parameters", "spec.parameters declares mode, empty"},
		"no name":              {`"$(carillon.)"`, "spec.template.spec", "", "there are scheduledTime"},
		"a command of a shell": {`"$(carillon.sh --now)"`, "spec.template.spec", "sh --now", `unknown variable "sh --now"; there are`},
		"one within another":   {`"$(carillon.$(carillon.run))"`, "spec.template.spec", "$(carillon.run", "unknown variable $(carillon.run; there are"},
		"letters of another case": {`"$(carillon.scheduledtime)"`, "spec.template.spec", "scheduledtime",
			"there are scheduledTime"},
		"deep": {`{"template":{"spec":{"containers":[{},{"args":["x","$(carillon.run) $(carillon.x)"]}]}}}`,
			"spec.template.spec.template.spec.containers[1].args[1]", "x", "spec.template.spec.template.spec.containers[1].args[1]: unknown variable x;"},
		"behind others":          {`{"a":{"b":["x"]},"c":[[1],["$(carillon.x)"]]}`, "spec.template.spec.c[1][0]", "x", ""},
		"the first of two":       {`["$(carillon.x)","$(carillon.y)"]`, "spec.template.spec[0]", "x", ""},
		"keys that are no words": {`{"a/b":{"":{"c\"d":"$(carillon.x)"}}}`, `spec.template.spec["a/b"][""]["c\"d"]`, "x", ""},
	} {
		_, err := expand.Compile("spec.template.spec", []byte(c.text), parameters)
		var unknown *expand.UnknownVariable
		if !errors.As(err, &unknown) {
			t.Errorf("%s: %v", sentence, err)
			continue
		}
		if unknown.Field != c.field || unknown.Name != c.name || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v: %v", sentence, unknown, err)
		}
	}
	if _, err := expand.Compile("spec", []byte(`"$(carillon.parameters.x)"`), nil); err == nil || !strings.Contains(err.Error(), "declares none") {
		t.Errorf("no parameters: %v", err)
	}
	long := strings.Repeat("n", 1<<17)
	if _, err := expand.Compile("spec", []byte(`{"`+long+`":"$(carillon.`+long+`)"}`), nil); err == nil || len(err.Error()) > 512 {
		t.Errorf("a long key and a long name: %d bytes", len(err.Error()))
	}
}

func TestNoJSON(t *testing.T) {
	for _, text := range []string{"", "{", `{"a":}`, `"`, "nul", `{"a":1}{}`, strings.Repeat("[", 1<<17)} {
		if _, err := expand.Compile("spec", []byte(text), nil); err == nil || err.Error() != "spec is no valid JSON" {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}

// Nothing is made that is larger than the limit.
func TestLimit(t *testing.T) {
	template, err := expand.Compile("spec", []byte(`["$(carillon.run)","$$(carillon.run)"]`), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `["tick-20260504-121000","$(carillon.run)"]`
	if text, size, ok := template.Expand(&tick, len(want)); string(text) != want || size != len(want) || !ok {
		t.Errorf("%s, %d, %t", text, size, ok)
	}
	if text, size, ok := template.Expand(&tick, len(want)-1); text != nil || size != len(want) || ok {
		t.Errorf("%s, %d, %t", text, size, ok)
	}
	plain, err := expand.Compile("spec", []byte(`{}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, size, ok := plain.Expand(&tick, 1); size != 2 || ok {
		t.Errorf("%d, %t", size, ok)
	}
}

// A template without variables costs a run nothing.
func TestWithoutVariables(t *testing.T) {
	text := []byte(`{"containers":[{"args":["$(HOME)","carillon.dev"]}]}`)
	template, err := expand.Compile("spec", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if template.Variables() || template.Len() != len(text) {
		t.Errorf("%t, %d", template.Variables(), template.Len())
	}
	if allocs := testing.AllocsPerRun(10, func() {
		if got, _, _ := template.Expand(&tick, math.MaxInt); &got[0] != &text[0] {
			t.Error("copied")
		}
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
