// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/output"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/zones"
	"github.com/carillon-dev/carillon/internal/plan/lint"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/version"
)

// lintCommand is the command that finds what is wrong with manifests.
type lintCommand struct {
	Streams
	now    func() time.Time
	input  input
	format string
	level  string // the least level that is shown
	failOn string // the least level that fails the command
	only   []string
	ignore []string
	rules  bool
	fix    bool
	dryRun bool
	zone   string
}

const noLevel = "none"

func newLint(streams Streams) *cobra.Command { return newLintAt(streams, time.Now) }

// newLintAt is newLint with a clock.
func newLintAt(streams Streams, now func() time.Time) *cobra.Command {
	l := &lintCommand{Streams: streams, now: now, format: "text", level: lint.Warning.String(), failOn: lint.Error.String()}
	cmd := &cobra.Command{
		Use:   "lint [-f FILE|DIR|-]…",
		Short: "Find what is wrong with manifests before anything runs",
		Long: `Find what is wrong with CronJobs, Timetables and Jobs before they run: schedules that cannot be read or
never fire, runs that pile up or block each other, evidence that is thrown away, templates that the API
server refuses, herds that start in one minute. Each finding names its line, the rule, the reason and
the cure.

Levels: error cannot work as it is written, warning will hurt one day, info is worth knowing. Shown are
warnings and errors (--level). Exit code 0: nothing of the level error was found (--fail-on). 1: something
was. 2: the command or a manifest is at fault.

--fix applies the cures that need no thought, and keeps comments, order and layout; with --dry-run it
shows what it would do. A rule is suppressed with a reason, by an annotation of the object or by a
comment above the field or the whole object:

  carillon.dev/lint-ignore: "herd: nothing else runs on this cluster"
  # carillon-lint ignore=no-time-zone: the cluster runs in UTC

lint --rules lists all rules, lint --rules ID explains one. Without a file the CronJobs and Timetables of
the cluster are looked at.`,
		Example: `  carillon lint -f manifests/
  carillon lint -f manifests/ --fix --dry-run
  carillon lint -f backup.yaml --fix --fix-zone Europe/Berlin
  carillon lint -f manifests/ --level info --ignore no-memory-limit
  carillon lint -f manifests/ -o sarif > lint.sarif
  carillon lint --context production -A --fail-on none
  carillon lint --rules herd`,
		RunE: func(cmd *cobra.Command, args []string) error { return l.run(cmd.Context(), args) },
		ValidArgsFunction: func(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			if l.rules {
				return ruleIDs(), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	l.input.add(cmd)
	l.input.keepUnreadable = true
	flags := cmd.Flags()
	levels := append([]string{noLevel}, lint.Levels...)
	flags.VarP(&oneOf{&l.format, "format", []string{"text", "json", "sarif", "junit"}}, "output", "o", "text for people, json for programs (docs/planning.md), sarif (2.1.0) or junit for CI systems")
	flags.Var(&oneOf{&l.level, "level", lint.Levels}, "level", "least level that is shown: info, warning or error")
	flags.Var(&oneOf{&l.failOn, "level", levels}, "fail-on", "least level that makes the exit code 1: info, warning, error, or none")
	flags.StringSliceVar(&l.only, "select", nil, "ids of the only rules to ask, comma-separated")
	flags.StringSliceVar(&l.ignore, "ignore", nil, "ids of rules not to ask, comma-separated")
	flags.BoolVar(&l.rules, "rules", false, "list all rules, or explain those that are named")
	flags.BoolVar(&l.fix, "fix", false, "apply the cures that need no thought to the files")
	flags.BoolVar(&l.dryRun, "dry-run", false, "with --fix: write nothing, show what would change")
	flags.StringVar(&l.zone, "fix-zone", "", "with --fix: write this time zone into CronJobs that name none")
	complete := func(flag string, words []string) {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	complete("output", []string{"text", "json", "sarif", "junit"})
	complete("level", lint.Levels)
	complete("fail-on", levels)
	complete("select", ruleIDs())
	complete("ignore", ruleIDs())
	_ = cmd.RegisterFlagCompletionFunc("fix-zone", zones.Complete)
	return cmd
}

// oneOf is the value of a flag that is one of some words.
type oneOf struct {
	value *string
	what  string
	words []string
}

func (o *oneOf) Type() string { return o.what }

func (o *oneOf) String() string {
	if o.value == nil {
		return ""
	}
	return *o.value
}

func (o *oneOf) Set(text string) error {
	if !slices.Contains(o.words, text) {
		return fmt.Errorf("it is one of %s", strings.Join(o.words, ", "))
	}
	*o.value = text
	return nil
}

func ruleIDs() []string {
	var ids []string
	for _, r := range lint.Rules {
		ids = append(ids, r.ID)
	}
	return ids
}

func (l *lintCommand) run(ctx context.Context, args []string) error {
	if l.rules {
		return l.showRules(args)
	}
	if len(args) > 0 {
		return exitcode.UsageError("files are named with -f: carillon lint -f %s", strings.Join(args, " -f "))
	}
	if err := l.check(); err != nil {
		return err
	}
	report, texts, err := l.lint(ctx)
	if err != nil {
		return err
	}
	var unwritten []error
	if l.fix {
		if report, unwritten, err = l.applyFixes(ctx, report, texts); err != nil {
			return err
		}
	}
	if err := l.write(report); err != nil {
		return err
	}
	if len(unwritten) > 0 {
		return &exitcode.Error{Code: exitcode.Usage, Err: errors.Join(unwritten...)}
	}
	if least, ok := lint.ParseLevel(l.failOn); ok && report.Worst() >= least {
		return &exitcode.Error{Code: exitcode.Failed}
	}
	return nil
}

// check tells what is wrong with the flags.
func (l *lintCommand) check() error {
	for _, id := range slices.Concat(l.only, l.ignore) {
		if err := knownRule(id); err != nil {
			return err
		}
	}
	switch {
	case l.dryRun && !l.fix:
		return exitcode.UsageError("--dry-run belongs to --fix; without that lint changes nothing anyway")
	case l.zone != "" && !l.fix:
		return exitcode.UsageError("--fix-zone belongs to --fix")
	case l.fix && len(l.input.files) == 0:
		return exitcode.UsageError("--fix mends files: name them with -f")
	case l.fix && slices.Contains(l.input.files, "-"):
		return exitcode.UsageError("--fix mends files, and standard input is none")
	case l.fix && !l.dryRun && l.format != "text":
		return exitcode.UsageError("--fix speaks to people: run it first, and -o %s after it", l.format)
	case l.fix && l.dryRun && l.format != "text":
		return exitcode.UsageError("--fix --dry-run shows a diff, which is text")
	}
	if l.zone != "" {
		if why := lint.RefusedZone(l.zone); why != "" {
			return exitcode.UsageError("--fix-zone %s: %s; write a name of the tz database, such as Europe/Berlin", l.zone, why)
		}
	}
	return nil
}

// knownRule tells that there is no rule with an id, and which one may be meant.
func knownRule(id string) error {
	if lint.Find(id) != nil {
		return nil
	}
	if near := lint.Nearest(id); near != "" {
		return exitcode.UsageError("there is no rule %q; did you mean %s? lint --rules lists all", id, near)
	}
	return exitcode.UsageError("there is no rule %q; lint --rules lists all", id)
}

// lint reads what was named and asks the rules. The texts are those of the files.
func (l *lintCommand) lint(ctx context.Context) (*lint.Report, map[string]string, error) {
	var stdin bytes.Buffer
	streams := l.Streams
	if streams.In != nil {
		streams.In = io.TeeReader(streams.In, &stdin)
	}
	objects, err := l.input.load(ctx, streams, func(line string) { fmt.Fprintln(l.Err, console.EscapeControls(line)) })
	if err != nil {
		return nil, nil, err
	}
	texts := map[string]string{}
	if slices.Contains(l.input.files, "-") {
		texts["stdin"] = stdin.String()
	}
	for _, file := range filesOf(objects) {
		if _, known := texts[file]; known {
			continue
		}
		if text, ok := textOf(file); ok {
			texts[file] = text
		}
	}
	asked := admission{definitions: map[string]*definition{}}
	refusals := func(o *unstructured.Unstructured) []lint.Refusal { return asked.refusals(ctx, o) }
	return lint.Check(objects, lint.Options{Now: l.now(), Texts: texts, Only: l.only, Without: l.ignore, Zone: l.zone, Refusals: refusals}), texts, nil
}

// filesOf are the files that objects come from.
func filesOf(objects *workload.Objects) []string {
	var files []string
	seen := map[string]bool{"": true} // of what an API server gave
	add := func(o workload.Object) {
		if !seen[o.File] {
			seen[o.File] = true
			files = append(files, o.File)
		}
	}
	for _, s := range objects.Scheduled {
		add(s.Object)
	}
	for _, o := range slices.Concat(objects.Jobs, objects.Others) {
		add(o)
	}
	for _, o := range objects.Unreadable {
		add(o.Object)
	}
	return files
}

// textOf reads a file once more, for the lines of its fields. What is no file of the disk cannot be read twice.
func textOf(file string) (string, bool) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	text, err := os.ReadFile(file)
	return string(text), err == nil
}

// fixAdvice is what to do about findings that --fix mends: none after it has been at work.
func (l *lintCommand) fixAdvice() string {
	switch {
	case l.dryRun:
		return "--fix without --dry-run mends %d of them."
	case l.fix:
		return ""
	}
	return "--fix mends %d of them; --fix --dry-run shows how."
}

// write writes the report in the form that was asked for.
func (l *lintCommand) write(report *lint.Report) error {
	least, _ := lint.ParseLevel(l.level)
	failing, _ := lint.ParseLevel(l.failOn)
	if l.failOn == noLevel {
		failing = 0
	}
	shown, hidden := report.AtLeast(least)
	var text []byte
	var err error
	switch l.format {
	case "json":
		return output.WriteJSON(l.Out, lintDocumentOf(shown))
	case "sarif":
		text, err = lint.SARIF(shown, version.String())
		text = append(text, '\n')
	case "junit":
		text, err = lint.JUnit(shown, failing)
	default:
		writeEscaped(l.Out, lintText(shown, hidden, output.WidthOf(l.Out), l.fixAdvice()))
		return nil
	}
	if err != nil {
		return err
	}
	_, err = l.Out.Write(text)
	return err
}
