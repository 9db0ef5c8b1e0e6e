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
	err := w.tryOnce(f)
	if isDamage(err) {
		if err = w.setAside(err); err == nil {
			err = w.tryOnce(f)
		}
	}
	var space *noSpaceError
	switch {
	case err == nil:
		w.recovered()
	case isOutside(err) || isDamage(err) || errors.As(err, &space):
		w.fail(err)
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

func (w *writer) tryOnce(f func() error) error {
	w.followFile()
	if w.d == nil {
		if err := w.open(); err != nil {
			return err
		}
	}
	return f()
}

// fail notes that the journal cannot be written to. Another's lock is waited for anew and is no reason for a warning.
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
	if !w.state.warned {
		w.state.warned = true
		w.o.Warn(fmt.Sprintf("The journal of runs cannot be written to (%s); runs go on, but are not remembered. %s", err, w.cure(err)))
	}
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
}
