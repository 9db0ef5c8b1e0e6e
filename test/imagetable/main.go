// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/carillon-dev/carillon/test/runtimes"
)

// heading is that of the table of differences, in the documentation.
const heading = "### What a container of an image sees"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "imagetable:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("imagetable", flag.ContinueOnError)
	carillon := flags.String("carillon", "", "the program, if it is built already")
	docs := flags.String("docs", "docs/differences.md", "where differences are explained")
	busybox := flags.String("busybox", "/bin/busybox", "a busybox that needs no libraries")
	if err := flags.Parse(args); err != nil {
		return err
	}
	text, err := os.ReadFile(*docs)
	if err != nil {
		return err
	}
	explained, err := explanations(string(text), heading)
	if err != nil {
		return fmt.Errorf("%s: %w", *docs, err)
	}
	if missing := runtimes.Missing(); len(missing) > 0 {
		return fmt.Errorf("not installed: %s; make image-table does it", strings.Join(missing, ", "))
	}
	dir, err := os.MkdirTemp("", "table-")
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, os.RemoveAll(dir)) }()
	if *carillon == "" {
		*carillon = filepath.Join(dir, "carillon")
		build := exec.CommandContext(ctx, "go", "build", "-o", *carillon, "./cmd/carillon")
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build carillon: %w", err)
		}
	}
	images := map[string]v1.Image{}
	for name, user := range map[string]string{"root": "", "app": "app"} {
		if images[name], err = newImage(*busybox, user); err != nil {
			return err
		}
	}
	here, err := thisMachine()
	if err != nil {
		return err
	}
	wrote, err := run(ctx, dir, *carillon, images)
	if err != nil {
		return err
	}
	seen := map[string][]string{} // by row, the values in the order of the columns
	for name, outputs := range wrote {
		for i, column := range columns {
			for row, value := range here.read(outputs[column]) {
				if name != "root" {
					row = "USER " + name + ": " + row
				}
				if seen[row] == nil {
					seen[row] = slices.Repeat([]string{"–"}, len(columns))
				}
				seen[row][i] = value
			}
		}
	}
	return show(out, seen, explained)
}

// show prints the table, the differences first, and fails for those that nobody explains.
func show(out io.Writer, seen map[string][]string, explained []explanation) error {
	var wrong []error
	var same, different []string
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		values := seen[name]
		if !slices.Contains(values[1:], values[0]) {
			if why := unexplained(explained, strings.TrimPrefix(name, "USER app: "), values[0]); why != "" && unexplained(explained, name, values[0]) != "" {
				wrong = append(wrong, fmt.Errorf("%s, which is %q and otherwise %q, %s", name, values[0], values[1:], why))
			}
		}
		if slices.ContainsFunc(values, func(v string) bool { return v != values[0] }) {
			different = append(different, name)
		} else {
			same = append(same, name)
		}
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(table, "%d of %d rows differ\t%s\n", len(different), len(seen), strings.Join(columns, "\t"))
	for _, name := range different {
		fmt.Fprintf(table, "%s\t%s\n", name, strings.Join(seen[name], "\t"))
	}
	fmt.Fprintf(table, "\nthe same under all:\t\n")
	for _, name := range same {
		fmt.Fprintf(table, "%s\t%s\n", name, seen[name][0])
	}
	return errors.Join(append(wrong, table.Flush())...)
}
