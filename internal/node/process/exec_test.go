// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	utilexec "k8s.io/utils/exec"
)

// ExecSync runs inside the container and returns both outputs and the code.
func TestExecSync(t *testing.T) {
	g := newRig(t)
	for _, handler := range []string{"", HandlerHost} {
		config := shell(`echo x > /tmp/carillon-exec-test; echo ready; sleep 1000`)
		if handler == HandlerHost {
			config = shell(`echo ready; sleep 1000`)
		}
		config.Envs = []*runtimeapi.KeyValue{{Key: "K", Value: []byte("v")}}
		config.WorkingDir = "/usr"
		id := g.begin(g.sandbox("p"+handler, handler), config)
		until(t, "it runs", func() bool { return g.output(id, "stdout") == "ready\n" })
		for name, tc := range map[string]struct {
			cmd      []string
			out, err string
			code     int32
		}{
			"outputs and code":    {[]string{"sh", "-c", "echo out; echo err >&2; exit 5"}, "out\n", "err\n", 5},
			"environment":         {[]string{"sh", "-c", "echo $K; pwd"}, "v\n/usr\n", "", 0},
			"signal":              {[]string{"sh", "-c", "kill -KILL $$"}, "", "", 137},
			"daemon holds output": {[]string{"sh", "-c", "sleep 1000 & echo started"}, "started\n", "", 0},
		} {
			resp := g.exec(id, tc.cmd...)
			if string(resp.Stdout) != tc.out || string(resp.Stderr) != tc.err || resp.ExitCode != tc.code {
				t.Errorf("handler %q, %s: %q %q %d", handler, name, resp.Stdout, resp.Stderr, resp.ExitCode)
			}
		}
		if resp := g.exec(id, "no-such-program"); resp.ExitCode != 127 || !strings.Contains(string(resp.Stderr), "not found") {
			t.Errorf("not found: %v", resp)
		}
		if resp := g.exec(id, "/etc"); resp.ExitCode != 126 {
			t.Errorf("not executable: %v", resp)
		}
		if handler == "" {
			if resp := g.exec(id, "cat", "/tmp/carillon-exec-test"); string(resp.Stdout) != "x\n" {
				t.Errorf("it does not see the container's files: %v", resp)
			}
		}
		// Large outputs come whole up to the limit, and do not block.
		if resp := g.exec(id, "head", "-c", "1000000", "/dev/zero"); len(resp.Stdout) != 1000000 {
			t.Errorf("%d bytes", len(resp.Stdout))
		}
		_, err := g.rt.ExecSync(g.ctx(), &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{"sleep", "76543.21"}, Timeout: 1})
		if status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("timeout: %v", err)
		}
		until(t, "the command that took too long is gone", func() bool { return !runsNow("76543.21") })
		g.stop(id, 0)
		_, err = g.rt.ExecSync(g.ctx(), &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{"true"}})
		if status.Code(err) != codes.FailedPrecondition {
			t.Errorf("in an ended container: %v", err)
		}
	}
}

func (g *rig) streamTo(rawURL string) remotecommand.Executor {
	g.t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		g.t.Fatal(err)
	}
	if host, _, _ := net.SplitHostPort(u.Host); host != "127.0.0.1" {
		g.t.Errorf("streams are served on %s", u.Host)
	}
	if u.Scheme != "https" {
		g.t.Errorf("streams are served as %s", u.Scheme)
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.run.StreamCertificate().Raw})
	e, err := remotecommand.NewSPDYExecutor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: authority}}, "POST", u)
	if err != nil {
		g.t.Fatal(err)
	}
	return e
}

