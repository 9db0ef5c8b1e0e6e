// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package ended

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Add makes the entry of a container. log is the path of the file that it wrote to last, ".../0.log", or "" if it has
// no log; rotated files beside it ("0.log.DATE", "0.log.DATE.gz") belong to it. Of the Pod's labels those are kept that
// name its Job, and those of Carillon and Volcano.
//
// It takes a few system calls and waits for nothing; it is not durable against a loss of power, only against the end of
// this process. An entry that is there already stays as it is. After an error there is no entry, or, if files of the
// log could not be linked (they are on another filesystem, say), one without them; the user is told once.
func (d *Dir) Add(c Container, log string) error {
	if !validID(c.ID) {
		return fmt.Errorf("%q is not the ID of a container", c.ID)
	}
	if c.Ended.IsZero() {
		return fmt.Errorf("container %s has not ended", c.ID)
	}
	d.mu.Lock()
	_, known := d.entries[c.ID]
	d.mu.Unlock()
	if known {
		return nil
	}
	c.Started, c.Ended = c.Started.UTC(), c.Ended.UTC()
	c.Pod.Labels = namingLabels(c.Pod.Labels)

	size, linked, err := d.make(c, log)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.warnOnce(&d.toldRecords, "how containers end, and what they wrote, cannot be kept for the journal (runs go on): %v", err)
		return fmt.Errorf("keeping how container %s ended: %w", c.ID, err)
	}
	d.toldRecords = false
	if _, known := d.entries[c.ID]; !known {
		d.entries[c.ID] = entry{c.Ended, size}
		d.bytes += size
		d.keepBounds()
	}
	d.tell()
	if linked != nil {
		d.warnOnce(&d.toldLinks, "what containers wrote cannot be kept for the journal: %v", linked)
		return fmt.Errorf("keeping the log of container %s: %w", c.ID, linked)
	}
	d.toldLinks = false
	return nil
}

// warnOnce tells the user once, until *told is false again. The caller holds the lock.
func (d *Dir) warnOnce(told *bool, format string, args ...any) {
	if !*told {
		*told = true
		d.opts.Warn(fmt.Sprintf(format, args...))
	}
}

// make makes an entry under a temporary name and gives it its own. linked is why files of the log are not in it.
func (d *Dir) make(c Container, log string) (size int64, linked, err error) {
	tmp := temporary(c.ID)
	if err := d.root.Mkdir(tmp, 0o700); err != nil {
		return 0, nil, err
	}
	defer func() {
		if err != nil {
			_ = d.root.RemoveAll(tmp) // Open does it if this does not
		}
	}()
	at, err := d.root.Open(tmp)
	if err != nil {
		return 0, nil, err
	}
	defer at.Close()
	stage("begun")
	c.Logs = nil
	if log != "" {
		c.Logs, size, linked = linkLog(log, at)
	}
	stage("linked")
	b, err := c.encode()
	if err != nil {
		return 0, nil, err
	}
	if err := d.root.WriteFile(filepath.Join(tmp, recordFile), b, 0o600); err != nil {
		return 0, nil, err
	}
	stage("recorded")
	if err := d.root.Rename(tmp, c.ID); err != nil {
		if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
			_ = d.root.RemoveAll(tmp) // another call was faster
			return size, linked, nil
		}
		return 0, nil, err
	}
	stage("named")
	return size, linked, nil
}

// stage is called between the steps of Add. Tests end the process there.
var stage = func(string) {}

// temporary is a name for what is not an entry yet, or no longer.
func temporary(id string) string { return "." + id + "." + rand.Text() }

// linkPasses is how often the files of a log are looked for: while they are, the kubelet may give one another name.
const linkPasses = 10

// linkLog gives the files of a log a name more in the directory at, and tells their names, the oldest first, and how
// many bytes they have.
func linkLog(log string, at *os.File) (names []string, size int64, err error) {
	if !isLogName(filepath.Base(log)) {
		return nil, 0, fmt.Errorf("%s is no name of a log", log)
	}
	dir, err := os.OpenFile(filepath.Dir(log), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil // it was removed with its Pod, while nobody was here
	}
	if err != nil {
		return nil, 0, err
	}
	defer dir.Close()
	for pass := 1; ; pass++ {
		var changed bool
		names, size, changed, err = linkFiles(dir, filepath.Base(log), at)
		if !changed || pass == linkPasses {
			return names, size, err
		}
		// What was linked may be there once more, packed.
		for _, name := range names {
			if err := unix.Unlinkat(int(at.Fd()), name, 0); err != nil {
				return nil, 0, &os.PathError{Op: "remove", Path: filepath.Join(at.Name(), name), Err: err}
			}
		}
	}
}

// linkFiles links what is there of a log now. changed says that some of it got another name meanwhile.
func linkFiles(dir *os.File, log string, at *os.File) (names []string, size int64, changed bool, err error) {
	found, changed, err := logFiles(dir, log)
	for _, f := range found {
		lerr := unix.Linkat(int(dir.Fd()), f.name, int(at.Fd()), f.name, 0)
		switch {
		case lerr == nil:
			names = append(names, f.name)
			size += f.info.Size()
		case errors.Is(lerr, fs.ErrNotExist):
			changed = true
		case err == nil:
			err = &os.LinkError{Op: "link", Old: filepath.Join(dir.Name(), f.name), New: filepath.Join(at.Name(), f.name), Err: lerr}
		}
	}
	return names, size, changed, err
}
