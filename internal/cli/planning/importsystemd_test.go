// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
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
	stdout, stderr, err := importing(importMachine(), "", "systemd", "testdata/units/backup@.timer", "testdata/units/poll.timer", "--keep-going")
	if err != nil || strings.Count(stdout, "kind: Timetable") != 1 || !strings.Contains(stderr, "error: ") {
		t.Errorf("%v\n%s%s", err, stdout, stderr)
	}
}
