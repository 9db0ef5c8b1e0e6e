// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/ui/guard"
	"github.com/carillon-dev/carillon/internal/ui/login"
)

const (
	// headerWithin is how long the headers of a request may take to come in, and a handshake of TLS.
	headerWithin = 10 * time.Second
	// idleWithin is how long a connection stays open that nothing is asked on.
	idleWithin = 2 * time.Minute
	// writeWithin is how long a connection of HTTP/2 may take nothing, and how long it may be silent before it is asked
	// whether it still lives.
	writeWithin = 30 * time.Second
	// mostStreams is how many requests may go by one connection of HTTP/2 at once; browsers have one for all windows.
	mostStreams = 128
)

// ServerOptions are what a Server is made from.
type ServerOptions struct {
	// Listener is what Listen gave.
	Listener net.Listener
	// Certificate is that of TLS; nil without TLS.
	Certificate *Certificate
	// Hosts are names by which proxies and tunnels reach the page, "name" or "name:port".
	Hosts []string
	// Opener has the pages.
	Opener *Opener
	// Log is told of faults.
	Log *slog.Logger
}

// Server serves the page behind the guard: New, Serve, once each.
type Server struct {
	o     ServerOptions
	token string
	guard *guard.Guard
	http  *http.Server
}

// NewServer makes one, with a token of its own.
func NewServer(o ServerOptions) *Server {
	s := &Server{o: o, token: guard.NewToken()}
	listen := s.listen()
	hosts := guard.Hosts{Listen: listen}
	for _, name := range o.Hosts {
		hosts.Names = append(hosts.Names, strings.ToLower(name))
	}
	if o.Certificate != nil {
		hosts.Certificate = o.Certificate.Names
	}
	s.guard = guard.New(guard.Options{Token: s.token, Port: int(listen.Port()), Hosts: hosts, ReadOnly: o.Opener.ReadOnly,
		Pages: login.Pages{Site: o.Opener.outside()}, Log: o.Log})
	s.http = &http.Server{
		Handler: s.guard.Wrap(o.Opener), ConnContext: s.guard.ConnContext, ConnState: s.guard.ConnState,
		ReadHeaderTimeout: headerWithin, IdleTimeout: idleWithin, MaxHeaderBytes: guard.MaxHeaderBytes,
		HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: mostStreams, WriteByteTimeout: writeWithin, SendPingTimeout: writeWithin, PingTimeout: headerWithin},
		ErrorLog: log.New(connectionFaults{o.Log}, "", 0),
	}
	return s
}

func (s *Server) listen() netip.AddrPort {
	at, err := netip.ParseAddrPort(s.o.Listener.Addr().String())
	if err != nil {
		return netip.AddrPort{} // not a listener of TCP: no address is served
	}
	return at
}

// Serve serves until ctx ends, and then ends all connections at once. It closes the listener.
func (s *Server) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	listener := s.o.Listener
	if s.o.Certificate != nil {
		s.http.TLSConfig = s.o.Certificate.Config()
		listener = tls.NewListener(listener, s.http.TLSConfig)
	}
	s.http.BaseContext = func(net.Listener) context.Context { return ctx }
	defer context.AfterFunc(ctx, func() { _ = s.http.Close() })() // nobody is waited for
	if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// URL is the address of the page with the token.
func (s *Server) URL() string { return s.Address() + "?token=" + s.token }

// TicketURL is an address that can be given to a program of this machine: see guard.Ticket. It goes by no proxy, whose
// connections are not the user's.
func (s *Server) TicketURL() string { return s.addressBy(nil) + "?" + s.guard.Ticket() }

// Address is that of the page, without the token.
func (s *Server) Address() string { return s.addressBy(s.o.Hosts) }

// addressBy is the address by the first of some names of proxies, or of the listener if there is none.
func (s *Server) addressBy(hosts []string) string {
	listen := s.listen()
	scheme, host := "http", listen.Addr().Unmap().String()
	if s.o.Certificate != nil {
		scheme = "https"
		if name := s.o.Certificate.firstName(); name != "" {
			host = name
		}
	}
	if len(hosts) > 0 {
		host = hosts[0]
		if _, _, err := net.SplitHostPort(host); err == nil {
			return scheme + "://" + host + "/"
		}
	} else if address, err := netip.ParseAddr(host); err == nil && address.IsUnspecified() {
		host = ownAddress()
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(int(listen.Port()))) + "/"
}

// ownAddress is one of this machine that others reach.
func ownAddress() string {
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().IsGlobalUnicast() {
			return prefix.Addr().String()
		}
	}
	if name, err := os.Hostname(); err == nil {
		return name
	}
	return "localhost"
}

// connectionFaults takes what http.Server has to say of connections: what strangers send is no fault of ours.
type connectionFaults struct{ log *slog.Logger }

// Write implements io.Writer.
func (f connectionFaults) Write(b []byte) (int, error) {
	f.log.Debug("a connection to the page", "error", strings.TrimSpace(string(b)))
	return len(b), nil
}
