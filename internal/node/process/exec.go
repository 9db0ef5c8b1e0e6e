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
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// maxExecOutput is what is kept of each output of ExecSync; the rest is read
// and dropped (CVE-2022-1708).
const maxExecOutput = 8 << 20

// drainTime is how long output is read on after a command has ended, when
// something it left behind holds it open.
const drainTime = time.Second

// ExecSync runs a command in a container and returns its output and exit code.
// A command that can not be started ends with 127 or 126, as in a shell. When
// the timeout (seconds, 0 means none) passes, the command is killed.
func (r *Runtime) ExecSync(ctx context.Context, req *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
	c, err := r.running(req.GetContainerId())
	if err != nil {
		return nil, err
	}
	if len(req.GetCmd()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "exec: no command")
	}
	if req.GetTimeout() > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(req.GetTimeout())*time.Second)
		defer cancel()
	}
	var out, errOut capped
	code, err := r.exec(ctx, c, req.GetCmd(), nil, &out, &errOut)
	switch {
	case err == nil:
		return &runtimeapi.ExecSyncResponse{Stdout: out.bytes(), Stderr: errOut.bytes(), ExitCode: int32(code)}, nil
	case errors.Is(err, context.DeadlineExceeded):
		return nil, status.Errorf(codes.DeadlineExceeded, "exec: command %q timed out", req.GetCmd())
	case errors.Is(err, context.Canceled):
		return nil, status.FromContextError(err).Err()
	case errors.Is(err, shim.ErrGone):
		return nil, status.Errorf(codes.FailedPrecondition, "exec: container %s has ended", c.rec.ID)
	}
	if code := shim.ExitCode(err); code == 126 || code == 127 {
		return &runtimeapi.ExecSyncResponse{Stderr: []byte(err.Error() + "\n"), ExitCode: int32(code)}, nil
	}
	return nil, status.Errorf(codes.Internal, "exec: %v", err)
}

// capped keeps the first maxExecOutput bytes.
type capped struct {
	mu  sync.Mutex
	buf []byte
}

func (l *capped) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, b[:min(len(b), maxExecOutput-len(l.buf))]...)
	return len(b), nil
}

func (l *capped) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf
}

// exec runs args without a terminal. nil means no input, or output that nobody
// wants.
func (r *Runtime) exec(ctx context.Context, c *container, args []string, in io.Reader, out, errOut io.Writer) (int, error) {
	var std [3]*os.File
	var mine []*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			if f != nil {
				f.Close()
			}
		}
	}
	var copies sync.WaitGroup
	fail := func(err error) (int, error) {
		closeAll(std[:])
		closeAll(mine)
		return 0, err
	}
	var err error
	if in == nil {
		if std[0], err = os.Open(os.DevNull); err != nil {
			return fail(err)
		}
	} else {
		rd, wr, err := os.Pipe()
		if err != nil {
			return fail(err)
		}
		std[0] = rd
		mine = append(mine, wr)
	}
	type pump struct {
		from *os.File
		to   io.Writer
	}
	var pumps []pump
	for i, w := range []io.Writer{out, errOut} {
		if w == nil {
			w = io.Discard
		}
		rd, wr, err := os.Pipe()
		if err != nil {
			return fail(err)
		}
		std[i+1] = wr
		mine = append(mine, rd)
		pumps = append(pumps, pump{rd, w})
	}
	e, err := shim.StartExec(c.dir, args, false, std)
	if err != nil {
		return fail(err)
	}
	closeAll(std[:])
	if in != nil {
		wr := mine[0]
		go func() {
			_, _ = io.Copy(wr, in)
			wr.Close()
		}()
	}
	for _, p := range pumps {
		copies.Go(func() {
			_, _ = io.Copy(p.to, p.from)
			// When the client is gone, the command learns it by writing.
			p.from.Close()
		})
	}
	code, err := e.Wait(ctx)
	timer := time.AfterFunc(drainTime, func() { closeAll(mine) })
	copies.Wait()
	timer.Stop()
	closeAll(mine)
	return code, err
}

// execTTY runs args on a terminal.
func (r *Runtime) execTTY(ctx context.Context, c *container, args []string, in io.Reader, out io.Writer, resize <-chan remotecommand.TerminalSize) (int, error) {
	e, err := shim.StartExec(c.dir, args, true, [3]*os.File{})
	if err != nil {
		return 0, err
	}
	tty := e.TTY
	stop := make(chan struct{})
	defer close(stop)
	go follow(tty, resize, stop)
	if in != nil {
		go func() { _, _ = io.Copy(tty, in) }()
	}
	var copies sync.WaitGroup
	if out != nil {
		copies.Go(func() {
			_, _ = io.Copy(out, tty)
			tty.Close() // hangs up when the client is gone
		})
	}
	code, err := e.Wait(ctx)
	timer := time.AfterFunc(drainTime, func() { tty.Close() })
	copies.Wait()
	timer.Stop()
	tty.Close()
	return code, err
}

// follow gives a terminal the sizes of the client's.
func follow(tty *os.File, resize <-chan remotecommand.TerminalSize, stop <-chan struct{}) {
	for {
		select {
		case size, ok := <-resize:
			if !ok {
				return
			}
			_ = shim.Resize(tty, size.Width, size.Height)
		case <-stop:
			return
		}
	}
}

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
	if err := r.ready4streams(req.GetPodSandboxId()); err != nil {
		return nil, err
	}
	return r.stream.GetPortForward(req)
}

func (r *Runtime) ready4streams(id string) error {
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
		go follow(a.TTY, resize, stop)
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
	if err := s.r.ready4streams(id); err != nil {
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
