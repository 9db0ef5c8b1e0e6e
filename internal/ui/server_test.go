// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

func logOf(t *testing.T) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// pairOf writes a certificate for names and its key.
func pairOf(t *testing.T, serial int64, until time.Time, names ...string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until, DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// Other machines are let in over TLS alone; a port that was asked for is that one or none.
func TestListen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, test := range map[string]struct {
		address          string
		asked, encrypted bool
		fault            string // "" is none
	}{
		"loopback":                       {"127.0.0.1:0", true, false, ""},
		"loopback by name":               {"localhost:0", true, false, ""},
		"another loopback":               {"127.0.0.9:0", true, false, ""},
		"all addresses":                  {"0.0.0.0:0", true, false, "--tls-cert-file"},
		"all addresses, briefly":         {":0", true, false, "without encryption"},
		"all addresses of IPv6":          {"[::]:0", true, false, "without encryption"},
		"another machine's":              {"192.0.2.1:7311", true, false, "ssh -L 7311:127.0.0.1:7311"},
		"all addresses, over TLS":        {"0.0.0.0:0", true, true, ""},
		"taken, and asked for":           {taken.Addr().String(), true, false, "another program listens there"},
		"taken, and not asked for":       {taken.Addr().String(), false, false, ""},
		"no port":                        {"127.0.0.1", true, false, "HOST:PORT"},
		"no such port":                   {"127.0.0.1:99999", true, false, "invalid port"},
		"not ours":                       {"127.0.0.1:x", true, false, "unknown port"},
		"nothing":                        {"", true, false, "HOST:PORT"},
		"an address that nobody has":     {"[2001:db8::1]:0", true, true, "assign"},
		"a name that looks like a local": {"127.0.0.1.invalid:0", true, false, "--listen 127.0.0.1.invalid:0"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := Listen(test.address, "--listen", test.asked, test.encrypted)
			if l != nil {
				defer l.Close()
			}
			if (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
				t.Fatalf("%v", err)
			}
			if coded, ok := errors.AsType[*exitcode.Error](err); err != nil && (!ok || coded.Code != exitcode.Usage) {
				t.Errorf("%v is no error of the user", err)
			}
			if err == nil && l.Addr().String() == taken.Addr().String() {
				t.Error("it is taken")
			}
		})
	}
}

// A certificate that cannot be used is told at the start, by the names of its files; later the one from before serves.
func TestCertificate(t *testing.T) {
	year := time.Now().Add(365 * 24 * time.Hour)
	cert, key := pairOf(t, 1, year, "page.example.org", "*.jobs.example.org")
	otherCert, otherKey := pairOf(t, 2, year, "page.example.org")
	old, oldKey := pairOf(t, 3, time.Now().Add(-time.Hour), "page.example.org")
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ cert, key, fault string }{
		"none":                {"", "", ""},
		"a pair":              {cert, key, ""},
		"no key":              {cert, "", "name both"},
		"no certificate":      {"", key, "name both"},
		"another's key":       {cert, otherKey, "private key does not match"},
		"a key that is none":  {cert, garbage, garbage},
		"not there":           {cert + "x", key, "no such file"},
		"over since an hour":  {old, oldKey, "ended on"},
		"a certificate twice": {cert, cert, "found a certificate rather than a key"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := LoadCertificate(test.cert, test.key, logOf(t))
			if (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) || (c != nil) != (err == nil && test.cert != "") {
				t.Errorf("%v", err)
			}
		})
	}
	c, err := LoadCertificate(cert, key, logOf(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"page.example.org": true, "a.jobs.example.org": true, "127.0.0.1": true, "evil.example": false, "a.b.jobs.example.org": false, "": false} {
		if c.Names(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
	}
	serial := func() int64 {
		c.mu.Lock()
		c.checked = time.Time{}
		c.mu.Unlock()
		return c.current().Leaf.SerialNumber.Int64()
	}
	replace := func(from, to string) {
		t.Helper()
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, append(content, '\n'), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if serial() != 1 {
		t.Error("at first")
	}
	replace(otherCert, cert)
	if serial() != 1 {
		t.Error("half of the pair is new, and used")
	}
	replace(otherKey, key)
	if serial() != 2 {
		t.Error("the pair is new, and not used")
	}
}

// serverOf serves a journal with one run.
func serverOf(t *testing.T, certificate *Certificate, address string, hosts ...string) (*Server, *Opener) {
	t.Helper()
	dir := journalOf(t)
	opener := &Opener{Target: lookup.Target{Journal: datadir.Journal(dir)}, Clock: time.Now, Log: logOf(t)}
	if err := opener.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := Listen(address, "--listen", true, certificate != nil)
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(ServerOptions{Listener: l, Certificate: certificate, Hosts: hosts, Opener: opener, Log: logOf(t)})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go opener.Run(ctx)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Error("it does not end")
		}
	})
	return s, opener
}

