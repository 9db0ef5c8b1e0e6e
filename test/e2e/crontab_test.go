// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A crontab of ten lines becomes objects that run: each of them does with "carillon run" what its line says, and
// "carillon up" takes them all, and starts the one that is due each minute.
func TestCrontabImported(t *testing.T) {
	t.Parallel() // most of it is waiting
	home, dataDir := t.TempDir(), newDataDir(t)
	out := filepath.Join(home, "out")
	crontab := strings.Join([]string{
		"# jobs of a test",
		"HOME=" + home,
		"GREETING='good morning'",
		"* * * * * echo tick >> " + out + ".minutely",
		"0 3 * * * ./backup.sh --all > /dev/null",
		`30 4 * * 7 echo "$GREETING" 100\% > ` + out + ".greeting",
		"0 9 * * 1-5 cat > " + out + ".input%first%second",
		"0 0 */2 * 1 pwd > " + out + ".directory",
		"@weekly test -x /bin/sh && echo $$ > " + out + ".process",
		"@reboot never",
	}, "\n") + "\n"
	script := "#!/bin/sh\necho backup $1 >> " + out + ".backup\n"
	if err := os.WriteFile(filepath.Join(home, "backup.sh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	got := command(t, crontab, "import", "crontab", "-", "--zone", "Europe/Berlin")
	if got.code != 0 || !strings.Contains(got.stderr, "@reboot") {
		t.Fatalf("exit code %d\n%s", got.code, got.stderr)
	}
	manifest := write(t, got.stdout)
	u := startReady(t, dataDir, "-f", manifest)
	names := u.kubectl("get", "cronjobs,timetables", "-o", "name")
	for _, name := range []string{"echo", "backup", "echo-2", "cat", "pwd", "echo-3"} {
		if !strings.Contains(names, "/"+name+"\n") {
			t.Errorf("there is no %s among\n%s", name, names)
		}
	}
	for n, name := range []string{"backup", "echo-2", "cat", "echo-3"} {
		u.kubectl("create", "job", fmt.Sprintf("now-%d", n), "--from=cronjob/"+name)
		if end := u.finished(fmt.Sprintf("now-%d", n)); end.Outcome != "complete" {
			t.Errorf("%s: %s %s %s", name, end.Outcome, end.Reason, end.Message)
		}
	}
	u.wait("the minutely run", func(l line) bool {
		return l.Type == "finished" && strings.HasPrefix(l.Object, "job/default/echo-") && l.Outcome == "complete"
	})
	for suffix, want := range map[string]string{
		"minutely": "tick\n", "backup": "backup --all\n", "greeting": "good morning 100%\n", "input": "first\nsecond\n",
	} {
		if text, err := os.ReadFile(out + "." + suffix); err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%s: %v, %q, want %q", suffix, err, text, want)
		}
	}
	if text, err := os.ReadFile(out + ".process"); err != nil || strings.Trim(strings.TrimSpace(string(text)), "0123456789") != "" {
		t.Errorf("process: %v, %q, want a number", err, text)
	}
	code, took := u.stop()
	u.wantCleanStop(code, took)
}
