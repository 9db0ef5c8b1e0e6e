// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"net"
	"net/netip"
)

// peer is the user of this machine who has the other end of a connection. It is known where the system tells. It is not
// known of what comes from another machine, nor of what a stranger has made so that the system cannot tell.
type peer struct {
	known bool
	uid   uint32
}

// same tells whether a session that p has begun may be used by another: not by another user of the machine, nor, if p
// is known, by anybody who is not.
func (p peer) same(other peer) bool { return p == other }

// mayUseTicket tells whether it is the user of this process. Where the system tells whose a connection is, nobody else
// may: a ticket is for a browser on this machine.
func (p peer) mayUseTicket(uid int) bool {
	if !p.known {
		return !tellsUsers
	}
	return int64(p.uid) == int64(uid)
}

type peerKey struct{}

// ConnContext is for http.Server: it finds out who has made a connection.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	remote, errRemote := netip.ParseAddrPort(c.RemoteAddr().String())
	local, errLocal := netip.ParseAddrPort(c.LocalAddr().String())
	if errRemote != nil || errLocal != nil {
		return ctx
	}
	// Of all connections, not only those over loopback: this machine has other addresses, too, and no socket here has the
	// other end of a connection from elsewhere.
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
