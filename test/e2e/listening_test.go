// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Nothing that the program, or a shim of it, listens on answers anybody who does
// not say who he is: over TCP with TLS or without, with a certificate of
// somebody else's or a made-up token; and its unix sockets lie where nobody else
// gets to. Pods run meanwhile, metrics are served, and an exec is in progress.
func TestNothingAnswersStrangers(t *testing.T) {
	dataDir := newDataDir(t)
	u := startReady(t, dataDir, "--metrics-bind-address", "127.0.0.1:0",
		"-f", write(t, shellJob{name: "stays", script: "exec sleep 31.4159020"}.String()))
	pod := u.pod("stays", "running", running)
	session := exec.Command(carillon, "kubectl", "--data-dir", dataDir, "exec", "-i", pod.Name, "--", "cat")
	session.Env = environment()
	stdin, err := session.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := session.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stdin.Close()
		_ = session.Wait() // it was asked to end
	}()
	if _, err := stdin.Write([]byte("x\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the exec does not work: %v", err)
	}

	pids := tree(t, u.cmd.Process.Pid)
	if len(pids) < 2 {
		t.Errorf("the program has no process below it: %v", pids)
	}
	addresses := map[string]bool{}
	for _, pid := range pids {
		for _, address := range listeningTCP(t, pid) {
			addresses[address] = true
		}
		for _, path := range listeningUnix(t, pid) {
			if !strings.HasPrefix(path, dataDir+"/") && !isSocketOf(t, dataDir, path, pid) {
				t.Errorf("process %d listens on the socket %q, which is not in the data directory", pid, path)
			}
		}
	}
	// The API server, the kubelet, the metrics and the streams of the runtime.
	if len(addresses) < 4 {
		t.Errorf("found %v only: this test would show little", addresses)
	}
	for address := range addresses {
		if !strings.HasPrefix(address, "127.") {
			t.Errorf("listens beyond this machine: %s", address)
		}
		probe(t, address)
	}
	if info, err := os.Stat(dataDir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others get to the sockets in the data directory: %v, %v", info, err)
	}
}

// paths are what the servers of Kubernetes answer on.
var paths = []string{
	"/", "/healthz", "/livez", "/readyz", "/version", "/metrics", "/api", "/apis", "/openapi/v2", "/.well-known/openid-configuration",
	"/openid/v1/jwks", "/api/v1/namespaces/default/secrets", "/metrics/cadvisor", "/metrics/probes", "/metrics/resource", "/pods",
	"/runningpods/", "/stats/summary", "/configz", "/statusz", "/flagz", "/spec/", "/logs/", "/debug/pprof/", "/debug/flags/v",
	"/exec/default/x/main", "/containerLogs/default/x/main", "/checkpoint/default/x/main", "/cri/exec/x",
}

// probe asks an address as a stranger would.
func probe(t *testing.T, address string) {
	t.Helper()
	own := selfSigned(t, time.Now().Add(-time.Hour))
	pair, err := tls.X509KeyPair(own, own)
	if err != nil {
		t.Fatal(err)
	}
	for name, stranger := range map[string]struct {
		scheme, token string
		certificates  []tls.Certificate
	}{
		"in clear text":                 {scheme: "http"},
		"nobody":                        {scheme: "https"},
		"a certificate of its own":      {scheme: "https", certificates: []tls.Certificate{pair}},
		"a made-up token":               {scheme: "https", token: "made-up"},
		"a made-up token in clear text": {scheme: "http", token: "made-up"},
	} {
		client := &http.Client{
			Timeout:       forever,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: stranger.certificates}, //nolint:gosec // as a stranger would
			},
		}
		for _, path := range paths {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, stranger.scheme+"://"+address+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if stranger.token != "" {
				request.Header.Set("Authorization", "Bearer "+stranger.token)
			}
			response, err := client.Do(request)
			if err != nil {
				continue // refused below HTTP
			}
			body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
			response.Body.Close()
			if response.StatusCode < 400 {
				t.Errorf("%s%s answers %s with %d:\n%.300s", address, path, name, response.StatusCode, body)
			}
			if len(body) > 1000 {
				t.Errorf("%s%s tells %s much:\n%.300s", address, path, name, body)
			}
		}
		client.CloseIdleConnections()
	}
}

// tree is a process and all those below it.
func tree(t *testing.T, root int) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	children := map[int][]int{}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it ended
		}
		// The name in parentheses may hold anything.
		_, rest, _ := strings.Cut(string(text[bytes.LastIndexByte(text, ')'):]), " ")
		var state string
		var parent int
		if _, err := fmt.Sscan(rest, &state, &parent); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		children[parent] = append(children[parent], pid)
	}
	found := []int{root}
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

// listening lists the TCP addresses that a process listens on; it has one.
func listening(t *testing.T, pid int) []string {
	t.Helper()
	found := listeningTCP(t, pid)
	if len(found) == 0 {
		t.Error("no listening socket found: the API server has one")
	}
	return found
}

func listeningTCP(t *testing.T, pid int) (found []string) {
	t.Helper()
	inodes := socketsOf(pid)
	for _, table := range []string{"tcp", "tcp6"} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			continue // no such family, or it ended
		}
		for row := range strings.Lines(string(data)) {
			const listen = "0A"
			if fields := strings.Fields(row); len(fields) > 9 && fields[3] == listen && inodes[fields[9]] {
				found = append(found, address(fields[1]))
			}
		}
	}
	return found
}

// listeningUnix lists the unix sockets that a process listens on. The name of an
// abstract one, which anybody can reach, begins with @.
func listeningUnix(t *testing.T, pid int) (found []string) {
	t.Helper()
	inodes := socketsOf(pid)
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/unix", pid))
	if err != nil {
		return nil // it ended
	}
	for row := range strings.Lines(string(data)) {
		const accepts = "00010000"
		if fields := strings.Fields(row); len(fields) > 6 && fields[3] == accepts && inodes[fields[6]] {
			path := strings.Join(fields[7:], " ")
			found = append(found, path)
		}
	}
	return found
}

// isSocketOf tells whether the process listens on a socket in the directory that
// has the name, as one that was bound by its name alone.
func isSocketOf(t *testing.T, dir, name string, pid int) (is bool) {
	t.Helper()
	if name == "" || strings.ContainsAny(name, "@/") {
		return false
	}
	_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.Name() != name || entry.Type() != os.ModeSocket {
			return nil // what is just going is not it
		}
		conn, err := net.Dial("unix", path)
		if err != nil {
			return nil
		}
		defer conn.Close()
		raw, err := conn.(*net.UnixConn).SyscallConn()
		if err != nil {
			return err
		}
		return raw.Control(func(fd uintptr) {
			peer, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
			is = is || (err == nil && int(peer.Pid) == pid)
		})
	})
	return is
}

func socketsOf(pid int) map[string]bool {
	inodes := map[string]bool{}
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, "socket:[") {
			inodes[strings.Trim(strings.TrimPrefix(target, "socket:"), "[]")] = true
		}
	}
	return inodes
}

// address reads "0100007F:1F90": 32-bit words in the machine's byte order.
func address(text string) string {
	host, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	if err != nil {
		return text
	}
	for word := 0; word+4 <= len(raw); word += 4 {
		raw[word], raw[word+1], raw[word+2], raw[word+3] = raw[word+3], raw[word+2], raw[word+1], raw[word]
	}
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return text
	}
	return net.JoinHostPort(net.IP(raw).String(), strconv.FormatUint(number, 10))
}
