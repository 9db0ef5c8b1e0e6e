// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// other is a user of the system who is not the one of the test.
const other = 65534

// way is one in which somebody connects.
type way struct {
	uid int
	to  netip.Addr
	// mapped: by a socket of IPv6, to an address of IPv4. halfClosed: he says at once that he sends no more. closed: he
	// has gone already.
	mapped, halfClosed, closed bool
}

// dial connects that way to a port, and sends a text.
func (w way) dial(t *testing.T, port uint16, text string) *net.TCPConn {
	t.Helper()
	family := unix.AF_INET6
	if w.to.Is4() && !w.mapped {
		family = unix.AF_INET
	}
	fd := socketOf(t, family, w.uid)
	var to unix.Sockaddr = &unix.SockaddrInet6{Port: int(port), Addr: w.to.As16()}
	if family == unix.AF_INET {
		to = &unix.SockaddrInet4{Port: int(port), Addr: w.to.As4()}
	}
	if err := unix.Connect(fd, to); err != nil {
		t.Skip("this machine has no such addresses:", err)
	}
	file := os.NewFile(uintptr(fd), "connection")
	defer file.Close()
	c, err := net.FileConn(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	connection := c.(*net.TCPConn)
	if w.halfClosed {
		err = connection.CloseWrite()
	}
	if w.closed {
		_ = file.Close()
		err = connection.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

// socketOf is a socket of a user of the system.
func socketOf(t *testing.T, family, uid int) int {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, err := unix.SetfsuidRetUid(uid); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if was, _ := unix.SetfsuidRetUid(os.Geteuid()); was != uid {
		t.Skip("no sockets of other users can be made")
	}
	if err != nil {
		t.Skip("no such sockets:", err)
	}
	return fd
}

func lanAddress(t *testing.T) netip.Addr {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().Is4() && prefix.Addr().IsGlobalUnicast() {
			return prefix.Addr()
		}
	}
	return netip.Addr{}
}

// waysOf are those in which a user can connect to this machine, and the addresses to listen on for them.
func waysOf(t *testing.T, uid int) map[string]struct {
	listen string
	way
} {
	four, six := netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()
	ways := map[string]struct {
		listen string
		way
	}{
		"IPv4":                         {"127.0.0.1:0", way{uid: uid, to: four}},
		"IPv6":                         {"[::1]:0", way{uid: uid, to: six}},
		"IPv4 at all addresses":        {"[::]:0", way{uid: uid, to: four}},
		"IPv4 by a socket of IPv6":     {"127.0.0.1:0", way{uid: uid, to: four, mapped: true}},
		"the same, at all addresses":   {"[::]:0", way{uid: uid, to: four, mapped: true}},
		"half closed":                  {"127.0.0.1:0", way{uid: uid, to: four, halfClosed: true}},
		"half closed, IPv6":            {"[::1]:0", way{uid: uid, to: six, halfClosed: true}},
		"half closed, by a mapped one": {"127.0.0.1:0", way{uid: uid, to: four, mapped: true, halfClosed: true}},
	}
	if lan := lanAddress(t); lan.IsValid() {
		ways["an address that others reach"] = struct {
			listen string
			way
		}{"0.0.0.0:0", way{uid: uid, to: lan}}
	}
	return ways
}

// Who has the other end of a connection is known, whatever he does.
func TestConnContext(t *testing.T) {
	for _, uid := range []int{os.Geteuid(), other} {
		for name, test := range waysOf(t, uid) {
			t.Run(fmt.Sprint(name, ", ", uid), func(t *testing.T) {
				c, _ := accepted(t, test.listen, test.way)
				if got := peerOf(ConnContext(t.Context(), c)); !got.known || int(got.uid) != uid {
					t.Errorf("got %+v", got)
				}
			})
		}
	}
}

// Nobody holds a socket that is closed: the kernel calls it root's.
func TestConnContextOfClosed(t *testing.T) {
	c, _ := accepted(t, "127.0.0.1:0", way{uid: other, to: netip.MustParseAddr("127.0.0.1"), closed: true})
	if got := peerOf(ConnContext(t.Context(), c)); got.known {
		t.Errorf("got %+v", got)
	}
}

// accepted are both ends of a connection.
func accepted(t *testing.T, listen string, w way) (server net.Conn, client *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		t.Skip("this machine has no such addresses:", err)
	}
	t.Cleanup(func() { _ = l.Close() })
	client = w.dial(t, netip.MustParseAddrPort(l.Addr().String()).Port(), "")
	server, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server, client
}

// A ticket is for the user of the page, and for nobody else, however he connects.
func TestTicketOfAnotherUser(t *testing.T) {
	for _, uid := range []int{os.Geteuid(), other} {
		for name, test := range waysOf(t, uid) {
			t.Run(fmt.Sprint(name, ", ", uid), func(t *testing.T) {
				sent := make(chan struct{})
				g := newRig(t, func(o *Options, s *httptest.Server) {
					l, err := net.Listen("tcp", test.listen)
					if err != nil {
						t.Skip("this machine has no such addresses:", err)
					}
					_ = s.Listener.Close()
					s.Listener, o.Hosts.Listen = l, netip.MustParseAddrPort(l.Addr().String())
					s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
						<-sent // he is quicker
						return ConnContext(ctx, c)
					}
				})
				port := g.guard.o.Hosts.Listen.Port()
				c := test.dial(t, port, fmt.Sprintf("GET /?%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", g.guard.Ticket(), netip.AddrPortFrom(test.to, port)))
				close(sent)
				answer, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Body.Close()
				if uid == other {
					if answer.StatusCode != 401 || len(answer.Cookies()) > 0 {
						t.Errorf("another user gets %d, %v", answer.StatusCode, answer.Cookies())
					}
				} else if answer.StatusCode != 303 || len(answer.Cookies()) == 0 {
					t.Errorf("the user gets %d", answer.StatusCode)
				}
			})
		}
	}
}

// Of whom nothing is known, as of who comes from another machine, no ticket is taken, and no session that a user began.
func TestUnknownPeer(t *testing.T) {
	if (peer{}).mayUseTicket(os.Geteuid()) || (peer{known: true}).same(peer{}) || (peer{}).same(peer{known: true}) {
		t.Error("he may")
	}
}

// What the kernel says of something else is not believed.
func TestReadAnswer(t *testing.T) {
	local, remote := netip.MustParseAddrPort("127.0.0.1:40000"), netip.MustParseAddrPort("127.0.0.1:7311")
	id := socketID(local, remote)
	answer := func(change func(a []byte)) []byte {
		a := make([]byte, headerLength+answerLength)
		a[4], a[headerLength], a[headerLength+1] = diagByFamily, unix.AF_INET, 1
		a[headerLength+inodeAt] = 9
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
		"a listener":         {answer(func(a []byte) { a[headerLength+1] = listening }), false},
		"half closed":        {answer(func(a []byte) { a[headerLength+1] = 5 }), true},
		"held by nobody":     {answer(func(a []byte) { a[headerLength+inodeAt] = 0 }), false},
		"another port":       {answer(func(a []byte) { a[headerLength+idAt]++ }), false},
		"an error":           {answer(func(a []byte) { a[4] = 2 }), false},
		"a part of it":       {answer(nil)[:40], false},
		"nothing":            {nil, false},
		"another kind of id": {answer(func(a []byte) { a[headerLength+idAt+4] = 9 }), false},
	} {
		if uid, ok := readAnswer(test.a, local, remote); ok != test.ok || ok && uid != 7 {
			t.Errorf("%s: %d, %t", name, uid, ok)
		}
	}
}
