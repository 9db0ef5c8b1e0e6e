// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	utilexec "k8s.io/utils/exec"
)

var streamSpecs = []spec{
	{name: "a streamed exec passes input, both outputs and the exit code", run: func(c *check) {
		ctr := c.beginWaiting(c.sandbox(), c.container())
		text := strings.Repeat("0123456789abcdef\n", 20000)
		out, _, code := c.execStream(ctr, strings.NewReader(text), "input")
		if out != text+"input ended true <nil>\n" || code != 0 {
			c.Errorf("%d bytes, exit code %d", len(out), code)
		}
		out, errs, code := c.execStream(ctr, nil, "echo:out", "error:problem", "exit:7")
		c.equal("outputs and code", []any{out, errs, code}, []any{"out\n", "problem\n", 7})
	}},
	{name: "a streamed exec with a terminal has one, of the client's size, and one output", run: func(c *check) {
		ctr := c.beginWaiting(c.sandbox(), c.container())
		resp, err := c.runtime.Exec(c.ctx(), &runtimeapi.ExecRequest{ContainerId: ctr.id, Cmd: []string{probePath, "terminal"}, Tty: true, Stdin: true, Stdout: true})
		c.must(err)
		c.talkToTerminal(resp.Url)
	}},
	{name: "attach passes the output of the container from now on, and input to it", run: func(c *check) {
		config := c.container("echo:before", "lines", "echo:after", "exit:6")
		config.Stdin, config.StdinOnce = true, true
		ctr := c.begin(c.sandbox(), config)
		c.awaitOutput(ctr, "before\n")
		resp, err := c.runtime.Attach(c.ctx(), &runtimeapi.AttachRequest{ContainerId: ctr.id, Stdin: true, Stdout: true, Stderr: true})
		c.must(err)
		in, write := io.Pipe()
		out := &watched{c: c}
		ended := make(chan error, 1)
		go func() {
			ended <- c.executor(resp.Url).StreamWithContext(c.ctx(), remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: io.Discard})
		}()
		fmt.Fprintln(write, "one")
		out.await("got one\n")
		fmt.Fprintln(write, "end")
		out.await("after\n")
		c.equal("exit code", c.wait(ctr).ExitCode, 6)
		write.Close()
		c.must(<-ended)
		c.equal("log", c.output(ctr, "stdout"), "before\ngot one\nafter\n")
	}},
	{name: "with StdinOnce the input of the container ends with that of the first who attaches", run: func(c *check) {
		config := c.container("input")
		config.Stdin, config.StdinOnce = true, true
		ctr := c.begin(c.sandbox(), config)
		resp, err := c.runtime.Attach(c.ctx(), &runtimeapi.AttachRequest{ContainerId: ctr.id, Stdin: true, Stdout: true, Stderr: true})
		c.must(err)
		var out bytes.Buffer
		c.must(c.executor(resp.Url).StreamWithContext(c.ctx(), remotecommand.StreamOptions{Stdin: strings.NewReader("all of it\n"), Stdout: &out, Stderr: io.Discard}))
		c.equal("exit code", c.wait(ctr).ExitCode, 0)
		c.equal("log", c.output(ctr, "stdout"), "all of it\ninput ended true <nil>\n")
	}},
	{name: "attach to a container with a terminal talks to it, and changes its size", run: func(c *check) {
		config := c.container("lines", "terminal")
		config.Stdin, config.Tty = true, true
		ctr := c.begin(c.sandbox(), config)
		resp, err := c.runtime.Attach(c.ctx(), &runtimeapi.AttachRequest{ContainerId: ctr.id, Stdin: true, Stdout: true, Tty: true})
		c.must(err)
		in, write := io.Pipe()
		out := &watched{c: c}
		sizes := make(sizes, 1)
		ended := make(chan error, 1)
		go func() {
			ended <- c.executor(resp.Url).StreamWithContext(c.ctx(), remotecommand.StreamOptions{Stdin: in, Stdout: out, Tty: true, TerminalSizeQueue: sizes})
		}()
		fmt.Fprint(write, "hello\n")
		out.await("got hello\r\n")
		fmt.Fprint(write, "end\n")
		out.await("size ")
		sizes <- remotecommand.TerminalSize{Width: 123, Height: 45}
		out.await("size 123 45\r\n")
		fmt.Fprint(write, "end\n")
		c.equal("exit code", c.wait(ctr).ExitCode, 7)
		write.Close()
		close(sizes)
		<-ended
	}},
	{name: "a container without a terminal has none", run: func(c *check) {
		config := c.container("terminal")
		config.Stdin, config.StdinOnce = true, true
		ctr := c.begin(c.sandbox(), config)
		c.awaitOutput(ctr, "no terminal: inappropriate ioctl for device\n")
	}},
	{name: "PortForward reaches a port of the Pod, several times", run: func(c *check) {
		p := c.sandbox()
		ctr := c.begin(p, c.container("listen"))
		c.awaitOutput(ctr, "port ")
		var port int32
		_, err := fmt.Sscanf(c.output(ctr, "stdout"), "port %d", &port)
		c.must(err)
		resp, err := c.runtime.PortForward(c.ctx(), &runtimeapi.PortForwardRequest{PodSandboxId: p.id, Port: []int32{port}})
		c.must(err)
		local, stop := c.forward(resp.Url, port)
		for _, word := range []string{"one", "two"} {
			conn, err := net.Dial("tcp", local)
			c.must(err)
			fmt.Fprintln(conn, word)
			answer, err := bufio.NewReader(conn).ReadString('\n')
			c.must(err)
			c.equal("answer", answer, strings.ToUpper(word)+"\n")
			conn.Close()
		}
		c.must(stop())
	}},
}

