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
	"strings"
	"testing"
	"time"
)

const testLife = 90 * 24 * time.Hour

// A certificate is kept from start to start, and replaced when it no longer serves: near its end, damaged, or for other
// names.
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
		"too little of its life is left":       {later: testLife*2/3 + time.Hour, subject: want, replaced: true},
		"enough of its life is left":           {later: testLife*2/3 - time.Hour, subject: want},
		"it has ended":                         {later: 2 * testLife, subject: want, replaced: true},
		"the authority is near its end":        {later: authorityLife - time.Hour, subject: want, replaced: true},
		"fewer hosts are covered":              {subject: subject{name: "server", groups: []string{"g"}, hosts: []string{"127.0.0.1"}}},
		"another host is not":                  {subject: subject{name: "server", groups: []string{"g"}, hosts: []string{"two.example"}}, replaced: true},
		"another address is not":               {subject: subject{name: "server", groups: []string{"g"}, hosts: []string{"127.0.0.2"}}, replaced: true},
		"another name":                         {subject: subject{name: "other", groups: []string{"g"}}, replaced: true},
		"another group":                        {subject: subject{name: "server", groups: []string{"h"}}, replaced: true},
		"the file was cut short":               {between: truncate("leaf.pem"), subject: want, replaced: true},
		"the authority's public part was lost": {between: remove("ca.crt"), subject: want},
		"the certificate was lost":             {between: remove("leaf.pem"), subject: want, replaced: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "pki")
			first := open(t, dir, begin)
			path, err := first.issue("leaf", want, begin)
			if err != nil {
				t.Fatal(err)
			}
			before := read(t, path)
			if test.between != nil {
				test.between(t, dir)
			}
			second := open(t, dir, begin.Add(test.later))
			path, err = second.issue("leaf", test.subject, begin.Add(test.later))
			if err != nil {
				t.Fatal(err)
			}
			if replaced := !bytes.Equal(before, read(t, path)); replaced != test.replaced {
				t.Errorf("replaced: %t, want %t", replaced, test.replaced)
			}

			// Whatever happened, what there is now works.
			pair, err := second.load("leaf")
			if err != nil {
				t.Fatal(err)
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
	if _, err := p.issue("leaf", subject{name: "x"}, time.Now()); err != nil {
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

// The key that signs tokens is never replaced; what is wrong with it is said with the cure.
func TestSigningKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	now := time.Now()
	path, err := open(t, dir, now).signingKey("tokens")
	if err != nil {
		t.Fatal(err)
	}
	before := read(t, path)
	if path, err = open(t, dir, now.Add(authorityLife-time.Hour)).signingKey("tokens"); err != nil || !bytes.Equal(before, read(t, path)) {
		t.Errorf("the key changed (%v)", err)
	}
	truncate("tokens.key")(t, dir)
	before = read(t, path)
	if _, err = open(t, dir, now).signingKey("tokens"); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("the damaged key gave %v", err)
	}
	if !bytes.Equal(before, read(t, path)) {
		t.Error("the damaged key was replaced")
	}
}

// An authority is made once. Whatever is wrong with it, or with the clock, is said with the cure, and nothing changes:
// a new one is made when the user removed the old.
func TestAuthorityIsNeverReplaced(t *testing.T) {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		later   time.Duration
		between func(*testing.T, string)
		want    []string // nothing: it is used
	}{
		"used again":                  {later: 24 * time.Hour},
		"a clock a little behind":     {later: -30 * time.Minute},
		"a clock behind":              {later: -2 * time.Hour, want: []string{"2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z", "clock is behind", "timedatectl"}},
		"near its end":                {later: authorityLife - time.Hour},
		"ended":                       {later: authorityLife + time.Hour, want: []string{"2036-02-27T12:00:00Z", "2036-02-27T13:00:00Z", "remove ca.pem and ca.crt"}},
		"cut short":                   {between: truncate("ca.pem"), want: []string{"cannot be read", "backup", "remove ca.pem and ca.crt"}},
		"its key was lost":            {between: remove("ca.pem"), want: []string{"cannot be read", "backup", "remove ca.pem and ca.crt"}},
		"its public part was lost":    {between: remove("ca.crt")},
		"replaced by what is not one": {between: copyOver("leaf.pem", "ca.pem"), want: []string{"not that of an authority", "remove ca.pem and ca.crt"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "pki")
			first := open(t, dir, begin)
			if _, err := first.issue("leaf", subject{name: "x"}, begin); err != nil {
				t.Fatal(err)
			}
			if test.between != nil {
				test.between(t, dir)
			}
			before, _ := os.ReadFile(first.file("ca"))
			second, err := openPKI(dir, begin.Add(test.later), testLife)
			if after, _ := os.ReadFile(first.file("ca")); !bytes.Equal(before, after) {
				t.Error("the authority was replaced")
			}
			if len(test.want) == 0 {
				if err != nil || !second.cert.Equal(first.cert) {
					t.Errorf("got %v", err)
				}
				return
			}
			for _, want := range append(test.want, dir) {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
			// The cure works.
			_ = os.Remove(first.file("ca"))
			_ = os.Remove(first.caFile())
			if _, err := openPKI(dir, begin.Add(test.later), testLife); err != nil {
				t.Errorf("after the removal: %v", err)
			}
		})
	}
}

// While a plane runs, certificates are replaced when a third of their life is left, at every such time of ten years,
// and no pass leaves one that is not valid. One that ends with its authority is not made again and again.
func TestRenew(t *testing.T) {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := open(t, filepath.Join(t.TempDir(), "pki"), begin)
	for name, s := range map[string]subject{"server": {name: "s", hosts: []string{"localhost"}}, "client": {name: "c"}} {
		if _, err := p.issue(name, s, begin); err != nil {
			t.Fatal(err)
		}
	}
	const step = 24 * time.Hour
	renewals := 0
	for now := begin; now.Before(p.cert.NotAfter); now = now.Add(step) {
		renewed, err := p.renew(now)
		if err != nil {
			t.Fatal(err)
		}
		if len(renewed) > 0 {
			renewals++
		}
		for _, name := range []string{"client", "server"} {
			pair, err := p.load(name)
			if err != nil {
				t.Fatal(err)
			}
			left, most := pair.Leaf.NotAfter.Sub(now), p.cert.NotAfter.Sub(now)
			if left < min(testLife/3-step, most) || left > testLife {
				t.Fatalf("%s: %s has %s left", now, name, left)
			}
		}
	}
	if want := int(authorityLife / (testLife * 2 / 3)); renewals < want-2 || renewals > want+2 {
		t.Errorf("%d renewals in ten years, want about %d", renewals, want)
	}
	if p.authorityEnds(begin) != "" || !strings.Contains(p.authorityEnds(p.cert.NotAfter.Add(-step)), "remove ca.pem and ca.crt") {
		t.Error("the end of the authority is told too early or never")
	}
	// A clock that is set back after a renewal leaves valid what is in use.
	if renewed, err := p.renew(begin); err != nil || len(renewed) > 0 {
		t.Errorf("a clock that was set back renewed %v, %v", renewed, err)
	}
}

func open(t *testing.T, dir string, now time.Time) *pki {
	t.Helper()
	p, err := openPKI(dir, now, testLife)
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

func copyOver(from, to string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		if err := os.WriteFile(filepath.Join(dir, to), read(t, filepath.Join(dir, from)), 0o600); err != nil {
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
