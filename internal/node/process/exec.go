// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"

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
	go resizeTerminal(tty, resize, stop)
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

// resizeTerminal gives a terminal the sizes of the client's.
func resizeTerminal(tty *os.File, resize <-chan remotecommand.TerminalSize, stop <-chan struct{}) {
	for {
		select {
		case size, ok := <-resize:
			if !ok {
				return
			}
			_ = shim.ResizeTerminal(tty, size.Width, size.Height)
		case <-stop:
			return
		}
	}
}
