// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// usedMemory is what processes hold of the machine's memory, in bytes.
type usedMemory struct {
	resident int64 // with the pages of programs and libraries that they have touched
	private  int64 // of it, what is in no file: heaps, stacks
}

// watch looks at processes and all that they start, until stop, and returns the most that they used together.
func watch(roots ...int) (stop func() usedMemory) {
	var most usedMemory
	end, ended := make(chan struct{}), sync.WaitGroup{}
	ended.Go(func() {
		for {
			now := treeMemory(roots)
			most.resident, most.private = max(most.resident, now.resident), max(most.private, now.private)
			select {
			case <-end:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return func() usedMemory {
		close(end)
		ended.Wait()
		return most
	}
}

// treeMemory adds up what the processes and their descendants use now.
func treeMemory(roots []int) usedMemory {
	entries, _ := os.ReadDir("/proc")
	children := map[int][]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // it ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 {
			parent, _ := strconv.Atoi(fields[1])
			children[parent] = append(children[parent], pid)
		}
	}
	var sum usedMemory
	for _, pid := range roots {
		sum.add(pid, children, "")
	}
	return sum
}

// add adds a process and its descendants. One that has just been started, and runs no program of its own yet, shares
// the memory of its parent, and its figures.
func (m *usedMemory) add(pid int, children map[int][]int, parent string) {
	statm, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
	if fields := strings.Fields(string(statm)); err == nil && len(fields) > 2 && string(statm) != parent {
		resident, _ := strconv.ParseInt(fields[1], 10, 64)
		shared, _ := strconv.ParseInt(fields[2], 10, 64)
		m.resident += resident * int64(os.Getpagesize())
		m.private += (resident - shared) * int64(os.Getpagesize())
	}
	for _, child := range children[pid] {
		m.add(child, children, string(statm))
	}
}

// processorTime is what processes, and those of their children that have ended, have used so far.
func processorTime(pids []int) time.Duration {
	const ticksPerSecond = 100 // USER_HZ, on every Linux that Go supports
	sum := int64(0)
	for _, pid := range pids {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); err == nil && len(fields) > 14 {
			for _, field := range fields[11:15] {
				n, _ := strconv.ParseInt(field, 10, 64)
				sum += n
			}
		}
	}
	return time.Duration(sum) * time.Second / ticksPerSecond
}
