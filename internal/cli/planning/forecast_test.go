// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

// runForecast runs the command on 23 November 2026 in a terminal of that locale.
func runForecast(t *testing.T, locale string, args ...string) (out, told string, code int, err error) {
	t.Helper()
	var written, errs strings.Builder
	cmd := newForecastAt(&forecastCommand{
		streams: Streams{In: strings.NewReader(""), Out: &written, Err: &errs},
		now:     func() time.Time { return time.Date(2026, 11, 23, 11, 59, 30, 0, time.UTC) },
		getenv:  func(name string) string { return map[string]string{"LANG": locale}[name] },
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	if err = cmd.ExecuteContext(t.Context()); err != nil {
		code = exitcode.Failed
		if coded, ok := errors.AsType[*exitcode.Error](err); ok {
			code = coded.Code
		}
	}
	return written.String(), errs.String(), code, err
}

// What people see, as files that were read by eye.
func TestForecastText(t *testing.T) {
	tests := map[string]struct {
		locale string
		args   []string
	}{
		"fleet":       {"en_US.UTF-8", []string{"-f", "testdata/forecast/fleet.yaml"}},
		"fleet-ascii": {"C", []string{"-f", "testdata/forecast/fleet.yaml", "--zone", "Asia/Kolkata", "--top", "3"}},
		"fleet-week":  {"de_DE.utf8", []string{"-f", "testdata/forecast/fleet.yaml", "--for", "7d", "--from", "2026-12-28", "--zone", "Europe/Berlin", "--top", "1"}},
		"one":         {"en_US.UTF-8", []string{"-f", "testdata/forecast/one.yaml"}},
		"quiet":       {"en_US.UTF-8", []string{"-f", "testdata/forecast/quiet.yaml"}},
		"busy":        {"en_US.UTF-8", []string{"-f", "testdata/forecast/busy.yaml", "--for", "90m", "--duration", "10m"}},
		// The clock is put back on this day, so that it has 25 hours and 02:00 comes twice.
		"autumn": {"en_US.UTF-8", []string{"-f", "testdata/forecast/fleet.yaml", "--for", "25h", "--from", "2026-10-25", "--zone", "Europe/Berlin", "--top", "2"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out, told, code, err := runForecast(t, test.locale, test.args...)
			if err != nil || code != 0 || told != "" {
				t.Fatalf("exit code %d, %v, told %q", code, err, told)
			}
			for line := range strings.Lines(out) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
					t.Errorf("a line has %d columns: %s", n, line)
				}
			}
			compareForecast(t, name+".txt", out)
		})
	}
}

func compareForecast(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "forecast", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is otherwise; -update writes it anew:\n%s", path, got)
	}
}

// What programs get.
func TestForecastJSON(t *testing.T) {
	out, _, code, err := runForecast(t, "", "-f", "testdata/forecast/fleet.yaml", "--for", "12h", "--top", "2", "-o", "json", "--from", "2026-11-23T18:00:00Z")
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v", code, err)
	}
	var d forecastDocument
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	if d.APIVersion != "plan.carillon.dev/v1" || d.Kind != "Forecast" || len(d.StartsPerMinute) != 720 || len(d.RunningPerMinute) != 720 {
		t.Errorf("got %s, %s, %d and %d minutes", d.APIVersion, d.Kind, len(d.StartsPerMinute), len(d.RunningPerMinute))
	}
	// Twelve backups, three that rotate, one that probes and, after four times 90 minutes, one that drifts; the
	// Timetable has started an hour before.
	if d.StartsPerMinute[360] != 17 || d.WorstMinutes[0].Starts != 17 || !d.WorstMinutes[0].Time.Equal(d.From.Add(6*time.Hour)) || d.Summary.Peak.Number != 17 {
		t.Errorf("midnight has %d starts; the fullest minute is %+v", d.StartsPerMinute[360], d.WorstMinutes[0])
	}
	if d.Objects.Counted != 21 || d.Objects.Suspended != 1 || len(d.Objects.LeftOut) != 1 || d.Objects.LeftOut[0].Name != "mistaken" || d.Objects.Idle != 2 {
		t.Errorf("got %+v", d.Objects)
	}
	if d.Durations.Measured != 1 || d.Durations.Assumed != 20 || d.Durations.AssumedSeconds != 300 {
		t.Errorf("got %+v", d.Durations)
	}
	if len(d.Changes) != 3 || !d.Changes[0].Helps || len(d.Changes[0].Edits) != d.Changes[0].Objects {
		t.Errorf("got %d changes", len(d.Changes))
	}
	d.StartsPerMinute, d.RunningPerMinute = nil, nil
	var text strings.Builder
	if err := output.WriteJSON(&text, d); err != nil {
		t.Fatal(err)
	}
	compareForecast(t, "fleet.json", text.String())
	for _, list := range []string{`"leftOut": null`, `"edits": null`, `"worstMinutes": null`, `"by": null`} {
		if strings.Contains(out, list) {
			t.Errorf("a list is %s", list)
		}
	}
}

