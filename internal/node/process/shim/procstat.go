// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// ProcessStat is a line of proc_pid_stat(5).
//
// It is not read by github.com/prometheus/procfs, which imports package net (see conn) and takes all 52 fields of each
// process through package fmt: ProcessTree reads those of every process of the machine.
type ProcessStat struct {
	PID        int
	State      byte // R, S, D, T, Z and so on
	Parent     int
	StartTicks uint64 // start time, clock ticks since boot

	fields [][]byte // those after the name
}

// Ended reports whether the process has ended and only its parent has not taken note of it.
func (s ProcessStat) Ended() bool { return s.State == 'Z' || s.State == 'X' }

// Field is the number in the field that proc_pid_stat(5) numbers so; 0 where the kernel gives none.
func (s ProcessStat) Field(number int) uint64 {
	n := number - 3 // the first one after the name is 3
	if n < 0 || n >= len(s.fields) {
		return 0
	}
	value, _ := strconv.ParseUint(string(s.fields[n]), 10, 64)
	return value
}

// ReadProcessStat reads the line of a process, which may have ended.
func ReadProcessStat(pid int) (ProcessStat, error) { return readProcessStat(strconv.Itoa(pid)) }

// readProcessStat reads the line of the process with that name in /proc, which may be "self".
func readProcessStat(name string) (ProcessStat, error) {
	b, err := os.ReadFile("/proc/" + name + "/stat")
	if err != nil {
		return ProcessStat{}, err
	}
	s, err := parseProcessStat(b)
	if err != nil {
		return ProcessStat{}, fmt.Errorf("/proc/%s/stat: %w", name, err)
	}
	return s, nil
}

func parseProcessStat(b []byte) (ProcessStat, error) {
	// The name is in parentheses and may hold anything, also a parenthesis.
	first, end := bytes.IndexByte(b, ' '), bytes.LastIndexByte(b, ')')
	if first < 0 || end < 0 {
		return ProcessStat{}, fmt.Errorf("no name in %q", b)
	}
	s := ProcessStat{fields: bytes.Fields(b[end+1:])}
	if len(s.fields) < 20 {
		return ProcessStat{}, fmt.Errorf("%d fields after the name", len(s.fields))
	}
	s.State = s.fields[0][0]
	var err error
	if s.PID, err = strconv.Atoi(string(b[:first])); err != nil {
		return ProcessStat{}, err
	}
	if s.Parent, err = strconv.Atoi(string(s.fields[1])); err != nil {
		return ProcessStat{}, err
	}
	s.StartTicks, err = strconv.ParseUint(string(s.fields[19]), 10, 64)
	return s, err
}
