// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// request is what the runtime asks of a shim, one per connection. Descriptors
// may come with it. A connection that only stays open watches: it ends when
// the shim does.
type request struct {
	Op        string   `json:"op"`
	Signal    int      `json:"signal,omitempty"`
	Grace     int64    `json:"grace,omitempty"` // ns
	Args      []string `json:"args,omitempty"`
	Env       []string `json:"env,omitempty"`
	Lock      bool     `json:"lock,omitempty"`
	OwnerPipe bool     `json:"ownerPipe,omitempty"`
	PodIPC    bool     `json:"podIPC,omitempty"` // start in the IPC namespace of the Pod
	TTY       bool     `json:"tty,omitempty"`
	Stdin     bool     `json:"stdin,omitempty"`
	Stdout    bool     `json:"stdout,omitempty"`
	Stderr    bool     `json:"stderr,omitempty"`
}

// Operations.
const (
	opStop   = "stop"   // end the container, Signal first, kill after Grace
	opReopen = "reopen" // the log was rotated
	opExec   = "exec"   // run Args; descriptors are the standard files unless TTY
	opAttach = "attach" // descriptors are those of Stdin, Stdout, Stderr asked for
	opWatch  = "watch"  // stay connected
	opStart  = "start"  // a Pod's process starts the shim of Args: directory and name; descriptors are mount namespace, log, status, Lock, OwnerPipe, and any others to hold open
)

// response answers a request. Exec gets two: started, then ended.
type response struct {
	Error    string `json:"error,omitempty"`
	PID      int    `json:"pid,omitempty"`
	ExitCode int    `json:"exitCode,omitempty"`
	Exited   bool   `json:"exited,omitempty"`
}

// maxRequest bounds a message: the kernel takes about two MiB of arguments,
// and JSON may need six bytes for one.
const maxRequest = 16 << 20

// conn sends and receives JSON lines with descriptors. It is a bare socket,
// because package net initialises late and would keep a shim waiting for the
// rest of the binary.
type conn struct {
	f     *os.File
	buf   []byte
	files []*os.File // received and not yet taken
}

// newConn takes over a socket that does not block.
func newConn(fd int) *conn { return &conn{f: os.NewFile(uintptr(fd), "control")} }

func (c *conn) send(v any, files ...*os.File) error {
	b := append(mustJSON(v), '\n')
	var oob []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			sc, err := f.SyscallConn()
			if err != nil {
				return err
			}
			// The descriptor stays open: the caller closes the file afterwards.
			if err := sc.Control(func(fd uintptr) { fds[i] = int(fd) }); err != nil {
				return err
			}
		}
		oob = unix.UnixRights(fds...)
	}
	sc, err := c.f.SyscallConn()
	if err != nil {
		return err
	}
	var n int
	var serr error
	if err := sc.Write(func(fd uintptr) bool {
		for {
			n, serr = unix.SendmsgN(int(fd), b, oob, nil, unix.MSG_NOSIGNAL)
			if !errors.Is(serr, unix.EINTR) {
				return !errors.Is(serr, unix.EAGAIN)
			}
		}
	}); err != nil {
		return err
	}
	if serr == nil && n < len(b) {
		_, serr = c.f.Write(b[n:])
	}
	return serr
}

func (c *conn) recv(v any) error {
	sc, err := c.f.SyscallConn()
	if err != nil {
		return err
	}
	chunk, oob := make([]byte, 32<<10), make([]byte, unix.CmsgSpace(16*4))
	for {
		if i := bytes.IndexByte(c.buf, '\n'); i >= 0 {
			line := c.buf[:i]
			c.buf = c.buf[i+1:]
			return json.Unmarshal(line, v)
		}
		if len(c.buf) > maxRequest {
			return errors.New("message too long")
		}
		var n, on int
		var rerr error
		if err := sc.Read(func(fd uintptr) bool {
			for {
				n, on, _, _, rerr = unix.Recvmsg(int(fd), chunk, oob, unix.MSG_CMSG_CLOEXEC)
				if !errors.Is(rerr, unix.EINTR) {
					return !errors.Is(rerr, unix.EAGAIN)
				}
			}
		}); err != nil {
			return err
		}
		if rerr != nil {
			return rerr
		}
		c.take(oob[:on])
		if n == 0 {
			return io.EOF
		}
		c.buf = append(c.buf, chunk[:n]...)
	}
}

// take keeps the descriptors that came along.
func (c *conn) take(oob []byte) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return
	}
	for _, m := range msgs {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue
		}
		for _, fd := range fds {
			c.files = append(c.files, os.NewFile(uintptr(fd), "received"))
		}
	}
}

// file takes the next received descriptor, nil when there is none.
func (c *conn) file() *os.File {
	if len(c.files) == 0 {
		return nil
	}
	f := c.files[0]
	c.files = c.files[1:]
	return f
}

func (c *conn) close() {
	c.f.Close()
	for _, f := range c.files {
		f.Close()
	}
	c.files = nil
}