// The picture is one document that an XML reader takes, the same each time.
func TestForecastSVG(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.svg")
	args := []string{"-f", "testdata/forecast/fleet.yaml", "--zone", "Europe/Berlin", "--svg", path}
	if _, _, code, err := runForecast(t, "", args...); code != 0 {
		t.Fatal(err)
	}
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		XMLName xml.Name
		Title   string `xml:"title"`
		Bars    []struct {
			Class string `xml:"class,attr"`
		} `xml:"rect"`
	}
	if err := xml.Unmarshal(first, &document); err != nil {
		t.Fatal(err)
	}
	if document.XMLName.Local != "svg" || document.Title != "Starts per minute, 2026-11-23 13:00 CET to 2026-11-24 13:00 CET" || len(document.Bars) < 300 {
		t.Errorf("got %s, %q, %d bars", document.XMLName.Local, document.Title, len(document.Bars))
	}
	if strings.Contains(string(first), "<script") || strings.Contains(strings.ReplaceAll(string(first), `xmlns="http://www.w3.org/2000/svg"`, ""), "http") {
		t.Error("it has a script, or something from elsewhere")
	}
	compareForecast(t, "fleet.svg", string(first))
}

func TestForecastLimit(t *testing.T) {
	tests := map[string]struct {
		limit string
		code  int
		err   string
	}{
		"more":        {"16", exitcode.Failed, "17 runs start at 2026-11-24 00:00 UTC, more than --max-per-minute 16"},
		"as many":     {"17", 0, ""},
		"none at all": {"0", exitcode.Failed, "more than --max-per-minute 0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, form := range []string{"text", "json"} {
				out, _, code, err := runForecast(t, "", "-f", "testdata/forecast/fleet.yaml", "--max-per-minute", test.limit, "-o", form)
				if code != test.code || out == "" || err != nil && !strings.Contains(err.Error(), test.err) {
					t.Errorf("%s: exit code %d, %v", form, code, err)
				}
			}
		})
	}
}

// Of an object that is given twice the last one counts, and one start is one start.
func TestForecastTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "twice.yaml")
	text := simulatedCronJob("sync", "  schedule: '0 * * * *'\n") + simulatedCronJob("sync", "  schedule: '0 0 * * *'\n")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, told, code, err := runForecast(t, "", "-f", path, "--max-per-minute", "0")
	if code != exitcode.Failed || err.Error() != "1 run starts at 2026-11-24 00:00 UTC, more than --max-per-minute 0" {
		t.Errorf("exit code %d: %v\n%s", code, err, out)
	}
	if want := "is the same object, and comes later."; !strings.Contains(told, want) || strings.Count(told, "\n") != 1 {
		t.Errorf("it tells %q", told)
	}
}

// A picture takes the place of the one before as a whole: who has that open reads on in it.
func TestForecastKeepsPicture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.svg")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	if _, _, code, err := runForecast(t, "", "-f", "testdata/forecast/one.yaml", "--svg", path); code != 0 {
		t.Fatal(err)
	}
	old := make([]byte, 4)
	if n, _ := before.Read(old); string(old[:n]) != "old" {
		t.Errorf("who had it open reads %q", old[:n])
	}
}

// What is typed wrong is told with its cure.
func TestForecastRefusals(t *testing.T) {
	dir := t.TempDir()
	job := filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(job, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fleet := []string{"-f", "testdata/forecast/one.yaml"}
	tests := map[string]struct {
		args []string
		want string
	}{
		"an argument":     {[]string{"deploy/"}, "carillon forecast -f deploy/"},
		"no schedule":     {[]string{"-f", job}, "no CronJob and no Timetable"},
		"a zone":          {append(fleet, "--zone", "Mars/Olympus"), "--zone"},
		"a time":          {append(fleet, "--from", "tomorrow"), "--from"},
		"a length":        {append(fleet, "--for", "soon"), "--for soon"},
		"days":            {append(fleet, "--for", "xd"), "--for xd"},
		"too long":        {append(fleet, "--for", "32d"), "between 1m and 31d"},
		"far too long":    {append(fleet, "--for", "99999999999d"), "--for"},
		"too short":       {append(fleet, "--for", "59s"), "between 1m and 31d"},
		"no duration":     {append(fleet, "--duration", "0"), "--duration"},
		"a long duration": {append(fleet, "--duration", "800h"), "--duration"},
		"a jitter":        {append(fleet, "--jitter", "25h"), "--jitter"},
		"a top":           {append(fleet, "--top", "-1"), "--top"},
		"a picture":       {append(fleet, "--svg", dir), "is a directory"},
		"before zones":    {append(fleet, "--from", "1969-12-31"), "--from: it begins before 1970-01-01"},
		"the last year":   {append(fleet, "--from", "9999-12-31T00:01"), "--for: it ends after 9999-12-31"},
		"a limit":         {append(fleet, "--max-per-minute", "-1"), "--max-per-minute"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out, _, code, err := runForecast(t, "", test.args...)
			if code != exitcode.Usage || out != "" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("exit code %d, %v, wrote %q", code, err, out)
			}
		})
	}
	if _, _, code, err := runForecast(t, "", append(fleet, "--svg", filepath.Join(dir, "no", "a.svg"))...); code != exitcode.Failed || !strings.Contains(err.Error(), "no/a.svg: no such file") || strings.Contains(err.Error(), ".carillon-") {
		t.Errorf("a picture that cannot be written: exit code %d, %v", code, err)
	}
}
