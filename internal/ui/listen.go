// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

// DefaultListen is where the page is served unless told otherwise.
const DefaultListen = "127.0.0.1:7311"

// nextPorts is how many ports after the default are tried before any that is free is taken.
const nextPorts = 20

// Listen opens the listener of the page. flag names the one that the address comes from, and asked says that the user
// gave it: then no other port is taken. encrypted says that the page is served over TLS, without which other machines
// are not let in.
func Listen(address, flag string, asked, encrypted bool) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, exitcode.UsageError("%s %s: it is HOST:PORT, such as %s", flag, address, DefaultListen)
	}
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, exitcode.UsageError("%s %s: %w", flag, address, err)
	}
	if !encrypted && !at.IP.IsLoopback() {
		return nil, exitcode.UsageError("%s %s would let other machines in without encryption: %s", flag, address, howToLetIn(flag, port))
	}
	listener, err := net.ListenTCP("tcp", at)
	for n := 1; !asked && errors.Is(err, syscall.EADDRINUSE) && n <= nextPorts; n++ {
		next := *at
		next.Port += n
		if n == nextPorts {
			next.Port = 0
		}
		listener, err = net.ListenTCP("tcp", &next)
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, exitcode.UsageError("%s %s: another program listens there; %s takes a free port", flag, address, flag+" "+net.JoinHostPort(host, "0"))
	case err != nil:
		return nil, exitcode.UsageError("%s %s: %w", flag, address, err)
	}
	return listener, nil
}

func howToLetIn(flag, port string) string {
	tunnel := port
	if n, err := strconv.Atoi(port); err != nil || n == 0 {
		tunnel = "7311"
	}
	stay := fmt.Sprintf("stay on 127.0.0.1, and come from elsewhere through a tunnel (ssh -L %s:127.0.0.1:%s THIS-MACHINE)", tunnel, tunnel)
	if flag != "--listen" {
		return stay + ", or start carillon ui --listen beside it, which can do TLS"
	}
	return "name a certificate with --tls-cert-file and --tls-private-key-file, or " + stay
}
