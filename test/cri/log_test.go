// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

var logSpecs = []spec{
	{name: "a line of the log has the time, the stream, whether it is whole, and the text", run: func(c *check) {
		before := time.Now().Add(-time.Second)
		ctr := c.begin(c.sandbox(), c.container("echo:out", "error:problem", "echo:", "echo:  spaces  "))
		c.wait(ctr)
		var out, errs []string
		for _, r := range c.records(ctr.log) {
			if r.partial || r.time.Before(before) || r.time.After(time.Now().Add(time.Second)) {
				c.Errorf("%+v", r)
			}
			if r.stream == "stdout" {
				out = append(out, r.text)
			} else {
				errs = append(errs, r.text)
			}
		}
		c.equal("stdout", strings.Join(out, "|"), "out||  spaces  ")
		c.equal("stderr", strings.Join(errs, "|"), "problem")
	}},
	{name: "a long line comes in parts, which give the whole", run: func(c *check) {
		ctr := c.begin(c.sandbox(), c.container("repeat:100000", "echo:next"))
		c.wait(ctr)
		records := c.records(ctr.log)
		if len(records) < 3 || !records[0].partial {
			c.Errorf("%d records", len(records))
		}
		if got, want := c.output(ctr, "stdout"), strings.Repeat("0123456789abcdef", 100000/16)+"\nnext\n"; got != want {
			c.Errorf("%d bytes, want %d", len(got), len(want))
		}
	}},
	{name: "what stands behind the last end of line is in the log", run: func(c *check) {
		ctr := c.begin(c.sandbox(), c.container("echo:line", "print:no line"))
		c.wait(ctr)
		c.until("it is there", func() bool { return len(c.records(ctr.log)) == 2 })
		c.equal("text", c.records(ctr.log)[1].text, "no line")
	}},
	{name: "all output is in the log when the container has ended", run: func(c *check) {
		p := c.sandbox()
		for range 5 {
			ctr := c.begin(p, c.container("repeat:20000", "echo:last", "exit:0"))
			c.wait(ctr)
			if !strings.HasSuffix(c.output(ctr, "stdout"), "\nlast\n") {
				c.Errorf("%d bytes", len(c.output(ctr, "stdout")))
			}
		}
	}},
	{name: "ReopenContainerLog makes a new file, and nothing more goes to the old one", run: func(c *check) {
		ctr := c.begin(c.sandbox(), c.container("count"))
		c.awaitOutput(ctr, "3\n")
		c.must(os.Rename(ctr.log, ctr.log+".1"))
		_, err := c.runtime.ReopenContainerLog(c.ctx(), &runtimeapi.ReopenContainerLogRequest{ContainerId: ctr.id})
		c.must(err)
		if _, err := os.Stat(ctr.log); err != nil {
			c.Fatal(err)
		}
		old := c.records(ctr.log + ".1")
		c.until("the new file grows", func() bool { return len(c.records(ctr.log)) > 5 })
		c.equal("records of the old file", len(c.records(ctr.log+".1")), len(old))
		c.equal("the first record of the new file", c.records(ctr.log)[0].text, len(old))
	}},
	{name: "ReopenContainerLog of a container that has ended makes a new file or is an error, not both", run: func(c *check) {
		ctr := c.begin(c.sandbox(), c.container("echo:x"))
		c.wait(ctr)
		c.must(os.Rename(ctr.log, ctr.log+".1"))
		_, err := c.runtime.ReopenContainerLog(c.ctx(), &runtimeapi.ReopenContainerLogRequest{ContainerId: ctr.id})
		if _, serr := os.Stat(ctr.log); (err == nil) != (serr == nil) {
			c.Errorf("call: %v; file: %v", err, serr)
		}
	}},
	{name: "a container without a log runs as well", run: func(c *check) {
		config := c.container("exit:4")
		config.LogPath = ""
		c.equal("exit code", c.wait(c.begin(c.sandbox(), config)).ExitCode, 4)
	}},
}

// record is a line of a log.
type record struct {
	time    time.Time
	stream  string
	partial bool
	text    string
}

// records reads a log in the format of the CRI: TIME STREAM TAG[:TAG…] TEXT. A log that is not there yet is empty.
func (c *check) records(path string) []record {
	c.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	c.must(err)
	var list []record
	for line := range strings.Lines(string(b)) {
		text, whole := strings.CutSuffix(line, "\n")
		if !whole {
			break // it is being written
		}
		f := strings.SplitN(text, " ", 4)
		if len(f) != 4 {
			c.Fatalf("a line of the log: %q", line)
		}
		at, err := time.Parse(time.RFC3339Nano, f[0])
		tag, _, _ := strings.Cut(f[2], ":")
		if err != nil || f[1] != "stdout" && f[1] != "stderr" || tag != "F" && tag != "P" {
			c.Fatalf("a line of the log: %q %v", line, err)
		}
		list = append(list, record{at, f[1], tag == "P", f[3]})
	}
	return list
}