// journalOf is a data directory with a journal of one run.
func journalOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	written, err := journal.Open(datadir.Journal(dir), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := run.Run{UID: "backup-1", APIVersion: "batch/v1", Kind: "Job", Namespace: "sales", Name: "backup-1", Outcome: run.Succeeded, Created: time.Now(), Started: time.Now(), Ended: time.Now()}
	if err := errors.Join(written.Record(t.Context(), []run.Run{r}, nil), written.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// get asks as a program that has the token.
func get(t *testing.T, client *http.Client, s *Server, path string) (int, string) {
	t.Helper()
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Address()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+u.Query().Get("token"))
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		b := make([]byte, 1)
		_, err := io.ReadFull(response.Body, b)
		return response.StatusCode, string(b) + errorText(err)
	}
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body) + errorText(err)
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// The whole server, over TLS with both protocols, and in clear text: pages, streams, and an end that waits for nobody.
func TestServe(t *testing.T) {
	cert, key := pairOf(t, 1, time.Now().Add(time.Hour), "page.localhost")
	certificate, err := LoadCertificate(cert, key, logOf(t))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	content, err := os.ReadFile(cert)
	if err != nil || !roots.AppendCertsFromPEM(content) {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		certificate *Certificate
		http2       bool
		hosts       []string
		scheme      string
	}{
		"in clear text":  {nil, false, nil, "http://127.0.0.1:"},
		"TLS":            {certificate, false, nil, "https://page.localhost:"},
		"TLS and HTTP/2": {certificate, true, nil, "https://page.localhost:"},
		"another name":   {nil, false, []string{"page.internal"}, "http://page.internal:"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := serverOf(t, test.certificate, "127.0.0.1:0", test.hosts...)
			if !strings.HasPrefix(s.URL(), test.scheme) || !strings.Contains(s.URL(), "/?token=") || strings.Contains(s.TicketURL(), s.token) {
				t.Error(s.URL())
			}
			transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: test.http2,
				DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
					return (&net.Dialer{}).DialContext(ctx, network, s.o.Listener.Addr().String())
				}}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport, Timeout: 20 * time.Second}
			if code, body := get(t, client, s, "run/sales/backup-1"); code != 200 || !strings.Contains(body, "backup-1") {
				t.Errorf("%d %.200s", code, body)
			}
			if code, body := get(t, client, s, "events"); code != 200 || body != "r" {
				t.Errorf("events: %d %q", code, body)
			}
			open, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Address()+"events", nil)
			if err != nil {
				t.Fatal(err)
			}
			open.Header.Set("Authorization", "Bearer "+s.token)
			response, err := client.Do(open) // still open when the server ends
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = response.Body.Close() })
		})
	}
}

// Who speaks another protocol, or an old TLS, is not served.
func TestServeOnlyTLS(t *testing.T) {
	cert, key := pairOf(t, 1, time.Now().Add(time.Hour), "localhost")
	certificate, err := LoadCertificate(cert, key, logOf(t))
	if err != nil {
		t.Fatal(err)
	}
	s, _ := serverOf(t, certificate, "127.0.0.1:0")
	address := s.o.Listener.Addr().String()
	response, err := http.Get("http://" + address + "/?token=" + s.token)
	if err == nil {
		_ = response.Body.Close()
		if response.StatusCode != http.StatusBadRequest || response.Header.Get("Set-Cookie") != "" {
			t.Errorf("in clear text: %s", response.Status)
		}
	}
	c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}) //nolint:gosec // as an attacker would
	if err == nil {
		_ = c.Close()
		t.Error("TLS 1.1 is served")
	}
}

// The page goes on while the Carillon that it looks at is stopped and started; a session goes on with it.
func TestGoesOn(t *testing.T) {
	dir := journalOf(t)
	opener := &Opener{Target: lookup.Target{Cluster: cluster.Flags{DataDir: dir}}, Clock: time.Now, Log: logOf(t)}
	if err := opener.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer opener.show(nil)
	stopped := opener.now
	if stopped.place.listens || !stopped.place.remembers {
		t.Errorf("%+v", stopped.place)
	}
	if opener.refresh(t.Context()); opener.now != stopped {
		t.Error("it was opened again, and nothing has changed")
	}
	api := httptest.NewServer(http.NotFoundHandler())
	kubeconfig := `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], clusters: [{name: a, cluster: {server: ` + strconv.Quote(api.URL) + `}}], users: [{name: a, user: {}}]}`
	if err := os.WriteFile(datadir.Kubeconfig(dir), []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	opener.refresh(t.Context())
	started := opener.now
	if started == stopped || !started.place.listens {
		t.Fatalf("it was started: %+v", started.place)
	}
	select {
	case <-stopped.beside.Done():
	default:
		t.Error("what listened to the site from before is not told")
	}
	api.Close()
	if opener.refresh(t.Context()); opener.now == started || opener.now.place.listens {
		t.Errorf("it was stopped: %+v", opener.now.place)
	}
	// What cannot be opened leaves what was there.
	now := opener.now
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if opener.refresh(t.Context()); opener.now != now {
		t.Error("nothing is left, and it is shown")
	}
}
