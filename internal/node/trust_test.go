// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// After trust, and not before, a client with Go's default TLS configuration,
// which is the kubelet's for streams, accepts the certificate. The authorities
// of the machine stay, and the environment is as it was.
func TestTrust(t *testing.T) {
	t.Setenv("GODEBUG", "madvdontneed=1")
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	before, err := x509.SystemCertPool()
	if err != nil {
		before = x509.NewCertPool()
	}
	dial := func() error {
		conn, err := tls.Dial("tcp", server.Listener.Addr().String(), nil)
		if err == nil {
			conn.Close()
		}
		return err
	}
	if dial() == nil {
		t.Fatal("accepted beforehand")
	}
	if err := trustCertificate(server.Certificate()); err != nil {
		t.Fatal(err)
	}
	if err := dial(); err != nil {
		t.Errorf("not accepted: %v", err)
	}
	if got := os.Getenv("GODEBUG"); got != "madvdontneed=1" {
		t.Errorf("GODEBUG is %q", got)
	}
	before.AddCert(server.Certificate())
	if now, err := x509.SystemCertPool(); err != nil || !now.Equal(before) {
		t.Errorf("the authorities of the machine are not those of before and one more (%v)", err)
	}
}
