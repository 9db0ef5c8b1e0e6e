// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"time"
)

// streamCertificate makes the certificate with which exec, attach and
// port-forward are served on the address ip. It signs itself and nothing else,
// and its key is never written down: whoever trusts it trusts this process and
// nobody besides. It has no end, for it ends with the process.
func streamCertificate(ip net.IP) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("key for streams: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate for streams: %w", err)
	}
	template := x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "carillon streams"},
		// The clock of the machine has no say in whether we know ourselves; the
		// end is RFC 5280's for a certificate that has none.
		NotBefore:   time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:    time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{ip},
		// Not an authority: no certificate that it signed is believed.
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate for streams: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate for streams: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// StreamCertificate is what the streams of Exec, Attach and PortForward are
// served with, for the kubelet to trust. Valid once Ready; another one in each
// life of a Runtime.
func (r *Runtime) StreamCertificate() *x509.Certificate { return r.streamCert }
