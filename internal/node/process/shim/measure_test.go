// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestMeasuresOfCgroups(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  Measures
	}{
		"unified":          {map[string]string{"memory.peak": "1048576\n", "cpu.stat": "usage_usec 1500\nuser_usec 1000\n"}, Measures{CPU: 1500 * time.Microsecond, MemoryPeak: 1 << 20}},
		"of an old kernel": {map[string]string{"memory.current": "4096\n", "cpu.stat": "usage_usec 7\n"}, Measures{CPU: 7 * time.Microsecond}},
		"memory alone":     {map[string]string{"memory.max_usage_in_bytes": "4096\n"}, Measures{MemoryPeak: 4096}},
		"CPU alone":        {map[string]string{"cpuacct.usage": "123\n", "cpu.stat": "nr_periods 0\n"}, Measures{CPU: 123}},
		"neither":          {map[string]string{"pids.max": "10\n"}, Measures{}},
		"no numbers":       {map[string]string{"memory.peak": "max\n", "cpuacct.usage": "", "cpu.stat": "usage_usec x\n"}, Measures{}},
		"less than none":   {map[string]string{"memory.peak": "-1\n", "cpuacct.usage": "-1\n"}, Measures{}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, files := t.TempDir(), fstest.MapFS{}
			for file, content := range tc.files {
				files[file] = &fstest.MapFile{Data: []byte(content)}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var m Measures
			m.addCgroup(files)
			if m != tc.want {
				t.Errorf("got %+v, want %+v", m, tc.want)
			}
			if m := MeasureCgroups([]string{dir, filepath.Join(dir, "gone")}); m != tc.want {
				t.Errorf("of the directory: %+v", m)
			}
		})
	}
}

func TestMeasuresInRecords(t *testing.T) {
	const record = `{"exitCode":3,"startedAt":1,"finishedAt":2,"reason":"Error"`
	for name, tc := range map[string]struct {
		record string
		want   Measures
	}{
		"of an earlier version": {record + `}`, Measures{}},
		"measured":              {record + `,"cpu":5,"memoryPeak":6,"outputBytes":7}`, Measures{5, 6, 7}},
		"nonsense":              {record + `,"cpu":-5,"memoryPeak":-6,"outputBytes":-7}`, Measures{}},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := ParseExit([]byte(tc.record))
			if err != nil || e.ExitCode != 3 || e.Measures != tc.want {
				t.Errorf("%+v, %v", e, err)
			}
			again, err := ParseExit(encodeExit(e))
			if err != nil || again != e {
				t.Errorf("written and read: %+v, %v", again, err)
			}
		})
	}
	long := Exit{FinishedAt: 1, Reason: ReasonError, Message: strings.Repeat("x", 2*exitSize), Measures: Measures{1, 2, 3}}
	if e, err := ParseExit(encodeExit(long)); err != nil || e.Measures != long.Measures || len(encodeExit(long)) != exitSize {
		t.Errorf("with a long message: %+v, %v", e.Measures, err)
	}
}
