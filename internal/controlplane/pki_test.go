// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"bytes"
	"crypto/x509"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A certificate is kept from start to start, and replaced when it no longer serves: near its end, damaged, for other
// names, or signed by an authority that is gone.
func TestIssue(t *testing.T) {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	want := subject{name: "server", groups: []string{"g"}, hosts: []string{"one.example", "127.0.0.1"}}
	tests := map[string]struct {
		later    time.Duration
		between  func(t *testing.T, dir string)
		subject  subject
		replaced bool
	}{
		"the next start keeps it":              {later: 24 * time.Hour, subject: want},
		"a clock a little behind keeps it":     {later: -30 * time.Minute, subject: want},
		"a clock before its making":            {later: -48 * time.Hour, subject: want, replaced: true},
		"too little of its life is left":       {later: leafLife - leafLeast + time.Hour, subject: want, replaced: true},
		"enough of its life is left":           {later: leafLife - leafLeast - time.Hour, subject: want},
		"the authority is near its end":        {later: authorityLife - authorityLeast + time.Hour, subject: want, replaced: true},
		"fewer hosts are covered":              {subject: subject{name: "server", groups: []string{"g"}, hosts: []string{"127.0.0.1"}}},
		"another host is not":                  {subject: subject{name: "server", groups: []string{"g"}, hosts: []string{"two.example"}}, replaced: true},
		"another address is not":               {subject: subject{name: "server", groups: []string{"g"}, hosts: []string{"127.0.0.2"}}, replaced: true},
		"another name":                         {subject: subject{name: "other", groups: []string{"g"}}, replaced: true},
		"another group":                        {subject: subject{name: "server", groups: []string{"h"}}, replaced: true},
		"the file was cut short":               {between: truncate("leaf.pem"), subject: want, replaced: true},
		"the authority's file was cut short":   {between: truncate("ca.pem"), subject: want, replaced: true},
		"the authority's public part was lost": {between: remove("ca.crt"), subject: want},
		"the certificate was lost":             {between: remove("leaf.pem"), subject: want, replaced: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "pki")
			first := open(t, dir, begin)
			path, err := first.issue("leaf", want)
			if err != nil {
				t.Fatal(err)
			}
			before := read(t, path)
			if test.between != nil {
				test.between(t, dir)
			}
			second := open(t, dir, begin.Add(test.later))
			path, err = second.issue("leaf", test.subject)
			if err != nil {
				t.Fatal(err)
			}
			if replaced := !bytes.Equal(before, read(t, path)); replaced != test.replaced {
				t.Errorf("replaced: %t, want %t", replaced, test.replaced)
			}

			// Whatever happened, what there is now works.
			pair, ok := second.load("leaf", leafLeast)
			if !ok {
				t.Fatal("the certificate does not load")
			}
			roots := x509.NewCertPool()
			if !roots.AppendCertsFromPEM(read(t, second.caFile())) {
				t.Fatal("the authority's public part holds no certificate")
			}
			for _, host := range append(test.subject.hosts, "") {
				_, err := pair.Leaf.Verify(x509.VerifyOptions{
					Roots: roots, DNSName: host, CurrentTime: begin.Add(test.later), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
				})
				if err != nil {
					t.Errorf("verify for %q: %v", host, err)
				}
			}
		})
	}
}

// Keys are for the owner alone.
func TestKeysArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	p := open(t, dir, time.Now())
	if _, err := p.issue("leaf", subject{name: "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.signingKey("tokens"); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The key that signs tokens is never renewed, only made again when it cannot be read.
func TestSigningKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	now := time.Now()
	path, err := open(t, dir, now).signingKey("tokens")
	if err != nil {
		t.Fatal(err)
	}
	before := read(t, path)
	if path, err = open(t, dir, now.Add(authorityLife)).signingKey("tokens"); err != nil || !bytes.Equal(before, read(t, path)) {
		t.Errorf("the key changed over a renewal of the authority (%v)", err)
	}
	truncate("tokens.key")(t, dir)
	if path, err = open(t, dir, now).signingKey("tokens"); err != nil || bytes.Equal(before, read(t, path)) {
		t.Errorf("the damaged key was not replaced (%v)", err)
	}
}

func open(t *testing.T, dir string, now time.Time) *pki {
	t.Helper()
	p, err := openPKI(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func truncate(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		if err := os.Truncate(filepath.Join(dir, name), 40); err != nil {
			t.Fatal(err)
		}
	}
}

func remove(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}
