// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/plan/lint"
)

// rounds is how often fixes are applied: one may make room for another.
const rounds = 4

// applyFixes mends the files, or shows how with --dry-run, and gives what is left to report. Files that could not be
// written are told in unwritten; the others are written all the same.
func (l *lintCommand) applyFixes(ctx context.Context, report *lint.Report, texts map[string]string) (left *lint.Report, unwritten []error, err error) {
	failed := map[string]bool{}
	for range rounds {
		mended := 0
		for _, file := range distinct(report.FixFiles()) {
			text, done := lint.Fix(report, file)
			if len(done) == 0 || failed[file] {
				continue
			}
			if l.dryRun {
				writeEscaped(l.Out, lint.Diff(file, texts[file], text))
				mended += len(done)
				continue
			}
			if err := replaceFile(file, texts[file], text); err != nil {
				failed[file] = true
				unwritten = append(unwritten, fmt.Errorf("--fix %s: nothing was written: %w", file, err))
				continue
			}
			mended += len(done)
			for _, f := range done {
				fmt.Fprintln(l.Out, console.EscapeControls(fmt.Sprintf("%s:%d: %s: mended %s: %s", f.File, f.Line, f.Name(), f.Rule.ID, whatWasWritten(f))))
			}
		}
		if mended > 0 {
			fmt.Fprintln(l.Out)
		}
		if mended == 0 || l.dryRun {
			break
		}
		if report, texts, err = l.lint(ctx); err != nil {
			return nil, nil, err
		}
	}
	return report, unwritten, nil
}

// whatWasWritten is what a fix has written.
func whatWasWritten(f lint.Finding) string {
	var changes []string
	for _, c := range f.Changes {
		changes = append(changes, c.String())
	}
	return strings.Join(changes, ", ")
}

// distinct leaves one name of each file: the others lead to the same one.
func distinct(files []string) []string {
	var known []fs.FileInfo
	return slices.DeleteFunc(files, func(file string) bool {
		info, err := os.Stat(file)
		if err != nil {
			return false // which its write will tell
		}
		if slices.ContainsFunc(known, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
			return true
		}
		known = append(known, info)
		return false
	})
}

// replaceFile writes another text in place of one, whole or not at all, with the same permissions and, where that is
// allowed, the same owner. A link stays, and the file that it leads to is written. It refuses what somebody has changed
// meanwhile or protected, and a file with other names, which would go on leading to the old text.
func replaceFile(name, before, after string) error {
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return reason(err)
	}
	info, err := os.Stat(target)
	if err != nil {
		return reason(err)
	}
	status, _ := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode().Perm()&0o200 == 0:
		return fmt.Errorf("it is read-only (mode %04o); chmod u+w lets --fix write it", info.Mode().Perm())
	case status != nil && status.Nlink > 1:
		return fmt.Errorf("it has %d names (hard links), and the others would keep the old text; mend it by hand", status.Nlink)
	}
	if now, err := os.ReadFile(target); err != nil || string(now) != before {
		return errors.New("it has changed meanwhile; run the command again")
	}
	file, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".lint-*")
	if err != nil {
		return fmt.Errorf("no file can be made in its directory: %w", reason(err))
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it is gone when all went well
	_, err = file.WriteString(after)
	if err == nil && status != nil {
		_ = file.Chown(int(status.Uid), int(status.Gid)) // only root may give a file away
	}
	if err == nil {
		err = file.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = file.Sync()
	}
	if failed := file.Close(); err == nil {
		err = failed
	}
	if err == nil {
		err = os.Rename(file.Name(), target)
	}
	return reason(err)
}

// reason is what went wrong with a file, without names: that of the file is told, and nobody knows the temporary one.
func reason(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	return err
}
