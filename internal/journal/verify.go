// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"

	"modernc.org/sqlite"
)

// Verify reads all of the journal in dir, to which nobody writes, and tells what is damaged; IsDamage knows such an
// error. The error is ErrNone if there is no journal.
func Verify(ctx context.Context, dir string) error {
	files, err := openDirectory(dir)
	if err != nil {
		return err
	}
	defer files.close()
	o, err := openFile(files)
	if err != nil {
		// Without what to do with a journal in its place: this may be a copy.
		var found *damagedError
		var said *sqlite.Error
		switch {
		case errors.As(err, &found):
			return found
		case isDamage(err) && errors.As(err, &said):
			return said
		}
		return err
	}
	return errors.Join(o.verifyWhole(ctx, files.database()), o.close())
}

// IsDamage tells whether an error of this package says that a journal's file is damaged.
func IsDamage(err error) bool { return isDamage(err) }
