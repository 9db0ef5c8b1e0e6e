// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"crypto/x509"
	"fmt"
	"os"
)

// trustCertificate makes this process accept the certificate wherever the machine's own
// authorities are accepted, once in its life.
//
// The kubelet passes exec, attach and port-forward on to the address that the
// runtime names. For https it does so with Go's default TLS configuration, and
// nothing that can be injected changes that, so the certificate has to be among
// the authorities of the process. That it is one leaf, for one address, whose
// key is in this process's memory alone, keeps that from weakening anything.
func trustCertificate(certificate *x509.Certificate) error {
	roots, err := x509.SystemCertPool()
	if err != nil {
		// A machine without authorities of its own.
		roots = x509.NewCertPool()
	}
	roots.AddCert(certificate)

	// Without this setting SetFallbackRoots does nothing on a machine that has
	// authorities. It is read in that call alone.
	const name, setting = "GODEBUG", "x509usefallbackroots=1"
	before, was := os.LookupEnv(name)
	during := setting
	if before != "" {
		during = before + "," + setting
	}
	if err := os.Setenv(name, during); err != nil {
		return fmt.Errorf("trust the runtime's streams: %w", err)
	}
	x509.SetFallbackRoots(roots)
	if was {
		err = os.Setenv(name, before)
	} else {
		err = os.Unsetenv(name)
	}
	if err != nil {
		return fmt.Errorf("trust the runtime's streams: %w", err)
	}
	return nil
}
