// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package browser

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

var (
	// carillon is the path of the program under test.
	carillon string
	// browser is a Chromium; nil if there is none.
	browser context.Context
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("skipped: tests in a browser take some minutes (-short)")
		return
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "carillon-browser-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	path := chromium()
	if path == "" {
		fmt.Println("skipped: there is no Chromium on this machine (Debian's package is chromium; CARILLON_CHROMIUM names another)")
		return m.Run()
	}
	if carillon = os.Getenv("CARILLON_BIN"); carillon == "" {
		carillon = filepath.Join(dir, "carillon")
		build := exec.Command("go", "build", "-o", carillon, "../../cmd/carillon")
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "the program under test:", err)
			return 1
		}
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(filepath.Join(dir, "profile")), chromedp.WindowSize(1280, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("lang", "en-GB"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's needs another user
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	var end context.CancelFunc
	browser, end = chromedp.NewContext(allocator)
	defer end()
	if err := chromedp.Do(browser); err != nil {
		fmt.Fprintf(os.Stderr, "%s does not start: %v\n", path, err)
		return 1
	}
	defer stopAll()
	return m.Run()
}

// chromium is the path of a browser, "" if there is none.
func chromium() string {
	for _, name := range []string{os.Getenv("CARILLON_CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// needsBrowser skips a test where there is no browser.
func needsBrowser(t *testing.T) {
	t.Helper()
	if browser == nil {
		t.Skip("needs Chromium (Debian's package is chromium)")
	}
}
