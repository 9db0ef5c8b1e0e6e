// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// What goes through exec, attach and cp is not to be read on the loopback
// interface, which whoever has NET_RAW sees all of; and all of them work.
func TestStreamsCannotBeRead(t *testing.T) {
	words := map[string]string{"exec": "tresor-5f1c", "attach": "tresor-a77b", "cp": "tresor-c0de"}
	u := startReady(t, newDataDir(t), "-f", write(t, shellJob{
		name:   "talk",
		script: "while test ! -e /tmp/stop; do echo " + words["attach"] + "; sleep 0.05; done",
	}.String()))
	pod := u.pod("talk", "running", running).Name
	wire := listen(t)

	if got := u.tryKubectl(words["exec"], "exec", "-i", pod, "--", "cat"); got.code != 0 || got.stdout != words["exec"] {
		t.Errorf("exec: %+v", got)
	}
	file := write(t, words["cp"])
	u.kubectl("cp", file, pod+":/tmp/here")
	if got := u.kubectl("exec", pod, "--", "cat", "/tmp/here"); got != words["cp"] {
		t.Errorf("copied %q", got)
	}
	if line := u.attach(pod, func() { u.kubectl("exec", pod, "--", "touch", "/tmp/stop") }); line != words["attach"] {
		t.Errorf("attach: %q", line)
	}

	// What does go in clear text is seen, or this test could not fail.
	const control = "tresor-open"
	sayInClear(t, control)
	until(t, "what was said in clear text", func() bool { return wire.saw(control) })
	for command, word := range words {
		if wire.saw(word) {
			t.Errorf("what went through %s could be read on the loopback interface", command)
		}
	}
}

// port-forward reaches a port of a Pod.
func TestPortForward(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(conn, conn)
			conn.Close()
		}
	}()
	// Pods have the machine's network, so any port of it is one of theirs.
	port := listener.Addr().(*net.TCPAddr).Port
	u := startReady(t, newDataDir(t), "-f", write(t, shellJob{name: "serve", script: "exec sleep 31.4159031"}.String()))
	pod := u.pod("serve", "running", running).Name

	ctx, cancel := context.WithTimeout(t.Context(), forever)
	defer cancel()
	forward := exec.CommandContext(ctx, carillon, "kubectl", "--data-dir", u.dataDir, "port-forward", pod, fmt.Sprintf(":%d", port))
	forward.Env = environment()
	out, err := forward.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := forward.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = forward.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("port-forward said %q: %v", line, err)
	}
	address, _, _ := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " ")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	echo := make([]byte, 5)
	if _, err := io.ReadFull(conn, echo); err != nil || string(echo) != "hello" {
		t.Errorf("came back %q, %v", echo, err)
	}
}

// attach runs "kubectl attach", calls end after the first line, and returns
// that line when the command has ended.
func (u *up) attach(pod string, end func()) string {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), forever)
	defer cancel()
	cmd := exec.CommandContext(ctx, carillon, "kubectl", "--data-dir", u.dataDir, "attach", pod)
	cmd.Env = environment()
	out, err := cmd.StdoutPipe()
	if err != nil {
		u.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	first := lines.Text()
	end()
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		u.t.Errorf("attach: %v", err)
	}
	return first
}

// wire is all that went over the loopback interface.
type wire struct {
	mu   sync.Mutex
	said map[string]bool
}

// listen opens the loopback interface as a program with NET_RAW can.
func listen(t *testing.T) *wire {
	t.Helper()
	const every = 0x0300 // ETH_P_ALL in network order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, every)
	if err != nil {
		t.Skipf("a packet socket cannot be opened, so nothing can be overheard here: %v", err)
	}
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: every, Ifindex: lo.Index}); err != nil {
		t.Fatal(err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20) // as much as there is, else
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 200_000}); err != nil {
		t.Fatal(err)
	}
	w := &wire{said: map[string]bool{}}
	stop, done := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-done; _ = unix.Close(fd) })
	go func() {
		defer close(done)
		packet := make([]byte, 1<<17)
		for {
			select {
			case <-stop:
				return
			default:
			}
			n, _, err := unix.Recvfrom(fd, packet, 0)
			if err != nil {
				continue
			}
			w.hear(packet[:n])
		}
	}()
	return w
}

// hear keeps the words of interest, "tresor-" and four characters.
func (w *wire) hear(packet []byte) {
	for rest := packet; ; {
		at := bytes.Index(rest, []byte("tresor-"))
		if at < 0 || len(rest) < at+11 {
			return
		}
		w.mu.Lock()
		w.said[string(rest[at:at+11])] = true
		w.mu.Unlock()
		rest = rest[at+11:]
	}
}

func (w *wire) saw(word string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said[word]
}

// sayInClear sends a word over a plain connection on the loopback interface.
func sayInClear(t *testing.T, word string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, word); err != nil {
		t.Fatal(err)
	}
}
