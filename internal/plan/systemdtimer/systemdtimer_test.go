// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package systemdtimer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/plan/crontab"
	"github.com/carillon-dev/carillon/internal/plan/document"
	"github.com/carillon-dev/carillon/internal/plan/systemdtimer"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

func options() systemdtimer.Options {
	return systemdtimer.Options{Zone: "Europe/Berlin", Now: time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC), Account: func(name string) (crontab.Account, bool) {
		return crontab.Account{UID: 33, Home: "/var/www"}, name == "www-data"
	}, IsDirectory: func(path string) bool { return path != "/nowhere" }}
}

func unit(name, text string) systemdtimer.Unit {
	return systemdtimer.Unit{Name: name, File: "units/" + name, Text: text}
}

// write gives the manifest of a result, which is read as commands read it.
func write(t *testing.T, got systemdtimer.Result) string {
	t.Helper()
	text, err := document.Write(nil, got.Documents, nil)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := manifest.Parse("test", text, func(string) {})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	all, err := workload.Read([]workload.Object{{Content: loaded[0].Unstructured}}, workload.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if obstacle := all.Scheduled[0].Obstacle(); obstacle != "" {
		t.Errorf("%s\n%s", obstacle, text)
	}
	return string(text)
}

const trueService = "[Service]\nExecStart=/bin/true\n"

// What timer and service say becomes what a Timetable, or a CronJob, says.
func TestConvert(t *testing.T) {
	tests := map[string]struct {
		timer, service string
		cronJob        bool
		want           []string
		notes          []string
	}{
		"a timer":                   {"[Timer]\nOnCalendar=daily\n", trueService, false, []string{`cron: "0 0 * * *"`, "timeZone: Europe/Berlin", "catchUp: {policy: None}", "concurrency: {policy: Queue, queueLimit: 0}", "backoffLimit: 0"}, nil},
		"one that makes up":         {"[Timer]\nOnCalendar=daily\nPersistent=yes\n", trueService, false, []string{"catchUp: {policy: Latest}"}, nil},
		"a CronJob":                 {"[Timer]\nOnCalendar=*:0/5\n", trueService, true, []string{`schedule: "0-59/5 * * * *"`, "startingDeadlineSeconds: 60", "concurrencyPolicy: Forbid"}, nil},
		"a CronJob that makes up":   {"[Timer]\nOnCalendar=weekly\nPersistent=1\n", trueService, true, []string{`schedule: "0 0 * * MON"`}, nil},
		"a zone of its own":         {"[Timer]\nOnCalendar=daily Asia/Tokyo\n", trueService, false, []string{"timeZone: Asia/Tokyo"}, nil},
		"a user":                    {"[Timer]\nOnCalendar=daily\n", "[Service]\nUser=www-data\nWorkingDirectory=~\nExecStart=/bin/true\n", false, []string{"runAsUser: 33", "workingDir: /var/www", "name: HOME\n                  value: \"/var/www\"", "name: LOGNAME\n                  value: \"www-data\"", "name: USER\n"}, []string{"www-data (33)"}},
		"a number of a user":        {"[Timer]\nOnCalendar=daily\n", "[Service]\nUser=1000\nExecStart=/bin/true\n", false, []string{"runAsUser: 1000"}, nil},
		"a stranger":                {"[Timer]\nOnCalendar=daily\n", "[Service]\nUser=stranger\nExecStart=/bin/true\n", false, nil, []string{"stranger, whom this machine does not know"}},
		"a limit of a oneshot":      {"[Timer]\nOnCalendar=daily\n", "[Service]\nType=oneshot\nTimeoutStartSec=1h\nExecStart=/bin/true\n", false, []string{"activeDeadlineSeconds: 3600"}, nil},
		"a limit of a program":      {"[Timer]\nOnCalendar=daily\n", "[Service]\nRuntimeMaxSec=90\nTimeoutStartSec=5\nExecStart=/bin/true\n", false, []string{"activeDeadlineSeconds: 90"}, nil},
		"no limit":                  {"[Timer]\nOnCalendar=daily\n", "[Service]\nType=oneshot\nTimeoutSec=infinity\nExecStart=/bin/true\n", false, []string{"backoffLimit: 0"}, nil},
		"an environment":            {"[Timer]\nOnCalendar=daily\n", "[Service]\nEnvironment=A=1 \"B=x y\"\nEnvironment=A=$2\nEnvironmentFile=-/etc/default/x\nExecStart=/bin/true\n", false, []string{"name: B", `value: "x y"`, `value: "$$2"`}, []string{"EnvironmentFile=-/etc/default/x"}},
		"taken back":                {"[Timer]\nOnCalendar=daily\nOnCalendar=\nOnCalendar=hourly\n", trueService, false, []string{`cron: "0 * * * *"`}, nil},
		"continued":                 {"[Timer]\nOnCalendar=daily\n", "[Service]\nExecStart=/bin/echo a \\\n # not this\n  b\n", false, []string{"- a\n", "- b\n"}, nil},
		"a loud service":            {"[Timer]\nOnCalendar=daily\n", "[Service]\nType=forking\nGroup=adm\nRestart=always\nMemoryMax=1G\nExecStart=+/bin/true\n", false, nil, []string{"Type=forking", "Group=adm", "Restart=always", "MemoryMax=", "begins with + or !"}},
		"what Kubernetes reads":     {"[Timer]\nOnCalendar=daily\n", "[Service]\nExecStart=:/bin/echo $(HOME) $$\n", false, []string{"$$(HOME)", "$$$$"}, nil},
		"a directory that may miss": {"[Timer]\nOnCalendar=daily\n", "[Service]\nWorkingDirectory=-/nowhere\nExecStart=/bin/true\n", false, []string{"workingDir: /\n"}, []string{"no directory /nowhere here, so the command begins in /"}},
		"one that must not":         {"[Timer]\nOnCalendar=daily\n", "[Service]\nWorkingDirectory=/nowhere\nExecStart=/bin/true\n", false, []string{"workingDir: /nowhere\n"}, []string{"each run fails, as it does under systemd"}},
		"one that is there":         {"[Timer]\nOnCalendar=daily\n", "[Service]\nWorkingDirectory=-~\nExecStart=/bin/true\n", false, []string{"workingDir: /root\n"}, nil},
		"days the clock changes":    {"[Timer]\nOnCalendar=02:30\n", trueService, false, []string{"dst: {gap: Skip}"}, nil},
		"a clock that stays":        {"[Timer]\nOnCalendar=02:30 Etc/UTC\n", trueService, false, []string{"timeZone: Etc/UTC\n  catchUp"}, nil},
		"a timer with conditions":   {"[Unit]\nConditionACPower=true\n[Timer]\nOnCalendar=daily\nOnClockChange=yes\n", trueService, false, nil, []string{"not kept: ConditionACPower=, OnClockChange="}},
		"a quote in a word":         {"[Timer]\nOnCalendar=daily\n", "[Service]\nExecStart=/bin/d --log-opt=\"tag={{.Name}} x\" 'a'b\"c d\" \"\"\n", false, []string{"- --log-opt=tag={{.Name}} x\n", "- abc d\n", "- \"\"\n"}, nil},
		"a quote in a variable":     {"[Timer]\nOnCalendar=daily\n", "[Service]\nEnvironment=FOO=\"bar baz\" B=1\nExecStart=/bin/true\n", false, []string{"name: FOO\n", "value: \"bar baz\"", "name: B\n"}, nil},
		"escapes":                   {"[Timer]\nOnCalendar=daily\n", "[Service]\nExecStart=/bin/e a\\ b \\u00fc \\xc3\\xbc\\101 \\q\\s; \\;\n", false, []string{"- a\\ b\n", "- ü\n", "- üA\n", "- \\q ;\n", "- ;\n"}, nil},
		"all times taken back":      {"[Timer]\nOnBootSec=5min\nOnUnitActiveSec=1h\nOnCalendar=\nOnCalendar=daily\n", trueService, false, []string{"schedules:\n    - cron: \"0 0 * * *\"\n  timeZone: Europe/Berlin\n"}, nil},
		"seconds between":           {"[Timer]\nOnUnitInactiveSec=90\n", trueService, false, []string{"every: 1m30s"}, []string{"from the last end"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.CronJob = test.cronJob
			got, err := systemdtimer.Convert(unit("work.timer", test.timer), unit("work.service", test.service), o)
			if err != nil {
				t.Fatal(err)
			}
			text := write(t, got)
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			for _, want := range test.notes {
				if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(text, "\n#", "")), " "), want) {
					t.Errorf("nothing is told of %q:\n%s", want, text)
				}
			}
		})
	}
}

