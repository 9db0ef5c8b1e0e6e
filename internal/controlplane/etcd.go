// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
)

const (
	// maxSocketPath is the longest path that a unix socket can have on Linux.
	maxSocketPath = 107
	// leastFree is the free disk space in bytes below which a start is refused: the write-ahead log's next segments and
	// a copy of a modest store.
	leastFree = 64 << 20
	// storeStopTimeout bounds the wait for etcd's end.
	storeStopTimeout = 4 * time.Second
	// walSegment is how much disk etcd reserves at a time for its write-ahead log.
	walSegment = 16 << 20
)

func init() {
	// Etcd's own 64 MB segments, of which it keeps several, are meant for machines that serve nothing else.
	wal.SegmentSizeBytes = walSegment
}

// store is a running etcd with a single member that listens on a unix socket alone.
type store struct {
	server *embed.Etcd
	// url is where clients find it.
	url string
	// dead receives one error when etcd cannot go on.
	dead chan error
	// socketDir keeps the directory of the socket open when its path is too long for a socket address.
	socketDir *os.File
}

// openStore starts etcd on dir and waits until it serves. It takes over the socket of a dead process.
func openStore(ctx context.Context, dir string, quota int64, ephemeral bool, logger func(onDeath func(string)) *zap.Logger) (_ *store, err error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return nil, unusableDir(dir, err)
	}
	if free := disk.Bavail * uint64(disk.Bsize); free < leastFree {
		return nil, fmt.Errorf("only %d MiB are free on the disk of %s and the store needs %d: free some space, or choose another directory with --data-dir", free>>20, dir, leastFree>>20)
	}

	s := &store{dead: make(chan error, 1)}
	defer func() {
		if err != nil {
			_ = s.close() // err is the cause
		}
	}()
	socket := filepath.Join(filepath.Dir(dir), "etcd.sock")
	if len(socket) > maxSocketPath {
		if s.socketDir, err = os.Open(filepath.Dir(socket)); err != nil {
			return nil, unusableDir(filepath.Dir(socket), err)
		}
		socket = filepath.Join("/proc/self/fd", strconv.Itoa(int(s.socketDir.Fd())), "etcd.sock")
	}
	s.url = "unix://" + socket

	config := storeConfig(dir)
	config.ListenPeerUrls = nil
	config.ListenClientUrls = []url.URL{{Scheme: "unix", Path: socket}}
	// An election with one voter lasts as long as the timeout, so a short one starts fast.
	config.TickMs, config.ElectionMs = 10, 100
	config.WarningUnaryRequestDuration = 2 * time.Second
	config.QuotaBackendBytes = quota
	// A member without followers needs no long log for them to catch up from; entries are kept in memory until the
	// snapshot.
	config.SnapshotCount, config.SnapshotCatchUpEntries = 2000, 100
	config.MaxSnapFiles, config.MaxWalFiles = 2, 2
	config.UnsafeNoFsync = ephemeral
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger(func(message string) {
		select {
		case s.dead <- storeDied(dir, message):
		default:
		}
	}))

	// On data that it cannot read etcd panics or, through the logger's hook, ends this goroutine or one on which this
	// one then waits for ever.
	type start struct {
		server *embed.Etcd
		err    error
	}
	started := make(chan start, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				started <- start{err: storeDied(dir, fmt.Sprint(r))}
			}
		}()
		server, err := embed.StartEtcd(config)
		started <- start{server, err}
	}()
	select {
	case result := <-started:
		if s.server = result.server; result.err != nil {
			return nil, fmt.Errorf("start the store: %w", result.err)
		}
	case err := <-s.dead:
		return nil, fmt.Errorf("start the store: %w", err)
	case <-ctx.Done():
		// StartEtcd cannot be interrupted, and the directory is not free for another before it has returned.
		select {
		case result := <-started:
			s.server = result.server
		case err := <-s.dead:
			return nil, fmt.Errorf("start the store: %w: %w", context.Cause(ctx), err)
		}
		return nil, fmt.Errorf("start the store: %w", context.Cause(ctx))
	}

	select {
	case <-s.server.Server.ReadyNotify():
		return s, nil
	case err := <-s.dead:
		return nil, fmt.Errorf("start the store: %w", err)
	case err := <-s.server.Err():
		return nil, fmt.Errorf("start the store: %w", err)
	case <-s.server.Server.StopNotify():
		return nil, errors.New("start the store: it stopped again at once; the log says why")
	case <-ctx.Done():
		return nil, fmt.Errorf("start the store: %w", context.Cause(ctx))
	}
}

// storeConfig says who the store in dir is: a snapshot is restored for the same member.
func storeConfig(dir string) *embed.Config {
	config := embed.NewConfig()
	config.Name = "carillon"
	config.Dir = dir
	// Etcd insists on addresses that it can tell to others. There are no others.
	nowhere := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	config.AdvertiseClientUrls = []url.URL{nowhere}
	config.AdvertisePeerUrls = []url.URL{nowhere}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	return config
}

// watch passes on why the store died, until stop is closed.
func (s *store) watch(stop <-chan struct{}, report func(error)) {
	select {
	case err := <-s.dead:
		report(err)
	case err := <-s.server.Err():
		report(fmt.Errorf("the store failed: %w", err))
	case <-s.server.Server.StopNotify():
		report(errors.New("the store stopped by itself; the log says why"))
	case <-stop:
	}
}

// close stops etcd, in milliseconds; one that is broken may never stop, and is left. Acknowledged writes are on the
// disk already.
func (s *store) close() error {
	if s.socketDir != nil {
		defer s.socketDir.Close()
	}
	if s.server == nil {
		return nil
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.server.Close()
	}()
	overdue := time.NewTimer(storeStopTimeout)
	defer overdue.Stop()
	select {
	case <-stopped:
		return nil
	case <-overdue.C:
		return errors.New("the store did not stop in time")
	}
}

func storeDied(dir, message string) error {
	if strings.Contains(message, syscall.ENOSPC.Error()) {
		return fmt.Errorf("the disk of %s is full and the store cannot go on: free some space and start again; nothing acknowledged is lost (%s)", dir, message)
	}
	return fmt.Errorf("the store in %s cannot go on: %s", dir, message)
}
