// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// criText is a log: a line for each text, a second apart from a time on.
func criText(from time.Time, texts ...string) string {
	var b strings.Builder
	for i, text := range texts {
		stream := " stdout F "
		if strings.HasPrefix(text, "!") {
			stream, text = " stderr F ", text[1:]
		}
		b.WriteString(from.Add(time.Duration(i)*time.Second).Format(time.RFC3339Nano) + stream + text + "\n")
	}
	return b.String()
}

// logsScene is a failed run of two attempts, a run of two Pods with two containers, and one whose output is gone.
func logsScene() *runMemory {
	failed, wide, gone, never := backupRun(3, run.Failed), backupRun(2, run.Succeeded), backupRun(1, run.Failed), backupRun(4, run.Failed)
	code := int32(3)
	failed.Reason, failed.ExitCode, gone.ExitCode, gone.Attempts = "BackoffLimitExceeded", &code, &code, 1
	never.Reason = "DeadlineExceeded"
	m := &runMemory{runs: []run.Run{failed, wide, gone, never}, logs: map[string]string{}}
	add := func(r run.Run, pod, container string, restart int32, began time.Duration, texts ...string) {
		a := attemptOf(r, pod, container, restart, began)
		m.attempts = append(m.attempts, a)
		if texts != nil {
			m.logs[a.ContainerID] = criText(a.Started, texts...)
		}
	}
	add(failed, "backup-03-a", "dump", 0, time.Second, "begin", "!\x1b[31mno space\x1b[0m \x1b]0;title\a")
	add(failed, "backup-03-b", "dump", 0, 20*time.Second, "begin again", "10%\r20%", "!no space")
	add(wide, "w-1", "a", 0, time.Second, "1a0", "1a1")
	add(wide, "w-1", "b", 0, time.Second, "1b0", "1b1")
	add(wide, "w-2", "a", 0, 1500*time.Millisecond, "2a0", "2a1")
	add(wide, "w-2", "a", 1, 30*time.Second)
	add(gone, "g-1", "a", 0, time.Second)
	return m
}

