// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"net"
	"net/netip"
)

// peer is the user of this machine who has the other end of a connection. It is known of connections over loopback where
// the system tells.
type peer struct {
	known bool
	uid   uint32
}

// same tells whether a session that p has begun may be used by another: not by another user of the machine.
func (p peer) same(other peer) bool { return p == other }

// mayUseTicket tells whether it is the user of this process, or may be.
func (p peer) mayUseTicket(uid int) bool { return !p.known || int64(p.uid) == int64(uid) }

type peerKey struct{}

// ConnContext is for http.Server: it finds out who has made a connection.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	remote, errRemote := netip.ParseAddrPort(c.RemoteAddr().String())
	local, errLocal := netip.ParseAddrPort(c.LocalAddr().String())
	if errRemote != nil || errLocal != nil || !remote.Addr().IsLoopback() {
		return ctx
	}
	uid, ok := userOf(unmapped(remote), unmapped(local))
	return context.WithValue(ctx, peerKey{}, peer{ok, uid})
}

func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// peerOf is who has sent a request.
func peerOf(ctx context.Context) peer {
	p, _ := ctx.Value(peerKey{}).(peer)
	return p
}