// A streamed exec passes input, outputs and the exit code.
func TestExecStream(t *testing.T) {
	g := newRig(t)
	id := g.begin(g.sandbox("p", ""), shell("sleep 1000"))
	run := func(cmd []string, in io.Reader) (string, string, error) {
		resp, err := g.rt.Exec(g.ctx(), &runtimeapi.ExecRequest{ContainerId: id, Cmd: cmd, Stdin: in != nil, Stdout: true, Stderr: true})
		if err != nil {
			t.Fatal(err)
		}
		var out, errOut bytes.Buffer
		err = g.streamTo(resp.Url).StreamWithContext(g.ctx(), remotecommand.StreamOptions{Stdin: in, Stdout: &out, Stderr: &errOut})
		return out.String(), errOut.String(), err
	}
	big := strings.Repeat("0123456789abcdef", 20000)
	out, _, err := run([]string{"cat"}, strings.NewReader(big))
	if err != nil || out != big {
		t.Errorf("cat: %d of %d bytes, %v", len(out), len(big), err)
	}
	out, errOut, err := run([]string{"sh", "-c", "echo out; echo err >&2; exit 7"}, nil)
	var exit utilexec.ExitError
	if out != "out\n" || errOut != "err\n" || !errors.As(err, &exit) || exit.ExitStatus() != 7 {
		t.Errorf("%q %q %v", out, errOut, err)
	}
	_, _, err = run([]string{"no-such-program"}, nil)
	if !errors.As(err, &exit) || exit.ExitStatus() != 127 {
		t.Errorf("not found: %v", err)
	}
}

// sizes gives one terminal size, and no other.
type sizes struct {
	ch chan remotecommand.TerminalSize
}

func (s sizes) Next() *remotecommand.TerminalSize {
	if size, ok := <-s.ch; ok {
		return &size
	}
	return nil
}

// With a terminal the command controls it, has its size, and both outputs are
// one.
func TestExecTerminal(t *testing.T) {
	g := newRig(t)
	for _, handler := range []string{"", HandlerHost} {
		id := g.begin(g.sandbox("p"+handler, handler), shell("sleep 1000"))
		resp, err := g.rt.Exec(g.ctx(), &runtimeapi.ExecRequest{ContainerId: id, Tty: true, Stdin: true, Stdout: true,
			Cmd: []string{"sh", "-c", `tty >/dev/null && echo TERMINAL; while [ "$(stty size)" != "33 77" ]; do sleep 0.01; done; echo SIZED; read line; echo "got $line" >&2; exit 3`}})
		if err != nil {
			t.Fatal(err)
		}
		size := sizes{make(chan remotecommand.TerminalSize, 1)}
		size.ch <- remotecommand.TerminalSize{Width: 77, Height: 33}
		close(size.ch)
		var out bytes.Buffer
		in, typed := io.Pipe()
		go func() { _, _ = typed.Write([]byte("typed\n")) }()
		err = g.streamTo(resp.Url).StreamWithContext(g.ctx(), remotecommand.StreamOptions{Stdin: in, Stdout: &out, Tty: true, TerminalSizeQueue: size})
		typed.Close()
		var exit utilexec.ExitError
		if !errors.As(err, &exit) || exit.ExitStatus() != 3 {
			t.Errorf("handler %q: %v", handler, err)
		}
		for _, want := range []string{"TERMINAL", "SIZED", "got typed"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("handler %q: no %q in %q", handler, want, out.String())
			}
		}
	}
}

// When the client of an exec goes, its command is killed.
func TestExecClientGoes(t *testing.T) {
	g := newRig(t)
	id := g.begin(g.sandbox("p", ""), shell("sleep 1000"))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = g.rt.ExecSync(ctx, &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{"sleep", "65432.1"}})
	}()
	until(t, "it runs", func() bool { return runsNow("65432.1") })
	cancel()
	<-done
	until(t, "it is gone", func() bool { return !runsNow("65432.1") })
}

