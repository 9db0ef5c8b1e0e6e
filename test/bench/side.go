// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// side is one control plane and one controller process.
type side struct {
	name       string
	dir        string
	kubeconfig string
	client     kubernetes.Interface
	plane      *exec.Cmd
	hold       io.Closer // the plane's standard input: closing it stops the plane
	controller *exec.Cmd
}

func command(ctx context.Context, log io.Writer, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	if log != nil {
		cmd.Stdout, cmd.Stderr = log, log
	}
	return cmd
}

// newSide starts a fresh plane; the controller comes later, with start.
func newSide(ctx context.Context, name, dir string, b binaries) (*side, error) {
	dir, err := os.MkdirTemp(dir, name+"-")
	if err != nil {
		return nil, err
	}
	s := &side{name: name, dir: dir}
	s.plane = command(ctx, nil, b.plane, filepath.Join(dir, "p"))
	in, err := s.plane.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.plane.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.plane.Start(); err != nil {
		return nil, err
	}
	s.hold = in
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the plane did not start: %w", err)
	}
	s.kubeconfig = strings.TrimSpace(line)
	s.client, err = connect(s.kubeconfig)
	return s, err
}

func connect(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.ContentConfig = rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf", AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json"}
	return kubernetes.NewForConfig(config)
}

// start starts the controller of this side, alone and without a rate limit.
func (s *side) start(ctx context.Context, b binaries, controller string) error {
	log, err := os.Create(filepath.Join(s.dir, "controller.log"))
	if err != nil {
		return err
	}
	if s.name == "builtin" {
		s.controller = command(ctx, log, b.builtin, "--kubeconfig="+s.kubeconfig, "--controllers="+controller+"-controller",
			"--leader-elect=false", "--kube-api-qps=100000", "--kube-api-burst=100000", "--secure-port=0",
			"--authentication-skip-lookup=true", "--kube-api-content-type=application/vnd.kubernetes.protobuf")
	} else {
		s.controller = command(ctx, log, b.carillon, "--kubeconfig="+s.kubeconfig, "--controllers="+controller,
			"--metrics-bind-address=0", "--health-probe-bind-address=0")
	}
	return s.controller.Start()
}

func (s *side) stop() error {
	var errs []error
	if s.controller != nil && s.controller.Process != nil {
		errs = append(errs, s.controller.Process.Kill())
		_ = s.controller.Wait() // it was killed
	}
	errs = append(errs, s.hold.Close(), s.plane.Wait(), os.RemoveAll(s.dir))
	return errors.Join(errs...)
}

// usage is what the controller's process has used so far.
type processUsage struct {
	cpu  time.Duration
	anon int64 // resident anonymous memory, bytes
	rss  int64
}

// String gives the memory in MiB.
func (u processUsage) String() string {
	return fmt.Sprintf("%d MiB anonymous (%d resident)", u.anon>>20, u.rss>>20)
}

// ticksPerSecond is USER_HZ, 100 on every Linux that Go supports.
const ticksPerSecond = 100

func (s *side) usage() (processUsage, error) {
	var u processUsage
	pid := strconv.Itoa(s.controller.Process.Pid)
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return u, fmt.Errorf("the controller of %s ended; its log: %s: %w", s.name, s.tail(), err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	status, err3 := os.ReadFile(filepath.Join("/proc", pid, "status"))
	if err := errors.Join(err1, err2, err3); err != nil {
		return u, err
	}
	u.cpu = time.Duration(user+system) * time.Second / ticksPerSecond
	u.anon, u.rss = field(string(status), "RssAnon"), field(string(status), "VmRSS")
	return u, nil
}

func field(status, name string) int64 {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n << 10
		}
	}
	return 0
}

func (s *side) tail() string {
	data, _ := os.ReadFile(filepath.Join(s.dir, "controller.log"))
	return string(data[max(0, len(data)-2000):])
}

var requests = regexp.MustCompile(`(?m)^apiserver_request_total\{([^}]*)\} ([0-9.e+]+)$`)

// writes counts the API server's successful writes so far, by "VERB resource/subresource". Leases and
// the harness's own part are told apart by the caller.
func (s *side) writes(ctx context.Context) (map[string]int, error) {
	data, err := s.client.CoreV1().RESTClient().Get().AbsPath("/metrics").Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, m := range requests.FindAllStringSubmatch(string(data), -1) {
		labels := map[string]string{}
		for pair := range strings.SplitSeq(m[1], ",") {
			k, v, _ := strings.Cut(pair, "=")
			labels[k] = strings.Trim(v, `"`)
		}
		switch labels["verb"] {
		case "POST", "PUT", "PATCH", "DELETE", "APPLY":
		default:
			continue
		}
		if !strings.HasPrefix(labels["code"], "2") || labels["resource"] == "leases" {
			continue
		}
		n, _ := strconv.ParseFloat(m[2], 64)
		key := labels["verb"] + " " + labels["resource"]
		if sub := labels["subresource"]; sub != "" {
			key += "/" + sub
		}
		counts[key] += int(n)
	}
	return counts, nil
}

// settled waits until nothing has been written for three seconds, and returns writes.
func (s *side) settled(ctx context.Context) (map[string]int, error) {
	last, err := s.writes(ctx)
	for err == nil {
		if err := sleepUntil(ctx, time.Now().Add(3*time.Second)); err != nil {
			return nil, err
		}
		var now map[string]int
		if now, err = s.writes(ctx); err == nil && maps.Equal(now, last) {
			return now, nil
		}
		last = now
	}
	return nil, err
}

func minus(after, before map[string]int) map[string]int {
	d := map[string]int{}
	for k, n := range after {
		if n > before[k] {
			d[k] = n - before[k]
		}
	}
	return d
}
