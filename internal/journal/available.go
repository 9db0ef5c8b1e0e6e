// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// availability is whether a journal can be written to.
type availability struct {
	down   bool
	warned bool
	retry  time.Time // when it is tried again
	why    error
}

// retryAfter is how long nothing is tried after a failure, so that callers are not kept waiting on a disk that is full.
const retryAfter = 3 * time.Second

// noSpaceError: less is free than is left to others.
type noSpaceError struct{ free int64 }

func (e *noSpaceError) Error() string {
	return fmt.Sprintf("only %d MiB are free on its disk", e.free>>20)
}

func isUnavailable(err error) bool { return errors.Is(err, ErrUnavailable) }

// enough looks whether the disk has more room than the journal leaves to others.
func (w *writer) enough() error {
	free, err := w.limits.free(w.files.path)
	if err == nil && free < w.limits.reserve {
		return &noSpaceError{free}
	}
	return nil // a disk that does not tell is found full by writing
}

// attempt has f write, and tells ErrUnavailable from errors of f's own. A file found damaged is set aside, and f gets
// another try on the new one.
func (w *writer) attempt(f func() error) error {
	if w.state.down && w.o.Now().Before(w.state.retry) {
		return fmt.Errorf("%w: %w", ErrUnavailable, w.state.why)
	}
	err := w.tryUnlocked(f)
	if isDamage(err) {
		if aside := w.setAside(err); aside != nil {
			err = &filesError{aside}
		} else {
			err = w.tryUnlocked(f)
		}
	}
	var space *noSpaceError
	if isOutside(err) || isDamage(err) || errors.As(err, &space) {
		w.fail(err)
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

const (
	// lockWait is how long SQLite waits for another's lock. lockTries is how often that is done for one call, and after
	// warnTries the user is told. Between two tries Close is listened to.
	lockWait             = time.Second
	lockTries, warnTries = 10, 5
	// closeWait is the same of the last steps of Close, which are not needed.
	closeWait = 250 * time.Millisecond
)

// tryUnlocked tries again while another process has the lock.
func (w *writer) tryUnlocked(f func() error) error {
	for tries := 1; ; tries++ {
		err := w.tryOnce(f)
		if !isBusy(err) {
			return err
		}
		if tries >= warnTries {
			w.warn(fmt.Sprintf("Another process keeps the journal of runs, %s, locked (a stopped carillon backup, or a shell of SQLite, "+
				"say: fuser tells which); runs go on, and are recorded when it lets go.", w.files.database()))
		}
		if tries == lockTries || w.isClosing() {
			return err
		}
	}
}

func (w *writer) isClosing() bool {
	select {
	case <-w.closing:
		return true
	default:
		return false
	}
}

func (w *writer) tryOnce(f func() error) error {
	w.followFile()
	if w.d == nil {
		err := w.open()
		if isBusy(err) || isDamage(err) {
			return err
		}
		if err != nil {
			return &filesError{err}
		}
	}
	return f()
}

// warn tells the user that the journal cannot be written to, once until it is written to again.
func (w *writer) warn(text string) {
	if !w.state.warned {
		w.state.warned = true
		w.unavailable.Store(true)
		w.o.Warn(text)
	}
}

// fail notes that the journal cannot be written to. Another's lock is waited for anew by the next call.
func (w *writer) fail(err error) {
	if isBusy(err) {
		return
	}
	w.state.down, w.state.why, w.state.retry = true, err, w.o.Now().Add(retryAfter)
	w.o.Logger.V(1).Info("The journal cannot be written to", "error", err.Error())
	// After an error of the disk what the connection has in memory may differ from the file.
	var space *noSpaceError
	if w.d != nil && !errors.As(err, &space) {
		_ = w.d.close() // the error that made it useless is the one to tell
		w.d = nil
	}
	w.warn(fmt.Sprintf("The journal of runs cannot be written to (%s); runs go on, but are not remembered. %s", err, w.cure(err)))
}

// cure says what the user can do.
func (w *writer) cure(err error) string {
	var space *noSpaceError
	if errors.As(err, &space) || code(err) == sqlite3.SQLITE_FULL {
		return fmt.Sprintf("Free space on the disk of %s (it is used down to %d MiB), or keep less: --keep-logs, --keep-runs.",
			w.dir, w.limits.reserve>>20)
	}
	return fmt.Sprintf("See that the disk of %s is well, and can be written by this user.", w.dir)
}

func (w *writer) recovered() {
	if w.state.warned {
		w.o.Warn("The journal of runs is written to again.")
	}
	w.state = availability{}
	w.unavailable.Store(false)
}
