// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pty is a terminal with the program in it.
type pty struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	ended  chan struct{}

	mu  sync.Mutex
	got bytes.Buffer
}

// onTerminal starts the program as a terminal emulator would: in a session of its own that the terminal controls.
func onTerminal(t *testing.T, tmpdir string, args ...string) *pty {
	t.Helper()
	// Not blocking, so that closing it does not wait for the reader.
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	master := os.NewFile(uintptr(fd), "ptmx")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Skip("no terminals here:", err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	p := &pty{t: t, master: master, ended: make(chan struct{}), cmd: exec.Command(carillon, args...)}
	p.cmd.Env = setEnv(environment(), "TMPDIR", tmpdir)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			p.mu.Lock()
			p.got.Write(buffer[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() {
		_ = p.cmd.Wait() // the exit code is in ProcessState
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		_ = master.Close()
	})
	return p
}

func (p *pty) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got.String()
}

// waitFor waits until the terminal shows a text.
func (p *pty) waitFor(text string) {
	p.t.Helper()
	until(p.t, fmt.Sprintf("%q on the terminal", text), func() bool {
		select {
		case <-p.ended:
			if !bytes.Contains([]byte(p.text()), []byte(text)) {
				p.t.Fatalf("it ended (%v) and showed:\n%s", p.cmd.ProcessState, p.text())
			}
		default:
		}
		return bytes.Contains([]byte(p.text()), []byte(text))
	})
}

// hangUp closes the terminal.
func (p *pty) hangUp() {
	p.t.Helper()
	if err := p.master.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		p.t.Fatal(err)
	}
}

// waitEnd returns the exit code.
func (p *pty) waitEnd() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(forever):
		p.t.Fatalf("it did not end within %v and showed:\n%s", forever, p.text())
	}
	return p.cmd.ProcessState.ExitCode()
}
