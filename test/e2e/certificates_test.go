// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// With certificates of a minute everything goes on past the end of the first
// ones: the API, logs and exec through it, the controllers and the node; and
// what is open stays open. The administrator's kubeconfig is a new one then,
// and a copy of the old one is worth nothing.
func TestCertificatesAreRenewed(t *testing.T) {
	t.Parallel() // most of it is waiting
	dataDir := newDataDir(t)
	u := startReady(t, dataDir, "--cluster-signing-duration", "1m", "--metrics-bind-address", "127.0.0.1:0",
		"-f", write(t, shellJob{name: "ticks", script: "while :; do echo tick; sleep 1; done"}.String()))
	u.pod("ticks", "running", running)

	first := served(t, u)
	var ends time.Time
	for address, certificate := range first {
		if certificate.NotAfter.After(ends) {
			ends = certificate.NotAfter
		}
		if left := time.Until(certificate.NotAfter); left > time.Minute {
			t.Errorf("the certificate of %s has %v left: this test would show nothing", address, left)
		}
	}
	kubeconfig := filepath.Join(dataDir, "kubeconfig")
	old, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	oldKubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(oldKubeconfig, old, 0o600); err != nil {
		t.Fatal(err)
	}
	watch, err := u.client().BatchV1().Jobs("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	logs := followLogs(t, u, "job/ticks")

	until(t, "the first certificates to end", func() bool { return time.Now().After(ends.Add(2 * time.Second)) })

	for address, certificate := range served(t, u) {
		if certificate.Equal(first[address]) {
			t.Errorf("%s serves its first certificate still", address)
		}
		if time.Now().After(certificate.NotAfter) {
			t.Errorf("%s serves a certificate that ended at %v", address, certificate.NotAfter)
		}
	}
	if got := command(t, "", "kubectl", "--kubeconfig", oldKubeconfig, "get", "jobs"); got.code == 0 {
		t.Error("a copy of the first kubeconfig works still")
	}
	if got := u.kubectl("exec", "job/ticks", "--", "echo", "here"); got != "here\n" {
		t.Errorf("exec gave %q", got)
	}
	if got := u.kubectl("logs", "job/ticks", "--tail=1"); got != "tick\n" {
		t.Errorf("logs gave %q", got)
	}
	if got := u.tryKubectl(shellJob{name: "late", script: "echo done"}.String(), "apply", "-f", "-"); got.code != 0 {
		t.Errorf("apply: %+v", got)
	}
	if end := u.finished("late"); end.Outcome != "complete" {
		t.Errorf("a job of later ended %+v", end)
	}
	seen := false
	for !seen {
		select {
		case event, open := <-watch.ResultChan():
			if !open {
				t.Fatal("the watch of before was ended")
			}
			accessor, isObject := event.Object.(metav1.Object)
			seen = isObject && accessor.GetName() == "late"
		case <-time.After(forever):
			t.Fatal("the watch of before tells nothing any more")
		}
	}
	lines := logs.count()
	until(t, "more of the logs that are followed", func() bool { return logs.count() > lines })
	if logs.ended() {
		t.Error("the logs that are followed were cut off")
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, l := range u.lines {
		if l.Type == "warning" {
			t.Errorf("warned: %+v", l)
		}
	}
}

// An authority that is not valid yet, because the clock is behind, is told with
// both times, and stays.
func TestClockBehindTheAuthority(t *testing.T) {
	dataDir := newDataDir(t)
	dir := filepath.Join(dataDir, "control-plane", "pki")
	for _, each := range []string{dataDir, filepath.Dir(dir), dir} {
		if err := os.Mkdir(each, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	authority := selfSigned(t, begin)
	path := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(path, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	got := command(t, "", "up", "--data-dir", dataDir)
	if got.code == 0 {
		t.Error("it started")
	}
	for _, want := range []string{"clock is behind", begin.Format(time.RFC3339), time.Now().UTC().Format("2006-01-02T"), "timedatectl"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("%q does not say %q", got.stderr, want)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, authority) {
		t.Errorf("the authority was replaced (%v)", err)
	}
}

// selfSigned is an authority with its key, valid for ten years.
func selfSigned(t *testing.T, begin time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "carillon-ca"},
		NotBefore: begin, NotAfter: begin.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})...)
}

// served are the certificates of the authority with which the program serves
// now, by address. The runtime's streams have one that lives in memory alone.
func served(t *testing.T, u *up) map[string]*x509.Certificate {
	t.Helper()
	found := map[string]*x509.Certificate{}
	for _, address := range listening(t, u.cmd.Process.Pid) {
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			continue // not TLS
		}
		certificate := conn.ConnectionState().PeerCertificates[0]
		conn.Close()
		if strings.HasPrefix(certificate.Issuer.CommonName, "carillon-ca@") {
			found[address] = certificate
		}
	}
	if len(found) != 3 {
		t.Fatalf("%d addresses serve certificates of the authority, want those of the API server, the kubelet and the metrics", len(found))
	}
	return found
}

// followed are logs that kubectl follows.
type followed struct {
	done chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
}

func followLogs(t *testing.T, u *up, object string) *followed {
	t.Helper()
	f := &followed{done: make(chan struct{})}
	cmd := exec.Command(carillon, "kubectl", "--data-dir", u.dataDir, "logs", "-f", object)
	cmd.Env = environment()
	cmd.Stdout = f
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(f.done)
		_ = cmd.Wait() // it is killed in the end
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-f.done
	})
	until(t, "the first line of the logs", func() bool { return f.count() > 0 })
	return f
}

// Write implements io.Writer.
func (f *followed) Write(text []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text.Write(text)
}

func (f *followed) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return bytes.Count(f.text.Bytes(), []byte("\n"))
}

func (f *followed) ended() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}
