// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package ui

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

// maxAddress bounds the file of an address.
const maxAddress = 4 << 10

// Announce keeps the address of a page, with its token, in a data directory of ours, for its user alone, until withdraw
// is called or the process ends: what is left of it by a kill is known to be old, because nobody holds its lock.
func Announce(dataDir, url string) (withdraw func(), err error) {
	dir, err := privatedir.Open(dataDir)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(datadir.Page(dataDir))
	file, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err == nil {
		if err = lockAddress(file); err == nil {
			err = file.Chmod(0o600)
		}
		if err == nil {
			err = file.Truncate(0)
		}
		if err == nil {
			_, err = file.WriteAt([]byte(url+"\n"), 0)
		}
	}
	if err != nil {
		if file != nil {
			_ = file.Close() // the error before it matters
		}
		dir.Close()
		return nil, err
	}
	return func() {
		_ = dir.Remove(name) // what is left is known to be old
		_ = file.Close()
		dir.Close()
	}, nil
}

// lockAddress takes the lock. Who looks whether it is held holds it for a moment.
func lockAddress(file *os.File) (err error) {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for range 20 {
		if err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		<-again.C
	}
	return err
}

// Announced gives the address, with its token, of the page that the Carillon on a data directory of ours serves; "" if
// it serves none, or does not run.
func Announced(dataDir string) string {
	dir, err := privatedir.Open(dataDir)
	if err != nil {
		return ""
	}
	defer dir.Close()
	file, err := dir.OpenFile(filepath.Base(datadir.Page(dataDir)), os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer file.Close()
	if !errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK) {
		return "" // whoever wrote it has ended
	}
	content, err := io.ReadAll(io.LimitReader(file, maxAddress))
	if url := strings.TrimSpace(string(content)); err == nil && strings.HasPrefix(url, "http") {
		return url
	}
	return ""
}
