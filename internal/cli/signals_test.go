// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

// Who reads the output and has enough ends a command quietly; a broken connection is told.
func TestExitCodeOfBrokenPipe(t *testing.T) {
	var said bytes.Buffer
	pipe := fmt.Errorf("write: %w", &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE})
	if code := exitCode(pipe, &said); code != exitcode.Interrupted || said.Len() > 0 {
		t.Errorf("exit code %d, said %q", code, &said)
	}
	connection := &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}
	if code := exitCode(connection, &said); code != exitcode.Failed || said.Len() == 0 {
		t.Errorf("of a connection: exit code %d, said %q", code, &said)
	}
}

// What may go on is told by commands that have started something.
func TestStoppedAtOnce(t *testing.T) {
	for command, want := range map[string]bool{"up": true, "run": true, "logs": false, "": false} {
		if got := stoppedAtOnce([]string{command}) != ""; got != want {
			t.Errorf("%q: %t", command, got)
		}
	}
}
