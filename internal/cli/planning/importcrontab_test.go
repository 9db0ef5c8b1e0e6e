// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/plan/crontab"
)

// importMachine is one in Rome that has no users but root.
func importMachine() machine {
	return machine{
		now:      func() time.Time { return time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC) },
		getenv:   func(string) string { return "" },
		readFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
		readLink: func(string) (string, error) { return "/usr/share/zoneinfo/Europe/Rome", nil },
		account: func(name string) (crontab.Account, bool) {
			return crontab.Account{UID: 0, Home: "/root"}, name == "root"
		},
		isDirectory: func(path string) bool { return path != "/nowhere" },
		user:        "ada",
		home:        "/home/ada",
	}
}

// importing runs an import with some standard input.
func importing(m machine, input string, args ...string) (stdout, stderr string, err error) {
	var out, told bytes.Buffer
	streams := Streams{In: strings.NewReader(input), Out: &out, Err: &told}
	cmd := newImportCrontab(streams, m)
	if args[0] == "systemd" {
		cmd = newImportSystemd(streams, m)
	}
	cmd.SetArgs(args[1:])
	cmd.SetOut(&told)
	cmd.SetErr(&told)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.Execute()
	return out.String(), told.String(), err
}

func importCode(err error) int {
	if coded, ok := errors.AsType[*exitcode.Error](err); ok {
		return coded.Code
	}
	if err != nil {
		return exitcode.Failed
	}
	return 0
}

const tenLines = `# my jobs
MAILTO=ada@example.org
PATH=/usr/local/bin:/usr/bin:/bin
* * * * * date
30 2 * * * backup.sh --all
*/40 * * * * poll
0 9 * * 1-5 report.py % to all
@reboot tunnel
0 0 * * 7 sunday
`

