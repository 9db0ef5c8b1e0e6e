// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// A record that cannot be read (a disk that failed, an editor) must not make a
// container unknown that runs: the kubelet, which finds none, would start its
// command a second time beside the first. So there are copies: a container's
// mark holds its record, and a container's record that of its sandbox. Where
// the copy is gone, too, the shim is stopped before the container is forgotten.

// readContainer reads the record of the container in dir, or its copy. It
// returns nil when there is no container in dir any more, or none that anybody
// can know.
func (r *Runtime) readContainer(dir, id string) *container {
	b, err := shim.ReadRecord(dir, containerFile)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing {
		// As a rule a crash before the record was made, or while the container
		// was being removed, which takes the record away first.
		if lock, err := shim.Lock(dir); err == nil {
			_ = r.removeTree(dir)
			lock.Close()
			return nil
		}
	}
	if err == nil {
		var c *container
		if c, err = r.parseRecord(b, id); err == nil {
			return c
		}
	}
	if m, merr := shim.ReadStartMark(dir); merr == nil && len(m.Record) > 0 {
		if c, cerr := r.parseRecord(m.Record, id); cerr == nil {
			r.log.Error(err, "a container record can not be read; its copy is used", "directory", dir)
			if err := shim.WriteRecord(dir, containerFile, c.rec); err != nil {
				r.log.Error(err, "writing the container record anew", "directory", dir)
			}
			return c
		}
	}
	r.endUnknown(dir, err)
	return nil
}

// parseRecord parses a record and checks that it is the container's, and names
// nothing but what is the container's.
func (r *Runtime) parseRecord(b []byte, id string) (*container, error) {
	c, err := parseContainer(b)
	if err == nil && c.rec.ID != id {
		err = fmt.Errorf("it names the ID %q", c.rec.ID)
	}
	if err == nil {
		err = r.checkPaths(&c.rec)
	}
	if err != nil {
		return nil, err
	}
	c.dir = filepath.Join(r.containersDir(), id)
	return c, nil
}

// unidentifiedTimeout is how long the shim of an unknown container gets to end when it
// is told to, and again when it is killed. Tests shorten it.
var unidentifiedTimeout = killSlack

// endUnknown ends a container of which nothing can be known: its shim, if one
// lives, is told to, and killed if it does not. Only then does the rest of the
// Runtime start, which may start the same command again.
func (r *Runtime) endUnknown(dir string, why error) {
	const left = "a container record can not be read, nor a copy of it; the container is left alone: remove the directory when you have seen what it was"
	if lock, err := shim.Lock(dir); err == nil {
		defer lock.Close()
		if _, err := shim.RecoverExit(dir); errors.Is(err, fs.ErrNotExist) && !shim.MayHaveRun(dir) {
			_ = r.removeTree(dir) // it never ran
			return
		}
		r.log.Error(why, left, "directory", dir)
		return
	}
	// Who answers at the socket in a directory that only we may enter is its
	// shim. One that does not answer must prove it otherwise.
	_ = shim.Stop(dir, unix.SIGKILL, 0)
	if !unlockedWithin(dir, unidentifiedTimeout) {
		if id, err := shim.ReadIdentity(dir); err == nil {
			id.Kill(dir)
		}
		if !unlockedWithin(dir, unidentifiedTimeout) {
			r.log.Error(why, "a container runs whose record can not be read, and who runs it can not be told; no other container is created until it has ended", "directory", dir)
			r.unidentified = append(r.unidentified, dir)
			return
		}
	}
	r.log.Error(why, left+"; it was running and was stopped", "directory", dir)
}

// unlockedWithin waits until the lock of dir is free.
func unlockedWithin(dir string, atMost time.Duration) bool {
	for end := time.Now().Add(atMost); ; {
		lock, err := shim.Lock(dir)
		if err == nil {
			lock.Close()
			return true
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			return false
		}
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // at the start of the Runtime, which goes on when it is known
	}
}

// checkUnidentified refuses to create a container while one runs that nobody knows: it
// may be the same. The caller holds the lock.
func (r *Runtime) checkUnidentified() error {
	for len(r.unidentified) > 0 {
		lock, err := shim.Lock(r.unidentified[0])
		if errors.Is(err, unix.EWOULDBLOCK) {
			return status.Errorf(codes.Unavailable, "a container whose record can not be read runs in %s, and may be this one: end the process that holds the file %s there", r.unidentified[0], shim.LockFile)
		}
		if err == nil {
			lock.Close()
		}
		r.unidentified = r.unidentified[1:]
	}
	return nil
}

// restoreSandbox takes the sandbox of a container from the container's record
// when its own can not be read: without it the kubelet would make a new one,
// and the container again in it.
func (r *Runtime) restoreSandbox(c *container) {
	rec := c.rec.SandboxRecord
	if rec == nil || r.sandboxes[rec.ID] != nil {
		return
	}
	s, err := newSandbox(*rec)
	if err == nil {
		err = writeSandbox(filepath.Join(r.sandboxesDir(), rec.ID), s.rec)
	}
	if err != nil {
		r.log.Error(err, "the sandbox of a container can not be restored", "container", c.rec.ID)
	}
	if s != nil {
		r.sandboxes[rec.ID] = s
	}
}
