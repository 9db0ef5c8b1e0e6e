// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	// authorityNotice is how long before its end the authority's user is told.
	authorityNotice = 365 * 24 * time.Hour
	// clockSlack lets an authority count as valid a little before it was made, for clocks that step back.
	clockSlack = time.Hour
)

// newAuthorityCure is how a user gets a new authority. It is never made unasked: every client that trusts the old one
// would be locked out, and the fault may lie with the clock.
const newAuthorityCure = "remove ca.pem and ca.crt there and start again: that makes a new authority, after which copies of the kubeconfig have to be made anew and Pods that call the API server have to be restarted"

// caFile is the path of the authority's certificate without its key, for those who only verify.
func (p *pki) caFile() string { return filepath.Join(p.dir, "ca.crt") }

func (p *pki) caPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.cert.Raw})
}

// openAuthority reads the authority, or makes it where there never was one. A crash between its two files leaves the
// one with the key, from which the other is made again.
func (p *pki) openAuthority(now time.Time) error {
	public, publicErr := readFile(p.caFile())
	pair, err := p.load("ca")
	switch {
	case errors.Is(err, fs.ErrNotExist) && errors.Is(publicErr, fs.ErrNotExist):
		if err := p.makeAuthority(now); err != nil {
			return err
		}
	case errors.Is(err, fs.ErrPermission):
		return unusableDir(p.dir, err)
	case err != nil:
		return fmt.Errorf("the certificate authority in %s cannot be read (%w): restore ca.pem from a backup, or %s", p.dir, err, newAuthorityCure)
	case !pair.Leaf.IsCA:
		return fmt.Errorf("the certificate in %s is not that of an authority: restore ca.pem from a backup, or %s", p.file("ca"), newAuthorityCure)
	default:
		p.cert, p.key = pair.Leaf, pair.PrivateKey.(crypto.Signer)
		if err := p.checkAuthority(now); err != nil {
			return err
		}
	}
	if publicErr != nil || !bytes.Equal(public, p.caPEM()) {
		if err := writeFile(p.caFile(), p.caPEM()); err != nil {
			return unusableDir(p.dir, err)
		}
	}
	return nil
}

// checkAuthority says what keeps the authority from being used now, and the cure.
func (p *pki) checkAuthority(now time.Time) error {
	clock, begin, end := instant(now), instant(p.cert.NotBefore), instant(p.cert.NotAfter)
	switch {
	case now.Before(p.cert.NotBefore):
		return fmt.Errorf("the clock of this machine says %s, but the certificate authority in %s is valid only from %s on: the clock is behind; set it (timedatectl shows whether it is kept in step) and start again", clock, p.dir, begin)
	case now.After(p.cert.NotAfter):
		return fmt.Errorf("the certificate authority in %s ended at %s and the clock says %s: if the clock is ahead, set it and start again; otherwise %s", p.dir, end, clock, newAuthorityCure)
	}
	return nil
}

// authorityEnds tells in time that the authority will end; empty while that is far away.
func (p *pki) authorityEnds(now time.Time) string {
	if p.cert.NotAfter.Sub(now) > authorityNotice {
		return ""
	}
	return fmt.Sprintf("the certificate authority in %s ends at %s, and nothing can be reached after that: when it suits, stop Carillon, %s", p.dir, instant(p.cert.NotAfter), newAuthorityCure)
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (p *pki) makeAuthority(now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template, err := newTemplate()
	if err != nil {
		return err
	}
	template.NotBefore, template.NotAfter = now.Add(-clockSlack), now.Add(authorityLife)
	template.Subject = pkix.Name{CommonName: "carillon-ca@" + now.UTC().Format("20060102")}
	template.IsCA = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return fmt.Errorf("make the certificate authority: %w", err)
	}
	if p.cert, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	p.key = key
	return p.store("ca", der, key)
}