// A crontab of ten lines on standard input becomes a manifest on standard output that other commands read.
func TestImportCrontab(t *testing.T) {
	stdout, stderr, err := importing(importMachine(), tenLines, "crontab", "-")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifest.Load(t.Context(), []string{"-"}, strings.NewReader(stdout), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 5 || objects[1].GetName() != "backup" {
		t.Errorf("%d objects, the second is %s", len(objects), objects[1].GetName())
	}
	compareGolden(t, "testdata/import-crontab.yaml", stdout)
	compareGolden(t, "testdata/import-crontab.notes", stderr)
}

// What cannot be read is named with its cure, and keeps all from being written unless the rest is asked for.
func TestImportCrontabFaults(t *testing.T) {
	bad := "0 1 * * * a\n0 25 * * * b\n0 3 * * * c\n"
	stdout, stderr, err := importing(importMachine(), bad, "crontab", "-")
	if importCode(err) != 1 || stdout != "" || !strings.Contains(stderr, `crontab:2: hour "25" is out of range`) || !strings.Contains(stderr, "--keep-going") {
		t.Errorf("code %d, stdout %q, stderr %q", importCode(err), stdout, stderr)
	}
	stdout, stderr, err = importing(importMachine(), bad, "crontab", "--keep-going")
	if importCode(err) != 1 || strings.Count(stdout, "kind: CronJob") != 2 || !strings.Contains(stdout, "# Not converted:") || !strings.Contains(stderr, "error: crontab:2") {
		t.Errorf("%v, stdout %q, stderr %q", err, stdout, stderr)
	}
	stdout, _, err = importing(importMachine(), bad, "crontab", "-o", "json")
	var answer imported
	if jsonErr := json.Unmarshal([]byte(stdout), &answer); jsonErr != nil || importCode(err) != 1 || len(answer.Objects) != 2 || len(answer.Errors) != 1 {
		t.Errorf("%v %v: %s", jsonErr, err, stdout)
	}
	stdout, _, err = importing(importMachine(), "30 2 * * * a\n", "crontab", "-o", "json", "--zone", "UTC")
	if jsonErr := json.Unmarshal([]byte(stdout), &answer); jsonErr != nil || err != nil || len(answer.Objects) != 1 || answer.Kind != "Import" || answer.Notes == nil || answer.Errors == nil {
		t.Errorf("%v %v: %s", jsonErr, err, stdout)
	}
	for name, test := range map[string]struct {
		input string
		args  []string
		want  string
	}{
		"nothing":           {"", []string{"crontab"}, "no entry"},
		"comments alone":    {"# a\n", []string{"crontab", "-"}, "no entry"},
		"no file":           {"", []string{"crontab", "/does/not/exist"}, "/does/not/exist: no such file"},
		"a directory":       {"", []string{"crontab", "/"}, "/: is a directory"},
		"a zone":            {tenLines, []string{"crontab", "--zone", "Rome"}, "no time zone"},
		"a local zone":      {tenLines, []string{"crontab", "--zone", "Local"}, "no time zone"},
		"a kind":            {tenLines, []string{"crontab", "--kind", "job"}, "cronjob or timetable"},
		"two forms at once": {tenLines, []string{"crontab", "--user", "--system"}, "system user"},
	} {
		stdout, _, err := importing(importMachine(), test.input, test.args...)
		if err == nil || stdout != "" || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Standard input is the crontab of a user, whatever its programs are called.
func TestImportCrontabForm(t *testing.T) {
	for name, test := range map[string]struct {
		input string
		args  []string
		want  string // the user who is told of, or the command
	}{
		"standard input":           {"* * * * * root x\n", []string{"crontab"}, "- root x\n"},
		"that names a column":      {"# m h dom mon dow user command\n* * * * * root x\n", []string{"crontab"}, "- x\n"},
		"that is said to have one": {"* * * * * root x\n", []string{"crontab", "--system"}, "- x\n"},
	} {
		stdout, stderr, err := importing(importMachine(), test.input, test.args...)
		if err != nil || !strings.Contains(stdout, test.want) {
			t.Errorf("%s: %v\n%s%s", name, err, stdout, stderr)
		}
	}
}

// The zone is the machine's, wherever that is written.
func TestMachineZone(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*machine)
		want   string
	}{
		"a link": {func(*machine) {}, "timeZone: Europe/Rome"},
		"TZ":     {func(m *machine) { m.getenv = func(string) string { return ":Asia/Tokyo" } }, "timeZone: Asia/Tokyo"},
		"a file": {func(m *machine) {
			m.readLink = func(string) (string, error) { return "", fs.ErrNotExist }
			m.readFile = func(string) ([]byte, error) { return []byte("Asia/Kolkata\n"), nil }
		}, "timeZone: Asia/Kolkata"},
		"nowhere": {func(m *machine) { m.readLink = func(string) (string, error) { return "", fs.ErrNotExist } }, "timeZone: UTC"},
		"one that is no one": {func(m *machine) {
			m.readLink = func(string) (string, error) { return "/usr/share/zoneinfo/posixrules-9", nil }
		}, "timeZone: UTC"},
	} {
		m := importMachine()
		test.change(&m)
		stdout, stderr, err := importing(m, "0 1 * * * a\n", "crontab")
		if err != nil || !strings.Contains(stdout, test.want) || strings.Contains(stderr, "not known") != strings.Contains(test.want, "UTC") {
			t.Errorf("%s: %v\n%s%s", name, err, stdout, stderr)
		}
	}
}

// Several crontabs become one manifest, in which no name stands twice; a path tells the form.
func TestImportCrontabs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cron.d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a": "# first\n\n0 1 * * * root work\n# end of a\n", "b": "# second\n\n0 2 * * * nobody2 work\n", "c": "# nothing\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stdout, stderr, err := importing(importMachine(), "", "crontab", dir+"/a", dir+"/b", dir+"/c")
	if err != nil {
		t.Fatal(err, stderr)
	}
	last := -1
	for _, want := range []string{"# first", "name: work\n", "# end of a", "# second", "name: work-2\n", "# nothing"} {
		at := strings.Index(stdout, want)
		if at <= last {
			t.Errorf("%q is not where it should be in\n%s", want, stdout)
		}
		last = at
	}
}