func TestLogs(t *testing.T) {
	for name, test := range map[string]struct {
		of       string
		set      func(l *logs)
		want     string
		said     string
		code     int
		wantCode string
	}{
		"the newest that failed, in the order of time": {
			of: "cronjob/backup", set: func(l *logs) { l.choice.at = "2026-05-03 02:00" },
			want: "backup-03-a │ begin\nbackup-03-a │ \x1b[31mno space\x1b[0m \x1b]0;title\a\nbackup-03-b │ begin again\nbackup-03-b │ 10%\r20%\nbackup-03-b │ no space\n",
			said: "job/backup-03 of cronjob/backup, scheduled 2026-05-03 02:00 UTC (34h ago), failed: BackoffLimitExceeded, exit code 3 after 58s, 2 attempts\n",
		},
		"on a terminal": {
			of: "job/backup-03", set: func(l *logs) { l.terminal, l.colors, l.prefix, l.quiet = true, true, prefixNever, true },
			want: "begin\n\x1b[31mno space\x1b[0m ^[]0;title^G\nbegin again\n20%\nno space\n",
		},
		"on a terminal without colours": {
			of: "job/backup-03", set: func(l *logs) { l.terminal, l.prefix, l.quiet = true, prefixNever, true },
			want: "begin\nno space ^[]0;title^G\nbegin again\n20%\nno space\n",
		},
		"on a terminal, raw": {
			of: "job/backup-03", set: func(l *logs) { l.terminal, l.raw, l.attempt, l.quiet = true, true, 1, true },
			want: "begin\n\x1b[31mno space\x1b[0m \x1b]0;title\a\n",
		},
		"one attempt": {
			of: "job/backup-03", set: func(l *logs) { l.attempt, l.stamps = 1, true },
			want: "2026-05-03T02:00:02.000000000Z begin\n2026-05-03T02:00:03.000000000Z \x1b[31mno space\x1b[0m \x1b]0;title\a\n",
			said: "job/backup-03 of cronjob/backup, scheduled 2026-05-03 02:00 UTC (34h ago), failed: BackoffLimitExceeded, exit code 3 after 58s, attempt 1 of 2\n",
		},
		"the end": {
			of: "job/backup-03", set: func(l *logs) { l.tail, l.quiet = 2, true },
			want: "backup-03-b │ 10%\r20%\nbackup-03-b │ no space\n",
		},
		"nothing of it": {of: "job/backup-03", set: func(l *logs) { l.tail, l.quiet = 0, true }},
		"since": {
			of: "job/backup-03", set: func(l *logs) { l.since, l.quiet = 34*time.Hour-22*time.Second, true },
			want: "backup-03-b │ 10%\r20%\nbackup-03-b │ no space\n",
		},
		"Pods and containers, of which a part is gone": {
			of: "job/backup-02", set: func(*logs) {},
			want: "w-1/a │ 1a0\nw-1/b │ 1b0\nw-2/a │ 2a0\nw-1/a │ 1a1\nw-1/b │ 1b1\nw-2/a │ 2a1\n",
			said: "job/backup-02 of cronjob/backup, scheduled 2026-05-02 02:00 UTC (2 days ago), succeeded after 58s, 3 attempts\n" +
				"not all is shown: the output of w-2/a is gone; output goes with its Pods where there is no journal: the memory of a test\n",
		},
		"a container": {
			of: "job/backup-02", set: func(l *logs) { l.only, l.quiet = "b", true },
			want: "1b0\n1b1\n",
		},
		"a container, with its name": {
			of: "job/backup-02", set: func(l *logs) { l.only, l.quiet, l.prefix = "b", true, prefixAlways },
			want: "w-1/b │ 1b0\nw-1/b │ 1b1\n",
		},
		"gone": {
			of: "job/backup-01", set: func(l *logs) { l.quiet = true }, code: 1,
			wantCode: "the output of job/backup-01 is gone; output goes with its Pods where there is no journal: the memory of a test. What is left of the run: it failed: exit code 3 after 58s",
		},
		"nothing was ever written": {
			of: "job/backup-04", set: func(*logs) {},
			said: "job/backup-04 of cronjob/backup, scheduled 02:00 UTC (10h ago), failed: DeadlineExceeded after 58s\n" +
				"it wrote nothing: no container of it ever ran: DeadlineExceeded\n",
		},
		"no such container": {of: "job/backup-02", set: func(l *logs) { l.only = "c" }, code: 2, wantCode: "--container: no container of job/backup-02 is called c; there are a, b"},
		"no such attempt":   {of: "job/backup-02", set: func(l *logs) { l.attempt = 9 }, code: 2, wantCode: "--attempt 9: job/backup-02 has 3 attempts"},
		"nothing there":     {of: "job/nope", set: func(*logs) {}, code: 2, wantCode: "there is no job/nope among what is remembered in namespace default: the memory of a test"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, said bytes.Buffer
			l := &logs{tail: -1, streams: Streams{Out: &out, Err: &said}, clock: func() time.Time { return logsNow }}
			test.set(l)
			ref, _ := reference.Parse(test.of)
			err := l.show(t.Context(), logsScene(), nil, ref)
			if out.String() != test.want || said.String() != test.said {
				t.Errorf("got\n%q\nwant\n%q\nsaid\n%s\nwant\n%s", &out, test.want, &said, test.said)
			}
			var e *exitcode.Error
			if test.code == 0 && err != nil || test.code > 0 && (!errors.As(err, &e) || e.Code != test.code || e.Error() != test.wantCode) {
				t.Errorf("error %+v", err)
			}
		})
	}
}

// Flags that contradict each other are refused, and so are arguments that name nothing.
func TestLogsRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"":                                       "name one object: cronjob/NAME, timetable/NAME or job/NAME",
		"job/a job/b":                            "name one object: cronjob/NAME, timetable/NAME or job/NAME",
		"backup":                                 `"backup" names no object: write cronjob/NAME, timetable/NAME (tt/NAME) or job/NAME`,
		"job/a --run 02:00 --failed":             "--run names one run; leave out --failed and --previous",
		"job/a --attempt -1":                     "--attempt counts from 1",
		"job/a --attempt 0":                      "--attempt counts from 1",
		"job/a --tail -5":                        "--tail is a number of lines; -1 shows all",
		"job/a --since -1m":                      "--since is a time that has passed, such as 10m",
		"job/a -f --attempt 1":                   "-f follows all attempts of a run; leave out --attempt",
		"job/a -f -p":                            "-f follows a run that is active, or the next one; leave out --failed and --previous",
		"job/a --prefix=never":                   `invalid argument "never" for "--prefix" flag: it is auto, true or false`,
		"job/a --journal /tmp/x --data-dir /tmp": "",
	} {
		cmd := newLogsAt(Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, func() time.Time { return logsNow })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(strings.Fields(args))
		if err := cmd.ExecuteContext(t.Context()); err == nil || want != "" && err.Error() != want {
			t.Errorf("%s: %v", args, err)
		}
	}
}
