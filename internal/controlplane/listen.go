// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// portFile remembers in the data directory which port a start with port 0 was given, so that kubeconfigs in use
// elsewhere stay right over restarts.
const portFile = "port"

// listen opens the API server's address. With port 0 it prefers the remembered port and records the one it got.
func listen(ctx context.Context, dataDir, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	if port != "0" {
		l, err := config.Listen(ctx, "tcp", address)
		if err != nil {
			return nil, cannotListen(address, err)
		}
		return l, nil
	}

	memory := filepath.Join(dataDir, portFile)
	if text, err := readFile(memory); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && n > 0 && n <= 65535 {
			if l, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(n))); err == nil {
				return l, nil
			}
		}
	}
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, cannotListen(address, err)
	}
	chosen := l.Addr().(*net.TCPAddr).Port
	if err := writeFile(memory, []byte(strconv.Itoa(chosen)+"\n")); err != nil {
		l.Close()
		return nil, unusableDir(dataDir, err)
	}
	return l, nil
}

func cannotListen(address string, err error) error {
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return fmt.Errorf("cannot listen on %s: another program uses that port; stop it, or choose another port with --listen (port 0 picks a free one)", address)
	case errors.Is(err, unix.EACCES):
		return fmt.Errorf("cannot listen on %s: ports below 1024 need privileges; choose a higher one with --listen", address)
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return fmt.Errorf("cannot listen on %s: this machine has no such address; choose one of its own with --listen, 127.0.0.1 for this machine alone", address)
	}
	return fmt.Errorf("cannot listen on %s; choose another address with --listen: %w", address, err)
}

// dialable is the address under which this machine reaches a listener: loopback where the listener takes every
// address.
func dialable(listener *net.TCPAddr) string {
	ip := listener.IP
	if ip.IsUnspecified() {
		ip = net.IPv4(127, 0, 0, 1)
	}
	return net.JoinHostPort(ip.String(), strconv.Itoa(listener.Port))
}
