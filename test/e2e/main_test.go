// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// carillon is the path of the program under test.
var carillon string

func TestMain(m *testing.M) {
	flag.Parse()
	catchWhatIsIgnored()
	if testing.Short() {
		fmt.Println("skipped: end-to-end tests take some minutes (-short)")
		return
	}
	os.Exit(run(m))
}

// catchWhatIsIgnored makes the programs under test start with the usual actions for the signals that these tests send,
// also where the tests themselves run in the background of a script, which ignores SIGINT, or under nohup: what a
// process ignores its children do, too, and what it catches they do not.
func catchWhatIsIgnored() {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "carillon-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// A path of this run alone, so that processes of the program that are left
	// behind can be told from those of anything else.
	carillon = filepath.Join(dir, "carillon")
	if given := os.Getenv("CARILLON_BIN"); given != "" {
		err = copyFile(given, carillon)
	} else {
		build := exec.Command("go", "build", "-o", carillon, "../../cmd/carillon")
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the program under test:", err)
		return 1
	}
	return m.Run()
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}
