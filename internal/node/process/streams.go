// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// Exec prepares a stream to a command in a container.
func (r *Runtime) Exec(_ context.Context, req *runtimeapi.ExecRequest) (*runtimeapi.ExecResponse, error) {
	if _, err := r.running(req.GetContainerId()); err != nil {
		return nil, err
	}
	return r.stream.GetExec(req)
}

// Attach prepares a stream to the command of a container itself.
func (r *Runtime) Attach(_ context.Context, req *runtimeapi.AttachRequest) (*runtimeapi.AttachResponse, error) {
	if _, err := r.running(req.GetContainerId()); err != nil {
		return nil, err
	}
	return r.stream.GetAttach(req)
}

// PortForward prepares a stream to ports of a Pod, which are ports of the
// machine.
func (r *Runtime) PortForward(_ context.Context, req *runtimeapi.PortForwardRequest) (*runtimeapi.PortForwardResponse, error) {
	if err := r.checkSandboxReady(req.GetPodSandboxId()); err != nil {
		return nil, err
	}
	return r.stream.GetPortForward(req)
}

func (r *Runtime) checkSandboxReady(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandboxes[id]
	if s == nil {
		return status.Errorf(codes.NotFound, "no sandbox %q", id)
	}
	if s.rec.Stopped {
		return status.Errorf(codes.FailedPrecondition, "sandbox %s is stopped", id)
	}
	return nil
}

// streams serves the connections that Exec, Attach and PortForward prepared.
type streams struct{ r *Runtime }

func (s streams) Exec(ctx context.Context, id string, cmd []string, in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) error {
	c, err := s.r.running(id)
	if err != nil {
		return err
	}
	ctx, cancel := s.r.untilClosed(ctx)
	defer cancel()
	var code int
	if tty {
		code, err = s.r.execTTY(ctx, c, cmd, in, writer(out), resize)
	} else {
		code, err = s.r.exec(ctx, c, cmd, in, writer(out), writer(errOut))
	}
	if err != nil {
		if code := shim.ExitCode(err); code == 126 || code == 127 {
			return utilexec.CodeExitError{Err: err, Code: code}
		}
		return err
	}
	if code != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
	}
	return nil
}

// untilClosed is ctx, ending with the Runtime too: streams are not connections
// that the HTTP server knows how to close.
func (r *Runtime) untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-r.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// writer keeps a nil of one interface type from becoming a non-nil of another.
func writer(w io.WriteCloser) io.Writer {
	if w == nil {
		return nil
	}
	return w
}

func (s streams) Attach(ctx context.Context, id string, in io.Reader, out, errOut io.WriteCloser, _ bool, resize <-chan remotecommand.TerminalSize) error {
	c, err := s.r.running(id)
	if err != nil {
		return err
	}
	var give, mine [3]*os.File
	defer func() {
		for _, f := range mine {
			if f != nil {
				f.Close()
			}
		}
	}()
	pipe := func(i int, input bool) error {
		rd, wr, err := os.Pipe()
		if err != nil {
			return err
		}
		if give[i], mine[i] = wr, rd; input {
			give[i], mine[i] = rd, wr
		}
		return nil
	}
	for i, want := range []bool{in != nil && !c.config.GetTty(), out != nil, errOut != nil && !c.config.GetTty()} {
		if want && err == nil {
			err = pipe(i, i == 0)
		}
	}
	var a *shim.Attachment
	if err == nil {
		a, err = shim.Attach(c.dir, give[0], give[1], give[2])
	}
	for _, f := range give {
		if f != nil {
			f.Close()
		}
	}
	if err != nil {
		return err
	}
	defer a.Close()
	stop := make(chan struct{})
	defer close(stop)
	var input io.WriteCloser
	if mine[0] != nil {
		input = mine[0]
	}
	if a.TTY != nil {
		defer a.TTY.Close()
		go resizeTerminal(a.TTY, resize, stop)
		input = a.TTY
	}
	inputEnd := make(chan struct{})
	if in != nil && input != nil {
		go func() {
			defer close(inputEnd)
			_, _ = io.Copy(input, in)
			if a.TTY == nil {
				input.Close()
			}
		}()
	}
	outputEnd := make(chan struct{})
	go func() {
		defer close(outputEnd)
		var copies sync.WaitGroup
		if mine[1] != nil {
			copies.Go(func() { _, _ = io.Copy(out, mine[1]) })
		}
		if mine[2] != nil {
			copies.Go(func() { _, _ = io.Copy(errOut, mine[2]) })
		}
		copies.Wait()
	}()
	if mine[1] == nil && mine[2] == nil {
		// Input only: until it ends.
		outputEnd = inputEnd
	}
	select {
	case <-outputEnd:
	case <-ctx.Done():
	case <-s.r.done:
	}
	return nil
}

func (s streams) PortForward(ctx context.Context, id string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	if err := s.r.checkSandboxReady(id); err != nil {
		return err
	}
	if port <= 0 || port > 65535 {
		return fmt.Errorf("%d is not a port", port)
	}
	ctx, cancel := s.r.untilClosed(ctx)
	defer cancel()
	var d net.Dialer
	var conn net.Conn
	var err error
	for _, host := range []string{"127.0.0.1", "::1"} {
		var derr error
		if conn, derr = d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port)))); derr == nil {
			err = nil
			break
		}
		err = errors.Join(err, derr)
	}
	if err != nil {
		return fmt.Errorf("nothing answers on port %d of this machine: %w", port, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(stream, conn)
	}()
	go func() {
		_, _ = io.Copy(conn, stream)
		if t, ok := conn.(*net.TCPConn); ok {
			_ = t.CloseWrite()
		}
	}()
	<-done
	return nil
}
