// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package upcoming_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/plan/upcoming"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

var update = flag.Bool("update", false, "write what the tests get to testdata")

// now is Saturday, a week before the clocks of Europe change.
var now = time.Date(2027, 3, 20, 12, 0, 0, 0, time.UTC)

// fataler is a test of package testing or of rapid.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func zone(t fataler, name string) *time.Location {
	t.Helper()
	loc, err := schedule.LoadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func read(t fataler, manifests string, zone *time.Location) []*upcoming.Source {
	t.Helper()
	var sources []*upcoming.Source
	for _, s := range readObjects(t, manifests, zone) {
		sources = append(sources, upcoming.Of(s, zone))
	}
	return sources
}

func readObjects(t fataler, manifests string, zone *time.Location) []*workload.Scheduled {
	t.Helper()
	var objects []workload.Object
	for n, text := range strings.Split(manifests, "\n---\n") {
		content := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &content); err != nil {
			t.Fatalf("document %d: %v", n+1, err)
		}
		objects = append(objects, workload.Object{Content: &unstructured.Unstructured{Object: content}})
	}
	all, err := workload.Read(objects, workload.Options{Zone: zone})
	if err != nil {
		t.Fatal(err)
	}
	return all.Scheduled
}

// The answers for the objects of each file in testdata, for people and for programs.
func TestObjects(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			manifests, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			from := now
			if first, _, _ := strings.Cut(string(manifests), "\n"); strings.HasPrefix(first, "# from ") {
				if from, err = time.Parse(time.RFC3339, strings.TrimPrefix(first, "# from ")); err != nil {
					t.Fatal(err)
				}
			}
			var text strings.Builder
			documents := []upcoming.Document{}
			for _, s := range read(t, string(manifests), nil) {
				list := s.List(from, 6)
				text.WriteString(list.Text(now, 80))
				documents = append(documents, list.Document(now))
			}
			compare(t, name+".txt", []byte(text.String()))
			encoded, err := json.MarshalIndent(documents, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(encoded, []byte("null")) {
				t.Error("a list is null")
			}
			compare(t, name+".json", append(encoded, '\n'))
			for line := range strings.Lines(text.String()) {
				if n := utf8.RuneCountInString(line); n > 81 && !strings.Contains(line, "https://") {
					t.Errorf("%d columns: %s", n-1, line)
				}
			}
		})
	}
}

func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is another one; got\n%s", path, got)
	}
}

func TestExpressions(t *testing.T) {
	tests := map[string]struct {
		text     string
		zone     string
		want     string // the first time
		language upcoming.Language
		obstacle string
		note     string
	}{
		"of a CronJob":            {text: "0 2 * * *", want: "2027-03-21T02:00:00Z", language: upcoming.CronJob},
		"in a zone":               {text: "0 2 * * *", zone: "Asia/Tokyo", want: "2027-03-21T02:00:00+09:00", language: upcoming.CronJob},
		"with its own zone":       {text: "TZ=Asia/Tokyo 0 2 * * *", zone: "Europe/Berlin", want: "2027-03-21T02:00:00+09:00", language: upcoming.CronJob},
		"every":                   {text: "@every 90m", want: "2027-03-20T13:30:00Z", language: upcoming.CronJob, note: "1h30m"},
		"the moment itself":       {text: "0 12 * * *", want: "2027-03-20T12:00:00Z", language: upcoming.CronJob},
		"seconds":                 {text: "5 0 2 * * *", want: "2027-03-21T02:00:05Z", language: upcoming.Timetable, note: "of six fields the first is the second"},
		"the last working day":    {text: "0 2 LW * *", want: "2027-03-31T02:00:00Z", language: upcoming.Timetable},
		"hashed":                  {text: "0 H * * *", want: "2027-03-21T04:00:00Z", language: upcoming.Timetable, note: "H stands for"},
		"no such day":             {text: "0 0 30 2 *", language: upcoming.CronJob, obstacle: "names no date"},
		"no such day but in time": {text: "0 0 0 30 2 * 2030", language: upcoming.Timetable, obstacle: "names no date"},
		"past":                    {text: "0 0 0 1 2 * 2020", language: upcoming.Timetable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var loc *time.Location
			if test.zone != "" {
				loc = zone(t, test.zone)
			}
			s, err := upcoming.OfExpression(test.text, loc)
			if err != nil {
				t.Fatal(err)
			}
			list := s.List(now, 1)
			got := ""
			if len(list.Times) > 0 {
				got = list.Times[0].At.Format(time.RFC3339)
			}
			if got != test.want || s.Language != test.language {
				t.Errorf("got %q in the language %s, want %q in %s", got, s.Language, test.want, test.language)
			}
			if !strings.Contains(s.Obstacle, test.obstacle) || (s.Obstacle == "") != (test.obstacle == "") {
				t.Errorf("the obstacle is %q, want %q", s.Obstacle, test.obstacle)
			}
			if notes := strings.Join(s.Remarks, "; "); !strings.Contains(notes, test.note) {
				t.Errorf("the notes are %q, want %q", notes, test.note)
			}
			if test.want == "" && list.End != upcoming.NoMoreTimes {
				t.Errorf("the end is %q", list.End)
			}
		})
	}
}

