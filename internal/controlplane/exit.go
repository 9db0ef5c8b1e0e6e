// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"k8s.io/klog/v2"
)

// Kubernetes components are written as programs of their own: when one cannot go on it logs and ends the process, for
// instance when a stop comes upon a step of the API server's start. Here that would take running Pods, the terminal and
// the exit code with it. So once a plane was started only the goroutine ends, and every running plane reports it
// through Err.

// lives are the planes of this process that run.
var lives struct {
	sync.Mutex
	any     bool // since the beginning of the process
	running map[*ControlPlane]struct{}
	// words are the last fatal line that was logged.
	words string
}

func init() {
	exit := klog.OsExit
	klog.OsExit = func(code int) {
		lives.Lock()
		if !lives.any {
			lives.Unlock()
			exit(code)
		}
		err := gaveUp(lives.words)
		for c := range lives.running {
			c.fail(err)
		}
		lives.Unlock()
		runtime.Goexit()
	}
}

func (c *ControlPlane) live() {
	lives.Lock()
	defer lives.Unlock()
	if lives.running == nil {
		lives.running = map[*ControlPlane]struct{}{}
	}
	lives.any = true
	lives.running[c] = struct{}{}
}

func (c *ControlPlane) die() {
	lives.Lock()
	defer lives.Unlock()
	delete(lives.running, c)
}

func gaveUp(words string) error {
	if words == "" {
		return errors.New("a Kubernetes component gave up; the log says why")
	}
	return fmt.Errorf("a Kubernetes component gave up: %s", words)
}

// guarded runs f on a goroutine of its own and gives its result, or an error when the goroutine ended without one.
func guarded(f func() error) error {
	result := make(chan error, 1)
	go func() {
		err := errors.New("ended")
		returned := false
		defer func() {
			if !returned {
				lives.Lock()
				err = gaveUp(lives.words)
				lives.Unlock()
			}
			result <- err
		}()
		err = f()
		returned = true
	}()
	return <-result
}