// listenControl listens in the working directory, which is the container's:
// the full path may be longer than a socket address. After the root changed
// the name means something else; the file is removed through s.dir.
func listenControl() (*os.File, error) {
	if err := os.Remove(ControlFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrUnix{Name: ControlFile})
	}
	if err == nil {
		err = os.Chmod(ControlFile, 0o600)
	}
	if err == nil {
		err = unix.Listen(fd, 128)
	}
	if err != nil {
		return nil, fmt.Errorf("listening for requests: %w", err)
	}
	return os.NewFile(uintptr(fd), "listener"), nil
}

func (s *shim) serve(l *os.File) {
	sc, err := l.SyscallConn()
	if err != nil {
		return
	}
	for {
		var fd int
		var aerr error
		err := sc.Read(func(lfd uintptr) bool {
			fd, _, aerr = unix.Accept4(int(lfd), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
			return aerr != unix.EAGAIN
		})
		switch {
		case err != nil:
			return
		case aerr == nil:
			go s.handle(newConn(fd))
		case aerr == unix.EMFILE || aerr == unix.ENFILE || aerr == unix.ENOMEM || aerr == unix.ENOBUFS:
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // others will end; a shim serves as long as it lives
		}
	}
}

func (s *shim) handle(c *conn) {
	defer c.close()
	var req request
	if err := c.recv(&req); err != nil {
		return
	}
	if os.Getenv(envPod) != "" && req.Op != opStart && req.Op != opStop && req.Op != opWatch {
		_ = c.send(response{Error: fmt.Sprintf("a Pod's process has no %q", req.Op)})
		return
	}
	switch req.Op {
	case opStop:
		s.stop(unix.Signal(req.Signal), time.Duration(req.Grace))
		_ = c.send(response{})
	case opStart:
		_ = c.send(errorResponse(s.startShim(c, req)))
	case opReopen:
		_ = c.send(errorResponse(s.log.reopen()))
	case opExec:
		s.exec(c, req)
	case opAttach:
		s.attach(c, req)
	case opWatch:
		<-s.ended
	default:
		_ = c.send(response{Error: fmt.Sprintf("unknown request %q", req.Op)})
	}
}

func errorResponse(err error) response {
	if err == nil {
		return response{}
	}
	return response{Error: err.Error(), ExitCode: ExitCode(err)}
}

// exec runs one more command in the container. When the connection ends first,
// the command and what belongs to its session is killed.
func (s *shim) exec(c *conn, req request) {
	if len(req.Args) == 0 {
		_ = c.send(response{Error: "exec: no command", ExitCode: 128})
		return
	}
	var std [3]*os.File
	var master *os.File
	env := s.spec.Env
	if req.TTY {
		var slave *os.File
		var err error
		if master, slave, err = openTTY(s.spec.User); err != nil {
			_ = c.send(errorResponse(err))
			return
		}
		std = [3]*os.File{slave, slave, slave}
		if lookEnv(env, "TERM") == "" {
			env = append(append([]string(nil), env...), "TERM=xterm")
		}
	} else {
		for i := range std {
			if std[i] = c.file(); std[i] == nil {
				_ = c.send(response{Error: "exec: standard files missing", ExitCode: 128})
				return
			}
			// Ends of Go's pipes do not block; programs expect theirs to.
			_ = unix.SetNonblock(int(std[i].Fd()), false)
		}
	}
	proc, err := s.launch(command{args: req.Args, env: env, dir: s.spec.Dir, stdio: std, tty: req.TTY, killWithParent: !s.pid1})
	for _, f := range std {
		f.Close()
	}
	if err != nil {
		if master != nil {
			master.Close()
		}
		_ = c.send(errorResponse(err))
		return
	}
	if master != nil {
		err = c.send(response{PID: proc.pid}, master)
		master.Close()
	} else {
		err = c.send(response{PID: proc.pid})
	}
	if err != nil {
		s.children.signalGroup(proc.pid, unix.SIGKILL)
		return
	}
	gone := make(chan struct{})
	go func() {
		var any json.RawMessage
		_ = c.recv(&any)
		close(gone)
	}()
	select {
	case ws := <-proc.done:
		code, _ := decode(ws)
		_ = c.send(response{Exited: true, ExitCode: code})
	case <-gone:
		s.children.signalGroup(proc.pid, unix.SIGKILL)
		<-proc.done
	}
}

// attach connects a client with the command until either goes away.
func (s *shim) attach(c *conn, req request) {
	var files [3]*os.File
	for i, want := range []bool{req.Stdin, req.Stdout, req.Stderr} {
		if !want {
			continue
		}
		if files[i] = c.file(); files[i] == nil {
			_ = c.send(response{Error: "attach: descriptors missing"})
			return
		}
	}
	var cancels []func()
	for i, name := range []string{"", "stdout", "stderr"} {
		if i > 0 && files[i] != nil {
			cancels = append(cancels, s.streams.watch(name, files[i]))
		}
	}
	if files[0] != nil {
		go s.streams.input(files[0])
	}
	var err error
	if tty := s.streams.terminal(); tty != nil {
		// The client writes and resizes the terminal itself.
		err = c.send(response{}, tty)
	} else {
		err = c.send(response{})
	}
	if err == nil {
		var any json.RawMessage
		_ = c.recv(&any) // until the client goes
	}
	for _, cancel := range cancels {
		cancel()
	}
}
