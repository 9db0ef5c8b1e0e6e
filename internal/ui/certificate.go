// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

// Certificate is that of the page, from two files, which are read again when they have changed. Its methods may be
// called at once.
type Certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	loaded  *tls.Certificate
	stamp   [2]fileStamp
	told    [2]fileStamp // of files that could not be read
	checked time.Time
}

// fileStamp tells that a file has changed.
type fileStamp struct {
	at   time.Time
	size int64
}

// checkEvery is how often the files are looked at, at most.
const checkEvery = time.Second

// LoadCertificate reads the certificate and its key; nil if neither is named. log is told when they cannot be read
// later: the ones from before serve on.
func LoadCertificate(certFile, keyFile string, log *slog.Logger) (*Certificate, error) {
	if certFile == "" && keyFile == "" {
		return nil, nil //nolint:nilnil // documented: none is named
	}
	if certFile == "" || keyFile == "" {
		return nil, exitcode.UsageError("--tls-cert-file and --tls-private-key-file go together: name both")
	}
	c := &Certificate{certFile: certFile, keyFile: keyFile, log: log}
	if err := c.load(); err != nil {
		return nil, exitcode.UsageError("--tls-cert-file %s, --tls-private-key-file %s: %w", certFile, keyFile, err)
	}
	c.stamp = c.stamps()
	return c, nil
}

func (c *Certificate) stamps() (s [2]fileStamp) {
	for i, name := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(name); err == nil {
			s[i] = fileStamp{info.ModTime(), info.Size()}
		}
	}
	return s
}

func (c *Certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	if until := pair.Leaf.NotAfter; time.Now().After(until) {
		return fmt.Errorf("the certificate ended on %s", until.Format(time.DateOnly))
	}
	c.loaded = &pair
	return nil
}

// current gives the certificate as the files have it now, or had it when they last made one.
func (c *Certificate) current() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.checked) < checkEvery {
		return c.loaded
	}
	c.checked = now
	stamp := c.stamps()
	if stamp == c.stamp {
		return c.loaded
	}
	if err := c.load(); err != nil {
		// The two files do not change in one moment: this may be over at the next look.
		if stamp != c.told {
			c.told = stamp
			c.log.Warn("the certificate of the page cannot be read again; the one from before is used", "file", c.certFile, "error", err)
		}
		return c.loaded
	}
	c.stamp = stamp
	return c.loaded
}

// Config is for a listener of TLS.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(), nil },
	}
}

// Names tells whether the certificate is for a name.
func (c *Certificate) Names(name string) bool { return c.current().Leaf.VerifyHostname(name) == nil }

// firstName is a name that the certificate is for; "" if it has none that can be an address.
func (c *Certificate) firstName() string {
	leaf := c.current().Leaf
	for _, name := range leaf.DNSNames {
		if c.Names(name) { // not *.example.org
			return name
		}
	}
	for _, address := range leaf.IPAddresses {
		return address.String()
	}
	return ""
}