// Attach shows what the command writes from then on and gives it input; with
// stdinOnce its input ends with the client's.
func TestAttach(t *testing.T) {
	g := newRig(t)
	config := shell(`while read line; do echo "out $line"; echo "err $line" >&2; done; echo end`)
	config.Stdin, config.StdinOnce = true, true
	id := g.begin(g.sandbox("p", ""), config)
	resp, err := g.rt.Attach(g.ctx(), &runtimeapi.AttachRequest{ContainerId: id, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	err = g.streamTo(resp.Url).StreamWithContext(g.ctx(), remotecommand.StreamOptions{Stdin: strings.NewReader("a\nb\n"), Stdout: &out, Stderr: &errOut})
	if err != nil {
		t.Error(err)
	}
	st := g.wait(id)
	if st.ExitCode != 0 || g.output(id, "stdout") != "out a\nout b\nend\n" || g.output(id, "stderr") != "err a\nerr b\n" {
		t.Errorf("code %d, log %q %q", st.ExitCode, g.output(id, "stdout"), g.output(id, "stderr"))
	}
	if out.String() != "out a\nout b\nend\n" || errOut.String() != "err a\nerr b\n" {
		t.Errorf("the client saw %q %q", out.String(), errOut.String())
	}
}

// A container with a terminal: attach types on it and resizes it, the log has
// what was shown.
func TestAttachTerminal(t *testing.T) {
	g := newRig(t)
	config := shell(`tty > /dev/null || echo NO TERMINAL; while [ "$(stty size)" != "33 77" ]; do sleep 0.01; done; read line; echo "got $line"; exit 2`)
	config.Stdin, config.Tty = true, true
	id := g.begin(g.sandbox("p", ""), config)
	resp, err := g.rt.Attach(g.ctx(), &runtimeapi.AttachRequest{ContainerId: id, Stdin: true, Stdout: true, Tty: true})
	if err != nil {
		t.Fatal(err)
	}
	size := sizes{make(chan remotecommand.TerminalSize, 1)}
	size.ch <- remotecommand.TerminalSize{Width: 77, Height: 33}
	close(size.ch)
	var out bytes.Buffer
	in, typed := io.Pipe()
	go func() { _, _ = typed.Write([]byte("typed\n")) }()
	if err := g.streamTo(resp.Url).StreamWithContext(g.ctx(), remotecommand.StreamOptions{Stdin: in, Stdout: &out, Tty: true, TerminalSizeQueue: size}); err != nil {
		t.Error(err)
	}
	typed.Close()
	st := g.wait(id)
	log := g.output(id, "stdout")
	if st.ExitCode != 2 || !strings.Contains(log, "got typed") || strings.Contains(log, "NO TERMINAL") {
		t.Errorf("code %d, log %q", st.ExitCode, log)
	}
	if !strings.Contains(out.String(), "got typed") {
		t.Errorf("the client saw %q", out.String())
	}
}

// Without stdin the command reads the end at once; with stdin, and nobody
// attached, it waits.
func TestStdin(t *testing.T) {
	g := newRig(t)
	id := g.begin(g.sandbox("p", ""), shell("cat; echo end"))
	if st := g.wait(id); st.ExitCode != 0 || g.output(id, "stdout") != "end\n" {
		t.Errorf("%v", st)
	}
}

// Ports of a Pod are ports of the machine.
func TestPortForward(t *testing.T) {
	g := newRig(t)
	sb := g.sandbox("p", "")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, _ = io.Copy(c, c)
			c.Close()
		}
	}()
	client, server := net.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- streams{g.run}.PortForward(g.ctx(), sb, int32(l.Addr().(*net.TCPAddr).Port), server)
	}()
	_ = client.SetDeadline(time.Now().Add(patience))
	if _, err := client.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 5)
	if _, err := io.ReadFull(client, buf); err != nil || string(buf) != "hello" {
		t.Errorf("%q %v", buf, err)
	}
	client.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	l.Close()
	_, server = net.Pipe()
	if err := (streams{g.run}).PortForward(g.ctx(), sb, int32(l.Addr().(*net.TCPAddr).Port), server); err == nil || !strings.Contains(err.Error(), "nothing answers") {
		t.Errorf("to a closed port: %v", err)
	}
	if err := (streams{g.run}).PortForward(g.ctx(), sb, 70000, server); err == nil {
		t.Error("port 70000")
	}
	resp, err := g.rt.PortForward(g.ctx(), &runtimeapi.PortForwardRequest{PodSandboxId: sb, Port: []int32{1}})
	if err != nil || !strings.HasPrefix(resp.Url, "https://127.0.0.1:") {
		t.Errorf("%v %v", resp, err)
	}
}
