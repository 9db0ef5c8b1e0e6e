// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// listening lists the TCP addresses that a process listens on.
func listening(t *testing.T, pid int) []string {
	t.Helper()
	inodes := map[string]bool{}
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, "socket:[") {
			inodes[strings.Trim(strings.TrimPrefix(target, "socket:"), "[]")] = true
		}
	}
	var found []string
	for _, table := range []string{"tcp", "tcp6"} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			continue
		}
		for row := range strings.Lines(string(data)) {
			const listen = "0A"
			if fields := strings.Fields(row); len(fields) > 9 && fields[3] == listen && inodes[fields[9]] {
				found = append(found, address(fields[1]))
			}
		}
	}
	if len(found) == 0 {
		t.Error("no listening socket found: the API server has one")
	}
	return found
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
