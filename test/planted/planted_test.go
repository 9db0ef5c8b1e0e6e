// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planted_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// simulation is the test that has to find the bugs planted in a package.
type simulation struct {
	// dir is the folder of the test's package, seen from the root of the repository.
	dir string
	// bugs is the folder of the package with the bugs, if that is another one.
	bugs string
	// test is the name of its simulation. fixed: it is an expression for tests that see the same cases in every run.
	test  string
	fixed bool
	// histories is how many random histories it may try before a bug counts as not found. Default 20000. noHistories: the
	// package has no random histories.
	histories   string
	noHistories bool
	// variables are set for it.
	variables []string
}

// bug is one small mistake in one file of the package: the text old, which is
// there exactly once, becomes new. What breaks says which promise suffers.
type bug struct {
	file     string
	old, new string
	breaks   string
}

// histories is how many random histories a simulation tries that does not say
// so; seed is where they begin, so that the answer is the same every time.
const histories, seed = "20000", "1"

// simulate expects the simulation to pass as it is and to fail with each of the
// bugs. That each bug can still be planted is checked in every run; planting
// them all takes half an hour and is asked for.
func simulate(t *testing.T, s simulation, bugs map[string]bug) {
	if s.histories == "" {
		s.histories = histories
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir, places := filepath.Join(root, filepath.FromSlash(s.dir)), filepath.Join(root, filepath.FromSlash(cmp.Or(s.bugs, s.dir)))
	t.Run("every bug has its place", func(t *testing.T) {
		for _, name := range slices.Sorted(maps.Keys(bugs)) {
			if _, _, err := bugs[name].place(places); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	if os.Getenv("CARILLON_PLANTED") == "" {
		t.Skip("compiles the package once per planted bug; set CARILLON_PLANTED=1 to run it")
	}
	t.Run("nothing planted", func(t *testing.T) {
		if output, err := s.run(t, dir, s.build(t, dir, "")); err != nil {
			t.Fatalf("%s fails as it is; no planted bug can be judged: %v\n%s", s.test, err, tail(output))
		}
	})
	if t.Failed() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(bugs)) {
		b := bugs[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, err := s.run(t, dir, s.build(t, dir, b.plant(t, places)))
			var exit *exec.ExitError
			fixed := caseFailed.FindStringSubmatch(output)
			switch found := propertyFailed.FindStringSubmatch(output); {
			case err == nil:
				t.Errorf("%s passes %s histories although %s", s.test, s.histories, b.breaks)
			case s.fixed && fixed != nil && !strings.Contains(output, "panic:"):
				t.Logf("found by %s", fixed[1])
			case !errors.As(err, &exit):
				t.Errorf("%s did not run: %v", s.test, err)
			case found == nil:
				t.Errorf("%s fails, but no property does: %v\n%s", s.test, err, tail(output))
			default:
				t.Logf("found after %s histories: %s", found[1], found[2])
			}
		})
	}
}

// propertyFailed is what rapid says when a property does not hold, as opposed
// to "panic after" and to whatever a broken test binary says.
var propertyFailed = regexp.MustCompile(`\[rapid\] failed after (\d+) tests?: ?(.*)`)

// caseFailed is what a test says that does not pass.
var caseFailed = regexp.MustCompile(`--- FAIL: (\S+)`)

// place gives the file of the bug in the package's folder and its text, in which
// the text to replace stands exactly once.
func (b bug) place(dir string) (original, source string, err error) {
	original = filepath.Join(dir, b.file)
	content, err := os.ReadFile(original)
	if err != nil {
		return "", "", err
	}
	if n := strings.Count(string(content), b.old); n != 1 {
		return "", "", fmt.Errorf("%s has the text to replace %d times, want once; plant the bug anew:\n%s", original, n, b.old)
	}
	return original, string(content), nil
}

// plant writes the changed copy of the file and gives the overlay that puts it
// in the place of the original.
func (b bug) plant(t *testing.T, dir string) (overlay string) {
	t.Helper()
	original, source, err := b.place(dir)
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	changed := filepath.Join(temp, filepath.Base(b.file))
	if err := os.WriteFile(changed, []byte(strings.Replace(source, b.old, b.new, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		t.Fatal(err)
	}
	overlay = filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}

// build compiles the package's tests, so that a bug that does not compile is
// told apart from one that is found.
func (s simulation) build(t *testing.T, dir, overlay string) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "simulation")
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, ".")...)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("does not compile: %v\n%s", err, output)
	}
	return binary
}

func (s simulation) run(t *testing.T, dir, binary string) (output string, err error) {
	t.Helper()
	args := []string{"-test.run", "^" + s.test + "$", "-test.timeout", "5m"}
	if !s.noHistories {
		args = append(args, "-rapid.checks", s.histories, "-rapid.seed", seed, "-rapid.nofailfile", "-rapid.shrinktime", "1ms")
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), s.variables...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// tail is the end of a long output.
func tail(output string) string { return output[max(0, len(output)-4000):] }