// What cannot be read or said is refused, with the file and the setting.
func TestRefusals(t *testing.T) {
	tests := map[string]struct {
		timer, service string
		cronJob        bool
		want           string
	}{
		"no time":              {"[Timer]\nPersistent=true\n", trueService, false, "units/work.timer: there is no OnCalendar="},
		"a time":               {"[Timer]\nOnCalendar=never\n", trueService, false, "OnCalendar=never"},
		"two zones":            {"[Timer]\nOnCalendar=daily UTC\nOnCalendar=daily\n", trueService, false, "split the timer"},
		"too often":            {"[Timer]\nOnUnitActiveSec=10ms\n", trueService, false, "OnUnitActiveSec=: "},
		"a long delay":         {"[Timer]\nOnCalendar=daily\nRandomizedDelaySec=2d\n", trueService, false, "24h"},
		"a delay":              {"[Timer]\nOnCalendar=daily\nRandomizedDelaySec=5min\n", trueService, true, "--kind timetable"},
		"no command":           {"[Timer]\nOnCalendar=daily\n", "[Service]\nType=oneshot\n", false, "units/work.service: there is no ExecStart="},
		"a specifier":          {"[Timer]\nOnCalendar=daily\n", "[Service]\nExecStart=/bin/echo %b\n", false, "only systemd knows"},
		"no instance":          {"[Timer]\nOnCalendar=daily\n", "[Service]\nExecStart=/bin/echo %i\n", false, "needs an instance"},
		"a variable":           {"[Timer]\nOnCalendar=daily\n", "[Service]\nEnvironment=A B\nExecStart=/bin/true\n", false, "is not NAME=value"},
		"no setting":           {"[Timer]\nOnCalendar\n", trueService, false, "units/work.timer: line 2"},
		"too much to say":      {"[Timer]\nOnCalendar=Mon *-*-1..7 10:00\n", trueService, true, "dayRule"},
		"seconds in a CronJob": {"[Timer]\nOnCalendar=*:*:30\n", trueService, true, "five fields"},
	}
	for name, test := range tests {
		o := options()
		o.CronJob = test.cronJob
		if _, err := systemdtimer.Convert(unit("work.timer", test.timer), unit("work.service", test.service), o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if _, err := systemdtimer.ServiceOf(unit("a.timer", "[Timer]\nUnit=b.target\n")); err == nil || !strings.Contains(err.Error(), "no service") {
		t.Errorf("a target: %v", err)
	}
	if name, err := systemdtimer.ServiceOf(unit("a@b.timer", "[Timer]\nUnit=c-%i.service\n")); err != nil || name != "c-b.service" {
		t.Errorf("%s %v", name, err)
	}
}

// %i is the instance as it stands in the unit's name, %I what it stands for, and neither is split into words.
func TestInstance(t *testing.T) {
	name := `backup@srv-my\x20files\x2dold`
	got, err := systemdtimer.Convert(unit(name+".timer", "[Timer]\nOnCalendar=daily\n"),
		unit(name+".service", "[Service]\nExecStart=/bin/b %i /%I %I/%i 100%%\nEnvironment=DIR=/%I\n"), options())
	if err != nil {
		t.Fatal(err)
	}
	text := write(t, got)
	for _, want := range []string{`- srv-my\x20files\x2dold` + "\n", "- /srv/my files-old\n", `- srv/my files-old/srv-my\x20files\x2dold` + "\n", "- 100%\n", `value: "/srv/my files-old"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// No unit makes it panic, and what it writes can be read.
func FuzzConvert(f *testing.F) {
	f.Add("[Timer]\nOnCalendar=Mon..Fri *-*~07/1 02:30 UTC\nRandomizedDelaySec=1h 30min\n", "[Service]\nExecStart=-/bin/sh -c \"a $B\" \\\n c\n", false)
	f.Add("[Timer]\nOnUnitActiveSec=5min\n", "[Service]\nUser=%i\nEnvironment='A=b'\nExecStart=@/bin/x y z\n", true)
	f.Add("[Timer]\nOnCalendar=2027-01-01T00:00\n", "[Service]\nExecStart=/a\\x41\n", false)
	f.Fuzz(func(t *testing.T, timer, service string, cronJob bool) {
		if len(timer)+len(service) > 4000 {
			return
		}
		o := options()
		o.CronJob = cronJob
		got, err := systemdtimer.Convert(unit("a@b.timer", timer), unit("a@b.service", service), o)
		if err != nil || len(got.Documents) == 0 {
			return
		}
		text, err := document.Write(nil, got.Documents, nil)
		if err != nil {
			t.Fatal(err)
		}
		if objects, err := manifest.Parse("test", text, func(string) {}); err != nil || len(objects) != 1 {
			t.Fatalf("%d objects, %v\n%s", len(objects), err, text)
		}
	})
}
