// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/exitcode"
	"github.com/carillon-dev/carillon/internal/plan/lint"
)

// rounds is how often fixes are applied: one may make room for another.
const rounds = 4

// applyFixes mends the files, or shows how with --dry-run, and gives what is left to report.
func (l *lintCommand) applyFixes(ctx context.Context, report *lint.Report, texts map[string]string) (*lint.Report, error) {
	for range rounds {
		files, mended := report.FixFiles(), 0
		for _, file := range files {
			text, done := lint.Fix(report, file)
			if len(done) == 0 {
				continue
			}
			mended += len(done)
			if l.dryRun {
				writeEscaped(l.Out, lint.Diff(file, texts[file], text))
				continue
			}
			if err := replaceFile(file, texts[file], text); err != nil {
				return nil, &exitcode.Error{Code: exitcode.Failed, Err: err}
			}
			for _, f := range done {
				fmt.Fprintln(l.Out, console.EscapeControls(fmt.Sprintf("%s:%d: %s: mended %s: %s", f.File, f.Line, f.Name(), f.Rule.ID, f.Rule.Fix)))
			}
		}
		if mended > 0 {
			fmt.Fprintln(l.Out)
		}
		if mended == 0 || l.dryRun {
			break
		}
		var err error
		if report, texts, err = l.lint(ctx); err != nil {
			return nil, err
		}
	}
	return report, nil
}

// replaceFile writes another text in place of one, whole or not at all, with the same permissions. A link stays, and
// the file that it leads to is written. It refuses when somebody has changed the file meanwhile.
func replaceFile(name, before, after string) error {
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return fmt.Errorf("--fix: %w", err)
	}
	info, err := os.Stat(target)
	if err != nil {
		return fmt.Errorf("--fix: %w", err)
	}
	if now, err := os.ReadFile(target); err != nil || string(now) != before {
		return fmt.Errorf("--fix: %s has changed meanwhile; nothing was written to it, run the command again", name)
	}
	file, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".lint-*")
	if err != nil {
		return fmt.Errorf("--fix: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it is gone when all went well
	_, err = file.WriteString(after)
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
	if err != nil {
		return fmt.Errorf("--fix %s: %w", name, err)
	}
	return nil
}
