// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
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
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/keyutil"
)

const (
	// DefaultSigningDuration is how long the certificates that the authority signs are valid, unless
	// Options.SigningDuration says otherwise. They are replaced when a third of that is left.
	DefaultSigningDuration = 365 * 24 * time.Hour
	// LeastSigningDuration is the shortest choice: what serves looks at its files once in a while.
	LeastSigningDuration = time.Minute
	// processLife is how long a process can serve: the API server's certificate for its calls to itself ends then, and
	// upstream renews it at a start alone.
	processLife = 3 * 365 * 24 * time.Hour
)

// pki is one certificate authority and what it signed, kept as files in a directory. A certificate and its key share
// one PEM file, so that a crash cannot separate them. The authority signs servers and clients alike: it exists for one
// machine, and both ends of every connection are ours. Its methods may be called from several goroutines.
type pki struct {
	dir  string
	life time.Duration // of what is signed
	cert *x509.Certificate
	key  crypto.Signer

	mu sync.Mutex
	// issued is what renew looks after.
	issued map[string]subject
}

// openPKI reads the authority in dir, or makes it if there is none. One that cannot be used now is an error and stays
// as it is.
func openPKI(dir string, now time.Time, life time.Duration) (*pki, error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	p := &pki{dir: dir, life: life, issued: map[string]subject{}}
	return p, p.openAuthority(now)
}

func (p *pki) file(name string) string { return filepath.Join(p.dir, name+".pem") }

// subject is what a certificate is to say.
type subject struct {
	name   string
	groups []string
	// hosts are the DNS names and IP addresses of a server; a certificate with hosts serves and one without is a
	// client's.
	hosts []string
}

// issue gives the path of the file that holds the named certificate and its key, which renew looks after from now on.
// It makes them if they are missing, damaged, near their end, signed by another authority, or do not say what s says.
func (p *pki) issue(name string, s subject, now time.Time) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.issued[name] = s
	_, err := p.renewOne(name, s, now)
	return p.file(name), err
}

// renew replaces what was issued and is near its end, and names it. What cannot be replaced does not keep the rest from
// it.
func (p *pki) renew(now time.Time) (renewed []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for name, s := range p.issued {
		changed, err := p.renewOne(name, s, now)
		if changed {
			renewed = append(renewed, name)
		}
		errs = append(errs, err)
	}
	slices.Sort(renewed)
	return renewed, errors.Join(errs...)
}

func (p *pki) renewOne(name string, s subject, now time.Time) (bool, error) {
	if pair, err := p.load(name); err == nil && p.says(pair.Leaf, s) && !p.due(pair.Leaf, now) {
		return false, nil
	}
	return true, p.make(name, s, now, p.life)
}

// due tells whether a certificate is to be replaced: a third of its life is left, or the clock is before its begin.
// Where another would begin no sooner or end no later, because the authority does not, it stays.
func (p *pki) due(leaf *x509.Certificate, now time.Time) bool {
	early := now.Before(leaf.NotBefore) && leaf.NotBefore.After(p.cert.NotBefore)
	late := leaf.NotAfter.Sub(now) < p.life/3 && leaf.NotAfter.Before(p.cert.NotAfter)
	return early || late
}

// make signs a certificate for a new key and stores both.
func (p *pki) make(name string, s subject, now time.Time, life time.Duration) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template, err := newTemplate()
	if err != nil {
		return err
	}
	// A clock that is set back does not make what is in use invalid.
	template.NotBefore = p.cert.NotBefore
	if template.NotAfter = now.Add(life); template.NotAfter.After(p.cert.NotAfter) {
		template.NotAfter = p.cert.NotAfter
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
		return fmt.Errorf("sign the certificate %q: %w", name, err)
	}
	return p.store(name, der, key)
}

// signingKey gives the path of a private key that needs no certificate: the one that signs service account tokens. It
// is made when there is none, and never replaced, since that would void every token.
func (p *pki) signingKey(name string) (string, error) {
	path := filepath.Join(p.dir, name+".key")
	data, err := readFile(path)
	if err == nil {
		if _, err := keyutil.ParsePrivateKeyPEM(data); err != nil {
			return "", fmt.Errorf("%s holds no private key (%w): restore it from a backup, or remove it and start again, which makes a new key and voids the tokens of running Pods", path, err)
		}
		return path, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
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

func newTemplate() (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{SerialNumber: serial, BasicConstraintsValid: true}, nil
}

// load reads a certificate with its key, which must belong together.
func (p *pki) load(name string) (tls.Certificate, error) {
	data, err := readFile(p.file(name))
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(data, data)
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
