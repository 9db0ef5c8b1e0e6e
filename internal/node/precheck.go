// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// precheck tries what the kubelet needs at start, so that what is missing is an
// error with a name. The kubelet itself calls os.Exit when a directory, a
// socket or its port cannot be had.
func precheck(o *Options, address string) error {
	if err := makeDirs(o.DataDir); err != nil {
		return err
	}
	if err := checkCertificates(o); err != nil {
		return err
	}
	if err := checkSocket(podResourcesSocket(o.DataDir)); err != nil {
		return err
	}
	if err := checkRuntime(o.RuntimeEndpoint); err != nil {
		return err
	}
	return checkPort(address)
}

// checkRuntime tries to reach a runtime that is not the built-in one.
func checkRuntime(endpoint string) error {
	path, ok := strings.CutPrefix(endpoint, "unix://")
	if !ok {
		return nil
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		return fmt.Errorf("container runtime %s cannot be reached: %w", endpoint, err)
	}
	return conn.Close()
}

// makeDirs makes the node's directories and tries to write to each.
func makeDirs(dataDir string) error {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return fmt.Errorf("data directory of the node: %w", err)
	}
	for _, dir := range []string{
		kubeletDir(dataDir),
		filepath.Join(kubeletDir(dataDir), "pods"),
		filepath.Join(kubeletDir(dataDir), "plugins"),
		filepath.Join(kubeletDir(dataDir), "plugins_registry"),
		filepath.Dir(podResourcesSocket(dataDir)),
		logsDir(dataDir),
	} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return fmt.Errorf("data directory of the node: %w", err)
		}
		probe, err := os.CreateTemp(dir, ".writable-")
		if err != nil {
			return fmt.Errorf("data directory of the node is not writable: %w", err)
		}
		probe.Close()
		if err := os.Remove(probe.Name()); err != nil {
			return fmt.Errorf("data directory of the node: %w", err)
		}
	}
	return nil
}

func checkCertificates(o *Options) error {
	if _, err := tls.LoadX509KeyPair(o.ServingCert, o.ServingKey); err != nil {
		return fmt.Errorf("serving certificate of the kubelet (%s, %s): %w", o.ServingCert, o.ServingKey, err)
	}
	pem, err := os.ReadFile(o.ClientCA)
	if err != nil {
		return fmt.Errorf("client authority of the kubelet: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return fmt.Errorf("client authority of the kubelet: no certificate in %s", o.ClientCA)
	}
	return nil
}

// checkSocket tries whether a unix socket can be made at the path.
func checkSocket(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("a unix socket cannot be made in the data directory of the node (is it on a filesystem that has none?): %w", err)
	}
	return listener.Close()
}

func checkPort(address string) error {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, unix.EADDRINUSE) {
		return fmt.Errorf("the kubelet cannot listen on %s: something else does already", address)
	}
	if err != nil {
		return fmt.Errorf("the kubelet cannot listen: %w", err)
	}
	return listener.Close()
}

// freeAddress turns port 0 into a free port. The kubelet opens the port some
// time later and ends the process when it is gone by then, so the port is not
// of the range that the kernel gives to outgoing connections, where any dial of
// any process may take it in between.
func freeAddress(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	if port != "0" {
		return address, nil
	}
	const lowest, tries = 10250, 200
	highest := lowestEphemeralPort("/proc/sys/net/ipv4/ip_local_port_range") - 1
	for range tries {
		if highest <= lowest {
			break
		}
		candidate := net.JoinHostPort(host, strconv.Itoa(lowest+rand.IntN(highest-lowest)))
		if checkPort(candidate) == nil {
			return candidate, nil
		}
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", fmt.Errorf("the kubelet finds no free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// lowestEphemeralPort reads the kernel's range; 32768 is its default.
func lowestEphemeralPort(file string) int {
	data, err := os.ReadFile(file)
	if err != nil {
		return 32768
	}
	fields := strings.Fields(string(data))
	if len(fields) != 2 {
		return 32768
	}
	low, err := strconv.ParseUint(fields[0], 10, 16)
	if err != nil {
		return 32768
	}
	return int(low)
}

// rights is what this process may do on this machine.
type rights struct {
	mount bool // mount filesystems
	chown bool // give files to other users
}

// probePattern is the name of the directory in which rights are tried.
const probePattern = ".rights-*"

// findRights tries both in dir. Being root is not the question: in a container
// root often may not mount.
func findRights(dir string) (rights, error) {
	probe, err := os.MkdirTemp(dir, probePattern)
	if err != nil {
		return rights{}, fmt.Errorf("data directory of the node: %w", err)
	}
	// Never with what is in it: it is empty, or something is mounted there.
	defer func() { _ = os.Remove(probe) }()
	var found rights
	if unix.Mount("tmpfs", probe, "tmpfs", 0, "size=4k") == nil {
		if err := unix.Unmount(probe, unix.MNT_DETACH); err != nil {
			return rights{}, &os.PathError{Op: "unmount", Path: probe, Err: err}
		}
		found.mount = true
	}
	// One more than one's own id is an id of somebody else.
	found.chown = os.Lchown(probe, os.Geteuid()+1, -1) == nil
	return found, nil
}

// openFilesLimit is the number of open files that the kubelet sets for the
// process: the hard limit, which needs no rights and takes none away.
func openFilesLimit() int64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Max > math.MaxInt64 {
		return 1 << 20
	}
	return int64(limit.Max)
}
