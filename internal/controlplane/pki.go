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
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// How long certificates live, and how much must be left of them at a start. A start renews what has less, so that a
// process may run for years. (A process has to be started again within 14 months in any case: the API server's own
// loopback certificate ends then.)
const (
	authorityLife  = 20 * 365 * 24 * time.Hour
	authorityLeast = 10 * 365 * 24 * time.Hour
	leafLife       = 5 * 365 * 24 * time.Hour
	leafLeast      = 3 * 365 * 24 * time.Hour
	// clockSlack lets certificates count as valid a little before they were made, for clocks that step back.
	clockSlack = time.Hour
)

// pki is one certificate authority and what it signed, kept as files in a directory. A certificate and its key share
// one PEM file, so that a crash cannot separate them. The authority signs servers and clients alike: it exists for one
// machine, and both ends of every connection are ours.
type pki struct {
	dir  string
	now  time.Time
	cert *x509.Certificate
	key  crypto.Signer
}

// openPKI reads the authority in dir or makes it, also when the one there is damaged or near its end. Every
// certificate of a replaced authority is then replaced when it is asked for.
func openPKI(dir string, now time.Time) (*pki, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unusableDir(dir, err)
	}
	p := &pki{dir: dir, now: now}
	if pair, ok := p.load("ca", authorityLeast); ok && pair.Leaf.IsCA {
		p.cert, p.key = pair.Leaf, pair.PrivateKey.(crypto.Signer)
	} else if err := p.makeAuthority(); err != nil {
		return nil, err
	}
	if have, err := os.ReadFile(p.caFile()); err != nil || !bytes.Equal(have, p.caPEM()) {
		if err := writeFile(p.caFile(), p.caPEM()); err != nil {
			return nil, unusableDir(dir, err)
		}
	}
	return p, nil
}

// caFile is the path of the authority's certificate without its key, for those who only verify.
func (p *pki) caFile() string { return filepath.Join(p.dir, "ca.crt") }

func (p *pki) caPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.cert.Raw})
}

func (p *pki) file(name string) string { return filepath.Join(p.dir, name+".pem") }

func (p *pki) makeAuthority() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template, err := p.template(authorityLife)
	if err != nil {
		return err
	}
	template.Subject = pkix.Name{CommonName: "carillon-ca@" + p.now.UTC().Format("20060102")}
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

// subject is what a certificate is to say.
type subject struct {
	name   string
	groups []string
	// hosts are the DNS names and IP addresses of a server; a certificate with hosts serves and one without is a
	// client's.
	hosts []string
}

// issue gives the path of the file that holds the named certificate and its key. It makes them if they are missing,
// damaged, near their end, signed by another authority, or do not say what s says.
func (p *pki) issue(name string, s subject) (string, error) {
	if pair, ok := p.load(name, leafLeast); ok && p.says(pair.Leaf, s) {
		return p.file(name), nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	template, err := p.template(leafLife)
	if err != nil {
		return "", err
	}
	template.Subject = pkix.Name{CommonName: s.name, Organization: s.groups}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(s.hosts) > 0 {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	for _, host := range s.hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, p.cert, key.Public(), p.key)
	if err != nil {
		return "", fmt.Errorf("sign the certificate %q: %w", name, err)
	}
	if err := p.store(name, der, key); err != nil {
		return "", err
	}
	return p.file(name), nil
}

// signingKey gives the path of a private key that needs no certificate: the one that signs service account tokens. It
// is never renewed, since that would void every token.
func (p *pki) signingKey(name string) (string, error) {
	path := filepath.Join(p.dir, name+".key")
	data, err := os.ReadFile(path)
	if err == nil {
		if block, _ := pem.Decode(data); block != nil {
			if _, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
				return path, nil
			}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", unusableDir(p.dir, err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return "", err
	}
	if err := writeFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})); err != nil {
		return "", unusableDir(p.dir, err)
	}
	return path, nil
}

func (p *pki) template(life time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber:          serial,
		NotBefore:             p.now.Add(-clockSlack),
		NotAfter:              p.now.Add(life),
		BasicConstraintsValid: true,
	}, nil
}

// load reads a certificate with its key. It is not ok unless the two belong together and the certificate is valid now
// and for at least that long.
func (p *pki) load(name string, least time.Duration) (tls.Certificate, bool) {
	data, err := os.ReadFile(p.file(name))
	if err != nil {
		return tls.Certificate{}, false
	}
	pair, err := tls.X509KeyPair(data, data)
	if err != nil || pair.Leaf == nil {
		return tls.Certificate{}, false
	}
	if p.now.Before(pair.Leaf.NotBefore) || p.now.Add(least).After(pair.Leaf.NotAfter) {
		return tls.Certificate{}, false
	}
	return pair, true
}

func (p *pki) says(cert *x509.Certificate, s subject) bool {
	if cert.CheckSignatureFrom(p.cert) != nil || cert.Subject.CommonName != s.name || !slices.Equal(cert.Subject.Organization, s.groups) {
		return false
	}
	for _, host := range s.hosts {
		if cert.VerifyHostname(host) != nil {
			return false
		}
	}
	return true
}

func (p *pki) store(name string, der []byte, key *ecdsa.PrivateKey) error {
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	data = append(data, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})...)
	if err := writeFile(p.file(name), data); err != nil {
		return unusableDir(p.dir, err)
	}
	return nil
}
