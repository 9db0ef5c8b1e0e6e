// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// EndsLeft tells of the containers whose end TellEnds could not tell.
type EndsLeft struct {
	// Alive run still. Unknown have ended, as it seems, and which Pod's they were cannot be read.
	Alive, Unknown int
}

// TellEnds tells ended of the containers that have ended while no Runtime ran, and of which none was told: as the next
// Runtime on rootDir would at its start, and for who cannot wait for that. None may run meanwhile. Nothing is ended or
// removed. logDir is that of Options. The first error of ended, or of the files, is returned when all were looked at.
func TellEnds(rootDir, logDir string, ended func(ContainerEnd) error) (left EndsLeft, err error) {
	var errs []error
	r := &Runtime{log: logr.Discard(), sandboxes: map[string]*sandbox{}, opts: Options{RootDir: rootDir, LogDir: logDir, Ended: func(e ContainerEnd) error {
		err := ended(e)
		errs = append(errs, err)
		return err
	}}}
	for _, dir := range []string{r.sandboxesDir(), r.containersDir()} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return left, err
		}
		for _, e := range entries {
			switch {
			case !e.IsDir() || !validID(e.Name()):
			case dir == r.sandboxesDir():
				b, err := shim.ReadRecord(filepath.Join(dir, e.Name()), sandboxFile)
				if err != nil {
					continue // what containers know of it is used
				}
				if s, err := parseSandbox(b); err == nil && s.rec.ID == e.Name() {
					r.sandboxes[e.Name()] = s
				}
			default:
				if err := r.tellLeft(filepath.Join(dir, e.Name()), &left); err != nil {
					errs = append(errs, fmt.Errorf("look how container %s ended: %w", e.Name(), err))
				}
			}
		}
	}
	return left, errors.Join(errs...)
}

// tellLeft tells of one container.
func (r *Runtime) tellLeft(dir string, left *EndsLeft) error {
	exit, err := shim.ReadExit(dir)
	if err != nil {
		lock, err := shim.Lock(dir)
		if errors.Is(err, unix.EWOULDBLOCK) {
			left.Alive++
			return nil
		}
		if err != nil {
			return err
		}
		defer lock.Close()
		if exit, err = shim.RecoverExit(dir); errors.Is(err, fs.ErrNotExist) && !shim.MayHaveRun(dir) {
			return nil // it has not begun
		}
		if err != nil {
			exit = lostExit()
		}
	}
	c := r.readLeft(dir)
	if c == nil {
		left.Unknown++
		return nil
	}
	if exit.StartedAt == 0 {
		exit.StartedAt = startTime(c)
	}
	r.tell(c, exit)
	return nil
}

// readLeft reads a container's record or its copy; nil says that neither can be read.
func (r *Runtime) readLeft(dir string) *container {
	b, err := shim.ReadRecord(dir, containerFile)
	if err == nil {
		if c := r.parseLeft(b, dir); c != nil {
			return c
		}
	}
	if m, err := shim.ReadStartMark(dir); err == nil && len(m.Record) > 0 {
		return r.parseLeft(m.Record, dir)
	}
	return nil
}

func (r *Runtime) parseLeft(b []byte, dir string) *container {
	c, err := parseContainer(b)
	if err != nil || c.rec.ID != filepath.Base(dir) || c.rec.LogPath != "" && r.opts.LogDir != "" && !inside(c.rec.LogPath, r.opts.LogDir) {
		return nil
	}
	c.dir = dir
	return c
}

// lostExit is the end of a container whose shim vanished without telling, after the mark.
func lostExit() shim.Exit {
	return shim.Exit{
		ExitCode: 255, FinishedAt: time.Now().UnixNano(), Reason: "ContainerStatusUnknown",
		Message: "the process that supervised the container was killed, or the machine went down; how the command ended is not known, it is not started again",
	}
}
