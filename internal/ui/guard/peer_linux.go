// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"encoding/binary"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// tellsUsers: the kernel tells whose a connection is.
const tellsUsers = true

// What the kernel's sock_diag(7) speaks.
const (
	diagByFamily  = 20 // SOCK_DIAG_BY_FAMILY
	listening     = 10 // TCP_LISTEN
	headerLength  = 16 // struct nlmsghdr
	requestLength = 56 // struct inet_diag_req_v2
	answerLength  = 72 // struct inet_diag_msg
	idAt          = 4  // struct inet_diag_sockid in an answer
	userAt        = 64 // idiag_uid in an answer
	inodeAt       = 68 // idiag_inode in an answer
)

// userOf asks the kernel whose the socket is that is bound to one address and connected to another.
func userOf(local, remote netip.AddrPort) (uid uint32, ok bool) {
	if local.Addr().Is4() != remote.Addr().Is4() {
		return 0, false
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return 0, false
	}
	defer func() { _ = unix.Close(fd) }() // it was only asked
	soon := unix.NsecToTimeval(int64(time.Second))
	if unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &soon) != nil {
		return 0, false
	}
	if unix.Sendto(fd, question(local, remote), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) != nil {
		return 0, false
	}
	buffer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, buffer, 0)
	if err != nil {
		return 0, false
	}
	return readAnswer(buffer[:n], local, remote)
}

// question asks for one socket.
func question(local, remote netip.AddrPort) []byte {
	q := make([]byte, headerLength, headerLength+requestLength)
	binary.NativeEndian.PutUint32(q[0:], headerLength+requestLength)
	binary.NativeEndian.PutUint16(q[4:], diagByFamily)
	binary.NativeEndian.PutUint16(q[6:], unix.NLM_F_REQUEST)
	family := byte(unix.AF_INET6)
	if local.Addr().Is4() {
		family = unix.AF_INET
	}
	q = append(q, family, unix.IPPROTO_TCP, 0, 0)
	q = binary.NativeEndian.AppendUint32(q, ^uint32(0)) // in any state
	q = append(q, socketID(local, remote)...)
	q = binary.NativeEndian.AppendUint32(q, 0)             // any interface
	return binary.NativeEndian.AppendUint64(q, ^uint64(0)) // no cookie
}

// socketID is what a socket is known by: its ports and addresses.
func socketID(local, remote netip.AddrPort) []byte {
	id := binary.BigEndian.AppendUint16(nil, local.Port())
	id = binary.BigEndian.AppendUint16(id, remote.Port())
	for _, a := range []netip.Addr{local.Addr(), remote.Addr()} {
		padded := make([]byte, 16)
		copy(padded, a.AsSlice())
		id = append(id, padded...)
	}
	return id
}

// readAnswer gives the user of the socket that was asked for. It may be half closed already, but somebody must still
// hold it: of a socket that was closed the kernel tells no inode, and 0 for the user. It tells of a listener where it
// finds no such connection, which is not it.
func readAnswer(a []byte, local, remote netip.AddrPort) (uid uint32, ok bool) {
	if len(a) < headerLength+answerLength || binary.NativeEndian.Uint16(a[4:]) != diagByFamily {
		return 0, false
	}
	a = a[headerLength:]
	if a[1] == listening || binary.NativeEndian.Uint32(a[inodeAt:]) == 0 || !isSocket(a[0], a[idAt:], local, remote) {
		return 0, false
	}
	return binary.NativeEndian.Uint32(a[userAt:]), true
}

// isSocket tells whether an answer is about the socket between two addresses. A socket of IPv6 can be connected by
// IPv4: its addresses are mapped then.
func isSocket(family byte, id []byte, local, remote netip.AddrPort) bool {
	for n, want := range []netip.AddrPort{local, remote} {
		at := id[4+16*n:][:16]
		size := 16
		if family == unix.AF_INET {
			size = 4
		}
		got, _ := netip.AddrFromSlice(at[:size]) // of 4 or 16 bytes it always is one
		if binary.BigEndian.Uint16(id[2*n:]) != want.Port() || got.Unmap() != want.Addr() {
			return false
		}
	}
	return true
}
