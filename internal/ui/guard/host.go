// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Hosts tell which addresses are served. A site can make its own name mean this machine (DNS rebinding), and its pages
// would then be of the same origin as ours; but a browser says by which name it came.
type Hosts struct {
	// Listen is the address of the listener. If that is of all addresses of the machine, each is served.
	Listen netip.AddrPort
	// Names are further ones, "name" for any port or "name:port", of a proxy or a tunnel before us. Small letters.
	Names []string
	// Certificate tells whether a name is one of the certificate of TLS; nil if there is none.
	Certificate func(name string) bool
}

// Serve tells whether a Host header is one of those.
func (h *Hosts) Serve(header string) bool {
	header = strings.ToLower(header)
	name, port := header, ""
	if n, p, err := net.SplitHostPort(header); err == nil {
		name, port = n, p
	} else {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	}
	if name == "" || strings.ContainsAny(name, "/@?#%\\ ") {
		return false
	}
	if slices.Contains(h.Names, name) || slices.Contains(h.Names, header) {
		return true
	}
	if port != strconv.Itoa(int(h.Listen.Port())) && (port != "" || !h.isDefault()) {
		return false
	}
	listen := h.Listen.Addr().Unmap()
	if address, err := netip.ParseAddr(name); err == nil {
		address = address.Unmap()
		return address == listen || listen.IsUnspecified() && !address.IsUnspecified()
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") { // browsers ask nobody what these mean
		return listen.IsLoopback() || listen.IsUnspecified()
	}
	return h.Certificate != nil && h.Certificate(name)
}

// isDefault: browsers leave out the port of https, and of http.
func (h *Hosts) isDefault() bool {
	return h.Certificate != nil && h.Listen.Port() == 443 || h.Certificate == nil && h.Listen.Port() == 80
}