// streamConfig is for servers that show a certificate which nobody else knows.
var streamConfig = &rest.Config{TLSClientConfig: rest.TLSClientConfig{Insecure: true}}

func (c *check) executor(address string) remotecommand.Executor {
	u, err := url.Parse(address)
	if err == nil {
		var e remotecommand.Executor
		if e, err = remotecommand.NewSPDYExecutor(streamConfig, http.MethodPost, u); err == nil {
			return e
		}
	}
	panic(err) // not Fatal: this may be another goroutine
}

// execStream executes steps of the program in a container and returns what it wrote and its exit code.
func (c *check) execStream(ctr *container, in io.Reader, steps ...string) (out, errs string, code int) {
	c.Helper()
	resp, err := c.runtime.Exec(c.ctx(), &runtimeapi.ExecRequest{ContainerId: ctr.id, Cmd: append([]string{probePath}, steps...), Stdin: in != nil, Stdout: true, Stderr: true})
	c.must(err)
	var outText, errText bytes.Buffer
	err = c.executor(resp.Url).StreamWithContext(c.ctx(), remotecommand.StreamOptions{Stdin: in, Stdout: &outText, Stderr: &errText})
	return outText.String(), errText.String(), c.exitCode(err)
}

func (c *check) exitCode(err error) int {
	c.Helper()
	if exit, ok := errors.AsType[utilexec.ExitError](err); ok {
		return exit.ExitStatus()
	}
	c.must(err)
	return 0
}

// talkToTerminal has a conversation with the step terminal.
func (c *check) talkToTerminal(address string) {
	c.Helper()
	in, write := io.Pipe()
	out := &watched{c: c}
	sizes := make(sizes, 1)
	sizes <- remotecommand.TerminalSize{Width: 111, Height: 33}
	ended := make(chan error, 1)
	go func() {
		ended <- c.executor(address).StreamWithContext(c.ctx(), remotecommand.StreamOptions{Stdin: in, Stdout: out, Tty: true, TerminalSizeQueue: sizes})
	}()
	out.await("size 111 33\r\n")
	fmt.Fprint(write, "hello\n")
	out.await("got hello\r\n")
	sizes <- remotecommand.TerminalSize{Width: 77, Height: 22}
	out.await("size 77 22\r\n")
	fmt.Fprint(write, "end\n")
	c.equal("exit code", c.exitCode(<-ended), 7)
	write.Close()
	close(sizes)
}

// sizes are those of a client's terminal, one after the other.
type sizes chan remotecommand.TerminalSize

// Next implements remotecommand.TerminalSizeQueue.
func (s sizes) Next() *remotecommand.TerminalSize {
	if size, ok := <-s; ok {
		return &size
	}
	return nil
}

// watched is output that can be waited for.
type watched struct {
	c    *check
	mu   sync.Mutex
	text strings.Builder
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *watched) await(text string) {
	w.c.Helper()
	w.c.until(fmt.Sprintf("the output has %q", text), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return strings.Contains(w.text.String(), text)
	})
}

// forward listens on a port of this machine that leads to one of a Pod.
func (c *check) forward(address string, port int32) (local string, stop func() error) {
	c.Helper()
	u, err := url.Parse(address)
	c.must(err)
	transport, upgrader, err := spdy.RoundTripperFor(streamConfig)
	c.must(err)
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, u)
	done, ready := make(chan struct{}), make(chan struct{})
	f, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, done, ready, io.Discard, io.Discard)
	c.must(err)
	ended := make(chan error, 1)
	go func() { ended <- f.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		c.Fatalf("port-forward: %v", err)
	}
	ports, err := f.GetPorts()
	c.must(err)
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local), func() error { close(done); return <-ended }
}
