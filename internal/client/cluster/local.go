// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

// Absolute returns the data directory as an absolute path.
func Absolute(dir string) (string, error) {
	if dir == "" {
		return "", exitcode.UsageError("there is no home directory to keep state in; name a directory with --data-dir")
	}
	return filepath.Abs(dir)
}

// Kubeconfig returns the kubeconfig of the Carillon that runs, or ran last, on dataDir.
func Kubeconfig(dataDir string) (string, error) {
	path := datadir.Kubeconfig(dataDir)
	// A kubeconfig can name programs to run, so it must not be somebody else's.
	if err := privatedir.Check(dataDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the data directory cannot be used: %w (--data-dir names another)", err)
	}
	if _, err := os.Stat(path); err != nil {
		return "", notRunning(fmt.Sprintf("no Carillon keeps its state in %s: start one with `carillon up --data-dir %s`", dataDir, dataDir))
	}
	return path, nil
}

// CheckListening tells, by an error, when nothing listens at the API server's address of a kubeconfig: the Carillon was
// stopped, or killed.
func CheckListening(kubeconfig, dataDir string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return err
	}
	connection, err := net.DialTimeout("tcp", server.Host, 5*time.Second)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return NotRunning(dataDir)
	}
	if err == nil {
		_ = connection.Close()
	}
	return nil // whatever else is wrong, the client says it better
}

// ErrNotRunning is in errors that say that no Carillon runs on a data directory: as far as is known none is meant that
// does.
var ErrNotRunning = errors.New("the Carillon does not run")

// notRunning is an error with ErrNotRunning in it, and a text of its own.
type notRunning string

// Error implements error.
func (e notRunning) Error() string { return string(e) }

// Is is for errors.Is.
func (e notRunning) Is(target error) bool { return target == ErrNotRunning }

// NotRunning is the error for a Carillon that does not run.
func NotRunning(dataDir string) error {
	return notRunning(fmt.Sprintf("the Carillon on %s does not run, it was stopped or killed; nothing is lost: start it with `carillon up --data-dir %s`", dataDir, dataDir))
}
