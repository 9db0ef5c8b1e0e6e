// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/remotecommand"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The listener of exec, attach and port-forward does not answer a request in
// clear text, not even one that knows the address which was given out, and that
// address can be used afterwards.
func TestStreamsAreEncrypted(t *testing.T) {
	g := newRig(t)
	id := g.begin(g.sandbox("p", ""), shell("sleep 1000"))
	resp, err := g.rt.Exec(g.ctx(), &runtimeapi.ExecRequest{ContainerId: id, Cmd: []string{"echo", "x"}, Stdout: true})
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(resp.GetUrl())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", to.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	request := "POST " + to.Path + " HTTP/1.1\r\nHost: " + to.Host + "\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(answer), "101") || !strings.Contains(string(answer), http.StatusText(http.StatusBadRequest)) {
		t.Errorf("answered %q", answer)
	}
	var out strings.Builder
	if err := g.streamTo(resp.GetUrl()).StreamWithContext(g.ctx(), remotecommand.StreamOptions{Stdout: &out}); err != nil || out.String() != "x\n" {
		t.Errorf("over TLS: %q, %v", out.String(), err)
	}
}

// A certificate for streams is believed for its own address and key, on a
// machine with a wrong clock too, and vouches for no other.
func TestStreamCertificate(t *testing.T) {
	mine, err := streamCertificate(net.IPv4(127, 0, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	other, err := streamCertificate(net.IPv4(127, 0, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(mine.Leaf)
	for name, tc := range map[string]struct {
		leaf *x509.Certificate
		host string
		at   time.Time
		ok   bool
	}{
		"itself":                       {mine.Leaf, "127.0.0.1", time.Now(), true},
		"a clock that was never set":   {mine.Leaf, "127.0.0.1", time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC), true},
		"a process that runs for ever": {mine.Leaf, "127.0.0.1", time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), true},
		"another address":              {mine.Leaf, "127.0.0.2", time.Now(), false},
		"a name":                       {mine.Leaf, "registry.example", time.Now(), false},
		"another key":                  {other.Leaf, "127.0.0.1", time.Now(), false},
	} {
		_, err := tc.leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: tc.host, CurrentTime: tc.at})
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if mine.Leaf.IsCA || mine.Leaf.KeyUsage&x509.KeyUsageCertSign != 0 {
		t.Error("it can sign certificates")
	}
}
