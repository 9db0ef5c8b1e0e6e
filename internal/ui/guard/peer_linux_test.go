// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

// accepted is a connection to a listener, whose other end a process of a user of the system holds.
func accepted(t *testing.T, listen, dial string, uid int) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		t.Skip("this machine has no such addresses:", err)
	}
	t.Cleanup(func() { _ = l.Close() })
	to := netip.MustParseAddrPort(l.Addr().String()).Port()
	if uid == os.Geteuid() {
		c, err := net.Dial("tcp", net.JoinHostPort(dial, strconv.Itoa(int(to))))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	} else {
		holder := exec.Command("bash", "-c", "exec 3<>/dev/tcp/"+dial+"/"+strconv.Itoa(int(to))+" && read -u 3")
		holder.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		if err := holder.Start(); err != nil {
			t.Skip("no process of another user:", err)
		}
		t.Cleanup(func() { _ = holder.Process.Kill(); _ = holder.Wait() })
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Who has the other end of a connection is known, over each kind of loopback.
func TestConnContext(t *testing.T) {
	const other = 65534
	for name, test := range map[string]struct {
		listen, dial string
		uid          int
	}{
		"IPv4":                       {"127.0.0.1:0", "127.0.0.1", os.Geteuid()},
		"IPv6":                       {"[::1]:0", "::1", os.Geteuid()},
		"IPv4 at all addresses":      {"[::]:0", "127.0.0.1", os.Geteuid()},
		"another user of the system": {"127.0.0.1:0", "127.0.0.1", other},
	} {
		t.Run(name, func(t *testing.T) {
			c := accepted(t, test.listen, test.dial, test.uid)
			got := peerOf(ConnContext(t.Context(), c))
			if !got.known || int(got.uid) != test.uid {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// What the kernel says of something else is not believed.
func TestReadAnswer(t *testing.T) {
	local, remote := netip.MustParseAddrPort("127.0.0.1:40000"), netip.MustParseAddrPort("127.0.0.1:7311")
	id := socketID(local, remote)
	answer := func(change func(a []byte)) []byte {
		a := make([]byte, headerLength+answerLength)
		a[4], a[headerLength+1] = diagByFamily, established
		copy(a[headerLength+idAt:], id)
		a[headerLength+userAt] = 7
		if change != nil {
			change(a)
		}
		return a
	}
	for name, test := range map[string]struct {
		a  []byte
		ok bool
	}{
		"the socket":         {answer(nil), true},
		"a listener":         {answer(func(a []byte) { a[headerLength+1] = 10 }), false},
		"another port":       {answer(func(a []byte) { a[headerLength+idAt]++ }), false},
		"an error":           {answer(func(a []byte) { a[4] = 2 }), false},
		"a part of it":       {answer(nil)[:40], false},
		"nothing":            {nil, false},
		"another kind of id": {answer(func(a []byte) { a[headerLength+idAt+4] = 9 }), false},
	} {
		if uid, ok := readAnswer(test.a, id); ok != test.ok || ok && uid != 7 {
			t.Errorf("%s: %d, %t", name, uid, ok)
		}
	}
}
