// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ErrGone means that no shim answers for the container.
var ErrGone = errors.New("the container's supervisor is gone")

// dial connects to the shim of the container in dir. It goes through an open
// directory because the path may be longer than a socket address.
func dial(dir string) (*conn, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	defer func() { _ = unix.Close(fd) }()
	// Connecting to a unix socket waits only while the other end's backlog is
	// full, so it is done blocking.
	sock, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	to := &unix.SockaddrUnix{Name: filepath.Join("/proc/self/fd", strconv.Itoa(fd), ControlFile)}
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Connect(sock, to)
	}
	if err == nil {
		err = unix.SetNonblock(sock, true)
	}
	if err != nil {
		_ = unix.Close(sock)
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	return newConn(sock), nil
}

// ask sends a request and reads the answer.
func ask(dir string, req request, files ...*os.File) (*conn, response, error) {
	c, err := dial(dir)
	if err != nil {
		return nil, response{}, err
	}
	if err := c.send(req, files...); err != nil {
		c.close()
		return nil, response{}, fmt.Errorf("%w: %w", ErrGone, err)
	}
	var resp response
	if err := c.recv(&resp); err != nil {
		c.close()
		return nil, response{}, fmt.Errorf("%w: %w", ErrGone, err)
	}
	return c, resp, nil
}

// Stop asks the shim of dir to send sig to its command and to kill it after
// grace. It returns when the request is taken, not when the container ended.
func Stop(dir string, sig unix.Signal, grace time.Duration) error {
	c, resp, err := ask(dir, request{Op: opStop, Signal: int(sig), Grace: int64(grace)})
	if err != nil {
		return err
	}
	c.close()
	return resp.err()
}

// ReopenLog makes the shim of dir write to a new file at its log path.
func ReopenLog(dir string) error {
	c, resp, err := ask(dir, request{Op: opReopen})
	if err != nil {
		return err
	}
	c.close()
	return resp.err()
}

func (r response) err() error {
	if r.Error == "" {
		return nil
	}
	return &startError{code: r.ExitCode, msg: r.Error}
}

// Watch is a connection that ends with the shim.
type Watch struct{ c *conn }

// OpenWatch connects to the shim of dir, or fails with ErrGone.
func OpenWatch(dir string) (*Watch, error) {
	c, err := dial(dir)
	if err != nil {
		return nil, err
	}
	if err := c.send(request{Op: opWatch}); err != nil {
		c.close()
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	return &Watch{c}, nil
}

// Wait returns when the shim has ended or is about to, or after Close.
func (w *Watch) Wait() {
	var resp response
	_ = w.c.recv(&resp)
}

// Close ends the connection, and Wait with it.
func (w *Watch) Close() { w.c.close() }

// Exec is a command that runs in a container.
type Exec struct {
	c   *conn
	TTY *os.File // the terminal of the command, nil without; to be closed by the caller
	PID int      // in the container
}

// StartExec runs args in the container of dir. Without tty, std are its
// standard files, which the caller closes; with tty they are not used.
func StartExec(dir string, args []string, tty bool, std [3]*os.File) (*Exec, error) {
	var files []*os.File
	if !tty {
		files = std[:]
	}
	c, resp, err := ask(dir, request{Op: opExec, Args: args, TTY: tty}, files...)
	if err != nil {
		return nil, err
	}
	if err := resp.err(); err != nil {
		c.close()
		return nil, err
	}
	e := &Exec{c: c, PID: resp.PID}
	if tty {
		if e.TTY, err = nonblock(c.file()); err != nil {
			c.close()
			return nil, err
		}
	}
	return e, nil
}

// Wait returns the exit code of the command. When ctx ends first the command
// is killed.
func (e *Exec) Wait(ctx context.Context) (int, error) {
	stop := context.AfterFunc(ctx, func() { e.c.f.Close() })
	defer stop()
	defer e.c.close()
	var resp response
	if err := e.c.recv(&resp); err != nil {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		return 0, fmt.Errorf("%w: %w", ErrGone, err)
	}
	return resp.ExitCode, nil
}

// Attachment is a client's connection with a container's standard files.
type Attachment struct {
	c   *conn
	TTY *os.File // the terminal of the container, nil without; to be closed by the caller
}

// Attach gives the container of dir the client's ends: input to read from,
// and files for its output. Those that are nil are left out; the caller closes
// its own.
func Attach(dir string, stdin, stdout, stderr *os.File) (*Attachment, error) {
	req := request{Op: opAttach, Stdin: stdin != nil, Stdout: stdout != nil, Stderr: stderr != nil}
	var files []*os.File
	for _, f := range []*os.File{stdin, stdout, stderr} {
		if f != nil {
			files = append(files, f)
		}
	}
	c, resp, err := ask(dir, req, files...)
	if err != nil {
		return nil, err
	}
	if err := resp.err(); err != nil {
		c.close()
		return nil, err
	}
	a := &Attachment{c: c}
	if f := c.file(); f != nil {
		if a.TTY, err = nonblock(f); err != nil {
			c.close()
			return nil, err
		}
	}
	return a, nil
}

// Close detaches.
func (a *Attachment) Close() { a.c.close() }

// nonblock makes a received terminal one whose reads end when it is closed.
func nonblock(f *os.File) (*os.File, error) {
	if f == nil {
		return nil, errors.New("the terminal did not arrive")
	}
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "tty"), nil
}
