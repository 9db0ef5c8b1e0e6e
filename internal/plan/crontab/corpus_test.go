// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/plan/crontab"
	"github.com/carillon-dev/carillon/internal/plan/document"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

var update = flag.Bool("update", false, "write the golden files anew")

var now = time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC)

// accounts are the users of the machine of these tests.
func accounts(name string) (crontab.Account, bool) {
	known := map[string]crontab.Account{
		"root": {UID: 0, Home: "/root"}, "www-data": {UID: 33, Home: "/var/www"}, "postgres": {UID: 112, Home: "/var/lib/postgresql"},
		"list": {UID: 38, Home: "/var/list"}, "munin": {UID: 118, Home: "/var/lib/munin"}, "backup": {UID: 34, Home: "/var/backups"},
		"operator": {UID: 2, Home: "/"}, "mail": {UID: 8, Home: "/var/mail"},
	}
	account, ok := known[name]
	return account, ok
}

func options(file string) crontab.Options {
	return crontab.Options{File: file, Zone: "Europe/Berlin", Now: now, Account: accounts, User: "ines", Home: "/home/ines"}
}

// A failer is a test, or a draw of one.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// load reads a manifest as commands do, and wants each object of it to be one that can run.
func load(t failer, text []byte) *workload.Objects {
	t.Helper()
	loaded, err := manifest.Load(context.Background(), []string{"-"}, bytes.NewReader(text), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var objects []workload.Object
	for _, o := range loaded {
		objects = append(objects, workload.Object{Content: o.Unstructured, Source: o.Source.String()})
	}
	all, err := workload.Read(objects, workload.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, s := range all.Scheduled {
		if s.Obstacle() != "" {
			t.Errorf("%s: %s", s, s.Obstacle())
		}
	}
	return all
}

func write(t failer, got crontab.Result) []byte {
	t.Helper()
	text, err := document.Write(got.Head, got.Documents, got.Tail)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Crontabs as the world writes them become objects that can run, in the order of their lines, and what there is to tell
// of them is told.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	entries := 0
	for _, file := range files {
		if ext := filepath.Ext(file); ext != ".user" && ext != ".system" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := crontab.Convert(string(text), options(file))
			entries += len(got.Documents) + len(got.Faults)
			manifest := write(t, got)
			if all := load(t, manifest); len(all.Scheduled) != len(got.Documents) {
				t.Errorf("%d objects were read of %d", len(all.Scheduled), len(got.Documents))
			}
			golden(t, file+".yaml", manifest)
			var told strings.Builder
			for _, note := range document.Group(got.Notes) {
				fmt.Fprintln(&told, note)
			}
			for _, fault := range got.Faults {
				fmt.Fprintln(&told, "error:", fault)
			}
			golden(t, file+".notes", []byte(told.String()))
		})
	}
	if entries < 220 && !t.Failed() {
		t.Errorf("there are %d entries, want at least 220", entries)
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", file, diff)
	}
}