func TestExpressionsRefused(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"a minute too large":     {"61 * * * *", "minute 61 is out of range"},
		"a second too large":     {"61 * * * * *", `schedule "61 * * * * *": second 61 is out of range 0-59`},
		"a line of a crontab":    {"0 2 * * * root /bin/true", "use 0-7 (0 and 7 are Sunday); a line of a crontab"},
		"a long one":             {"0 2 * * * root /bin/true -x", "carillon import crontab"},
		"three fields":           {"* * *", "has 3 fields"},
		"nothing":                {"", "is empty"},
		"an unknown word":        {"@reboot", "@reboot"},
		"an unknown zone inside": {"TZ=Mars/Base 0 2 * * *", "Mars/Base"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := upcoming.OfExpression(test.text, nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// No text makes it panic, and times that are listed come one after the other.
func FuzzOfExpression(f *testing.F) {
	for _, seed := range []string{"0 2 * * *", "TZ=Asia/Tokyo 30 2 * * *", "@every 1h", "H(0-5) 2 L * 5#2 2030", "@hourly", "TZ= ", "? , * * *"} {
		f.Add(seed)
	}
	berlin := zone(f, "Europe/Berlin")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := upcoming.OfExpression(text, berlin)
		if err != nil {
			return
		}
		list := s.List(now, 5)
		_ = list.Text(now, 80)
		for i := 1; i < len(list.Times); i++ {
			if !list.Times[i].At.After(list.Times[i-1].At) {
				t.Fatalf("%s comes after %s", list.Times[i].At, list.Times[i-1].At)
			}
		}
	})
}

func TestFirstShowing(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"once":               {"2027-06-01T12:00", "2027-06-01T10:00:00Z"},
		"a date":             {"2027-06-01", "2027-05-31T22:00:00Z"},
		"never":              {"2027-03-28T02:30", "2027-03-28T01:00:00Z"},
		"twice":              {"2027-10-31T02:30", "2027-10-31T00:30:00Z"},
		"with an offset":     {"2027-10-31T02:30+05:00", "2027-10-30T21:30:00Z"},
		"before all changes": {"0001-01-01", "0000-12-31T23:06:32Z"},
		"late":               {"9999-12-31T23:59:59", "9999-12-31T22:59:59Z"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := timeset.ParseMoment(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := upcoming.FirstShowing(m, zone(t, "Europe/Berlin")).Format(time.RFC3339); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// What is far away is written, too, and what no program can write is not listed.
func TestFarAway(t *testing.T) {
	s, err := upcoming.OfExpression("0 0 29 2 *", nil)
	if err != nil {
		t.Fatal(err)
	}
	list := s.List(now, 10_000)
	last := list.Times[len(list.Times)-1]
	if list.End != upcoming.Year9999 || last.At.Year() != 9996 {
		t.Errorf("the end is %q after %s", list.End, last.At)
	}
	if _, err := json.Marshal(list.Document(now)); err != nil {
		t.Error(err)
	}
	if text := list.Text(now, 80); !strings.Contains(text, "in 7969 years") || !strings.HasSuffix(text, "Later times are after the year 9999.\n") {
		t.Errorf("the text ends with %q", text[len(text)-200:])
	}
	if past := s.List(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), 1); !strings.Contains(past.Text(now, 80), "2023 years ago") {
		t.Errorf("got %s", past.Text(now, 80))
	}
}
