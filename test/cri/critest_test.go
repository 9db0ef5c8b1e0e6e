// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	// envCritest asks for the CRI's validation suite.
	envCritest = "CARILLON_CRITEST"
	// critestModule is the module that has it.
	critestModule = "sigs.k8s.io/cri-tools@v1.36.0"
)

// notHere are the specs of the validation suite that Carillon's runtime does not pass, by the end of their names, and
// why. docs/differences.md says the same to users.
var notHere = map[string]string{
	"runtime should support MaskedPaths":                                                          "Debian's busybox, of which the images are, runs a masked ls all the same: it is that program itself (TestSpecs has masked paths)",
	"runtime should support port mapping with host port and container port [Conformance]":         "Pods have no network of their own",
	"should support safe sysctls":                                                                 "Pods share the kernel settings of the machine; asking for others is refused",
	"should support unsafe sysctls":                                                               "Pods share the kernel settings of the machine; asking for others is refused",
	"runtime should support ContainerPID":                                                         "process 1 is the container's supervisor, which the spec takes for another container's",
	"should support nil profile, which is unconfined":                                             "the default profile holds unless another one is asked for",
	"should support non-recursive readonly mounts":                                                "what is mounted below a volume that is read-only is so too",
	"mount with 'rshared' should support propagation from host to container and vice versa":       "what a container mounts never appears on the machine",
	"should return the same image identifier when pulled from different registries [Conformance]": "it pulls pause, which is built in under each of its names",
	"removing image from one registry should remove all tags from other registries [Conformance]": "it pulls pause, which is built in under each of its names",
}

// alone are specs that leave a bridge in the network, which is the machine's here, and want that there was none.
var alone = []string{"adding capability", "adding ALL capabilities", "Privileged is true"}

// The CRI's own validation suite says what it says against other runtimes, but for what is known and explained.
func TestCritest(t *testing.T) {
	if os.Getenv(envCritest) == "" {
		t.Skipf("%s=1 (make critest) builds the suite, which takes minutes, and needs root", envCritest)
	}
	if suite := os.Getenv(envSuite); suite != "" {
		runCritest(t, suite)
		return
	}
	images := serveImages(t, "127.0.0.1:0")
	suite := buildCritest(t, critestImages(t, images))
	var all []report
	for _, arguments := range append([]string{"-ginkgo.skip=" + strings.Join(alone, "|")}, alone...) {
		if !strings.HasPrefix(arguments, "-") {
			arguments = "-ginkgo.focus=" + arguments
		}
		file := filepath.Join(t.TempDir(), "report.json")
		// With a network and shared memory of its own: what the suite makes there ends with it.
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestCritest$", "-test.v", "-test.timeout=15m")
		cmd.Env = append(os.Environ(), envSuite+"="+suite, envReport+"="+file, envArguments+"="+arguments)
		cmd.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWIPC}
		out, err := cmd.CombinedOutput()
		text, rerr := os.ReadFile(file)
		if rerr != nil {
			t.Fatalf("%v: %v\n%s", rerr, err, out[max(0, len(out)-4000):])
		}
		var part []report
		if err := json.Unmarshal(text, &part); err != nil {
			t.Fatal(err)
		}
		all = append(all, part...)
	}
	judge(t, all)
}

// What TestCritest tells the process in which it runs the suite.
const (
	envSuite     = "CARILLON_CRITEST_SUITE"
	envReport    = "CARILLON_CRITEST_REPORT"
	envArguments = "CARILLON_CRITEST_ARGUMENTS"
)

// runCritest runs the suite against Carillon's runtime, on a network that is new.
func runCritest(t *testing.T, suite string) {
	loopbackUp(t)
	images := serveImages(t, "127.0.0.1:0")
	critestImages(t, images)
	e := ownRuntime(t, images, critestRegistries...)
	cmd := exec.CommandContext(t.Context(), suite, "-runtime-endpoint", e.address, "-image-endpoint", e.address,
		"-ginkgo.no-color", "-ginkgo.json-report", os.Getenv(envReport), os.Getenv(envArguments))
	cmd.Dir = t.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("%v\n%s", err, out[max(0, len(out)-4000):]) // the report says more
	}
}

// loopbackUp makes 127.0.0.1 an address of a new network.
func loopbackUp(t *testing.T) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		t.Fatal(err)
	}
}

// report is what we look at of a report of Ginkgo's.
type report struct {
	SpecReports []struct {
		ContainerHierarchyTexts []string
		LeafNodeType            string
		LeafNodeText            string
		State                   string
		Failure                 struct{ Message string }
	}
}

// judge compares reports with what is known.
func judge(t *testing.T, suites []report) {
	t.Helper()
	count := map[string]int{}
	var known []string
	for _, suite := range suites {
		for _, s := range suite.SpecReports {
			if s.LeafNodeType != "It" {
				continue
			}
			name := strings.TrimPrefix(strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " "), "[k8s.io] ")
			why, expected := explained(name)
			switch {
			case s.State == "passed" && expected:
				t.Errorf("passes now: %s: take it off the list, and out of docs/differences.md", name)
			case s.State == "failed" && !expected:
				t.Errorf("failed: %s\n%s", name, s.Failure.Message)
			case s.State == "failed":
				known = append(known, name+": "+why)
			case s.State == "skipped" && s.Failure.Message == "":
				continue // not of this part, or a benchmark
			case s.State == "skipped":
				t.Logf("skipped: %s: %s", name, s.Failure.Message)
			}
			count[s.State]++
		}
	}
	slices.Sort(known)
	t.Logf("%v\nnot passed, as is known:\n  %s", count, strings.Join(known, "\n  "))
}

func explained(name string) (string, bool) {
	for end, why := range notHere {
		if strings.HasSuffix(name, end) {
			return why, true
		}
	}
	return "", false
}

// buildCritest builds the suite from a copy of its module. It knows one image by the digest that this has on the
// internet; ours has another one.
func buildCritest(t *testing.T, digest string) string {
	t.Helper()
	var module struct{ Dir, Error string }
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", critestModule).Output()
	if jerr := json.Unmarshal(out, &module); jerr != nil || err != nil || module.Dir == "" {
		t.Fatalf("%s: %v %v %s", critestModule, err, jerr, module.Error)
	}
	dir := filepath.Join(t.TempDir(), "critest")
	if err := os.CopyFS(dir, os.DirFS(module.Dir)); err != nil {
		t.Fatal(err)
	}
	constants := filepath.Join(dir, "pkg", "validate", "consts.go")
	source, err := os.ReadFile(constants)
	if err != nil {
		t.Fatal(err)
	}
	known := regexp.MustCompile(`"test-image-digest@sha256:[0-9a-f]{64}"`)
	if !known.Match(source) {
		t.Fatalf("%s names no image by its digest", constants)
	}
	if err := os.WriteFile(constants, known.ReplaceAll(source, fmt.Appendf(nil, "%q", "test-image-digest@"+digest)), 0o600); err != nil {
		t.Fatal(err)
	}
	suite := filepath.Join(dir, "critest")
	// Without paths in it, what was compiled serves the next time, elsewhere.
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-trimpath", "-o", suite, "./cmd/critest")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the suite: %v\n%s", err, bytes.TrimSpace(out))
	}
	return suite
}
