// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/cli/manifest"
)

// Timers become Timetables, with the service beside them, drop-ins and instances.
func TestImportSystemd(t *testing.T) {
	stdout, stderr, err := importing(importMachine(), "", "systemd", "testdata/units/logrotate.timer", "testdata/units/backup@home.timer", "testdata/units/poll.timer")
	if err != nil {
		t.Fatal(err, stderr)
	}
	if objects, err := manifest.Parse("stdout", []byte(stdout), nil); err != nil || len(objects) != 3 {
		t.Errorf("%d objects, %v", len(objects), err)
	}
	compareGolden(t, "testdata/import-systemd.yaml", stdout)
	compareGolden(t, "testdata/import-systemd.notes", stderr)
}

// What cannot be read, found or said is told, with what to do.
func TestImportSystemdFaults(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string // on standard error, or in the error
	}{
		"nothing":                  {[]string{"systemd"}, "systemctl list-timers"},
		"no timer":                 {[]string{"systemd", "testdata/units/none.timer"}, "there is no testdata/units/none.timer"},
		"a service":                {[]string{"systemd", "testdata/units/boot.service"}, "name the timers"},
		"another unit":             {[]string{"systemd", "a.socket"}, "no timer"},
		"no time":                  {[]string{"systemd", "testdata/units/boot.timer"}, "leave that to systemd"},
		"a template":               {[]string{"systemd", "testdata/units/backup@.timer"}, "name the unit with one"},
		"more than a CronJob says": {[]string{"systemd", "testdata/units/backup@home.timer", "--kind", "cronjob"}, "--kind timetable can"},
		"a delay in a CronJob":     {[]string{"systemd", "testdata/units/logrotate.timer", "--kind", "cronjob"}, "jitter"},
	} {
		stdout, stderr, err := importing(importMachine(), "", test.args...)
		if err == nil || stdout != "" || !strings.Contains(stderr+err.Error(), test.want) {
			t.Errorf("%s: %v\n%s%s", name, err, stdout, stderr)
		}
	}
	stdout, stderr, err := importing(importMachine(), "", "systemd", "testdata/units/backup@.timer", "testdata/units/none.timer", "testdata/units/poll.timer",
		"testdata/units/orphan.timer", "--keep-going")
	if importCode(err) != 1 || strings.Count(stdout, "kind: Timetable") != 1 || strings.Count(stderr, "error: ") != 3 {
		t.Errorf("%v\n%s%s", err, stdout, stderr)
	}
	last := -1
	for _, want := range []string{"# backup@.timer\n# Not converted: ", "# none.timer\n# Not converted: ", "kind: Timetable", "# orphan.timer\n# Not converted: testdata/units/orphan.timer: it starts gone.service"} {
		at := strings.Index(stdout, want)
		if at <= last {
			t.Errorf("%q is not where it should be in\n%s", want, stdout)
		}
		last = at
	}
}

// Drop-ins count wherever they stand, in the order of their names; of one name the first directory's.
func TestDropIns(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"lib/job@.timer":                      "[Timer]\nOnCalendar=daily\n",
		"lib/job@.service":                    "[Service]\nExecStart=/bin/true\n",
		"lib/job@.timer.d/20-time.conf":       "[Timer]\nOnCalendar=\nOnCalendar=hourly\n",
		"etc/job@.timer.d/10-time.conf":       "[Timer]\nOnCalendar=\nOnCalendar=Mon 01:00\n",
		"lib/job@.service.d/env.conf":         "[Service]\nEnvironment=A=lib\n",
		"etc/job@.service.d/env.conf":         "[Service]\nEnvironment=A=etc\n",
		"lib/job@x.service.d/own.conf":        "[Service]\nEnvironment=B=instance\n",
		"etc/job@.service.d/own.conf":         "[Service]\nEnvironment=B=template\n",
		"etc/job@.service.d/README":           "no unit",
		"etc/job@.service.d/z.conf":           "[Service]\nEnvironment=C=z\n",
		"lib/job@.service.d/a-first-too.conf": "[Service]\nEnvironment=C=a\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	i := &importSystemd{directories: []string{filepath.Join(root, "etc"), filepath.Join(root, "none"), filepath.Join(root, "lib")}}
	timer, err := i.unit("job@x.timer", i.places(""))
	if err != nil {
		t.Fatal(err)
	}
	if want := "[Timer]\nOnCalendar=daily\n\n[Timer]\nOnCalendar=\nOnCalendar=Mon 01:00\n\n[Timer]\nOnCalendar=\nOnCalendar=hourly\n"; timer.Text != want {
		t.Errorf("got %q, want %q", timer.Text, want)
	}
	service, err := i.unit("job@x.service", i.places(""))
	if err != nil {
		t.Fatal(err)
	}
	want := "[Service]\nExecStart=/bin/true\n\n[Service]\nEnvironment=C=a\n\n[Service]\nEnvironment=A=etc\n\n[Service]\nEnvironment=B=instance\n\n[Service]\nEnvironment=C=z\n"
	if service.Text != want {
		t.Errorf("got %q, want %q", service.Text, want)
	}
}
