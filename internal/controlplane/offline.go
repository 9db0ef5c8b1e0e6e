// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
)

// revisionLeap is how far the revision of a restored store is ahead of its snapshot's: what clients remember of the
// time after the snapshot is older than whatever they read now, so that none waits for a revision that comes again. It
// is what etcd advises for Kubernetes.
const revisionLeap = 1_000_000_000

// EssentialFiles are the files in the directory of a plane, by paths relative to it, that its store is of no use
// without: the authority that clients trust, and the key that tokens of service accounts are signed with. All others
// are made anew.
func EssentialFiles() []string {
	return []string{filepath.Join("pki", "ca.pem"), filepath.Join("pki", "service-account.key")}
}

// HasStore tells whether there is a store in the directory of a plane.
func HasStore(dir string) (bool, error) {
	_, err := os.Lstat(filepath.Join(storeDir(dir), "member"))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func storeDir(dir string) string { return filepath.Join(dir, "etcd") }

// OpenStore is a store that is open without its plane. Its methods may be called from several goroutines.
type OpenStore struct {
	// KV has the keys as the API server writes them.
	KV     etcdserverpb.KVClient
	conn   *grpc.ClientConn
	store  *store // nil: another process runs it
	socket *os.File
}

// StartStore starts the store of a plane that does not run. The caller has the sole use of the plane's directory until
// Close.
func StartStore(ctx context.Context, dir string) (*OpenStore, error) {
	s, err := openStore(ctx, storeDir(dir), math.MaxInt32<<2, false, func(onDeath func(string)) *zap.Logger { return logEtcd(io.Discard, onDeath) })
	if err != nil {
		return nil, err
	}
	opened := &OpenStore{store: s}
	if err := opened.connect(ctx, filepath.Join(dir, "etcd.sock")); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// ConnectStore reaches the store of a plane that runs in another process, of the same user. An error says that none
// answers.
func ConnectStore(ctx context.Context, dir string) (*OpenStore, error) {
	opened := &OpenStore{}
	if err := opened.connect(ctx, filepath.Join(dir, "etcd.sock")); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// connect dials the socket by hand: its path may be too long for an address, and is no host that a name could be made
// of.
func (s *OpenStore) connect(ctx context.Context, socket string) (err error) {
	if len(socket) > maxSocketPath {
		if s.socket, err = os.Open(filepath.Dir(socket)); err != nil {
			return err
		}
		socket = filepath.Join("/proc/self/fd", strconv.Itoa(int(s.socket.Fd())), filepath.Base(socket))
	}
	if err := dialOnce(ctx, socket); err != nil {
		return fmt.Errorf("the store does not answer: %w", err)
	}
	// Not etcd's own client, which tells the terminal about connections that it does not need any more.
	s.conn, err = grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		return err
	}
	s.KV = etcdserverpb.NewKVClient(s.conn)
	return awaitReady(ctx, s.conn)
}

// connectTimeout bounds how long a store that listens may take to answer.
const connectTimeout = 15 * time.Second

// awaitReady waits until a connection is there, so that the first call takes no longer than others.
func awaitReady(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for conn.Connect(); ; {
		state := conn.GetState()
		if state == connectivity.Ready {
			return nil
		}
		if state == connectivity.Idle {
			conn.Connect()
		}
		if !conn.WaitForStateChange(ctx, state) {
			return fmt.Errorf("the store does not answer: %w", ctx.Err())
		}
	}
}

// dialOnce tells at once when nobody listens, where a client would try again and again.
func dialOnce(ctx context.Context, socket string) error {
	connection, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err == nil {
		err = connection.Close()
	}
	return err
}

// Close ends it; of another process's it ends the connection alone. Calling it again does nothing.
func (s *OpenStore) Close() error {
	var errs []error
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
		s.conn = nil
	}
	if s.store != nil {
		errs = append(errs, s.store.close())
		s.store = nil
	}
	if s.socket != nil {
		s.socket.Close()
		s.socket = nil
	}
	return errors.Join(errs...)
}

// Disarm lets a store that was full be written to again.
func (s *OpenStore) Disarm(ctx context.Context) error {
	_, err := etcdserverpb.NewMaintenanceClient(s.conn).Alarm(ctx, &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_DEACTIVATE, Alarm: etcdserverpb.AlarmType_NOSPACE})
	return err
}

// Snapshot is a store as it was at one moment, as a stream that ends with its own checksum.
type Snapshot struct {
	stream grpc.ServerStreamingClient[etcdserverpb.SnapshotResponse]
	cancel context.CancelFunc
	rest   []byte
	left   uint64
}

// Snapshot begins one. The moment lies between the call and its return, and what is written later is not in it. The
// store keeps what the snapshot needs until it is read or closed, so read it at once.
func (s *OpenStore) Snapshot(ctx context.Context) (*Snapshot, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := etcdserverpb.NewMaintenanceClient(s.conn).Snapshot(ctx, &etcdserverpb.SnapshotRequest{}, grpc.WaitForReady(true))
	if err == nil {
		var first *etcdserverpb.SnapshotResponse
		// The server answers when the snapshot has been taken.
		if first, err = stream.Recv(); err == nil {
			return &Snapshot{stream: stream, cancel: cancel, rest: first.GetBlob(), left: first.GetRemainingBytes()}, nil
		}
	}
	cancel()
	return nil, fmt.Errorf("take a snapshot of the store: %w", err)
}

// Size is about how many bytes there are still to read.
func (s *Snapshot) Size() int64 { return int64(s.left) + int64(len(s.rest)) } //nolint:gosec // no store is that large

// Read implements io.Reader.
func (s *Snapshot) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		next, err := s.stream.Recv()
		if err != nil {
			return 0, err // io.EOF at the end, as it should be
		}
		s.rest, s.left = next.GetBlob(), next.GetRemainingBytes()
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Close ends it, also before it was read to its end.
func (s *Snapshot) Close() error {
	s.cancel()
	return nil
}

// RestoreStore makes the store of a plane from the snapshot in a file, with its checksum. The directory of the plane is
// there and has no store.
func RestoreStore(path, dir string) (err error) {
	// A snapshot that is no database makes what reads it panic.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the snapshot of the store cannot be read: %v", r)
		}
	}()
	if err := makeDir(storeDir(dir)); err != nil {
		return err
	}
	config := storeConfig(storeDir(dir))
	err = snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: path, OutputDataDir: storeDir(dir),
		Name: config.Name, PeerURLs: []string{config.AdvertisePeerUrls[0].String()},
		InitialCluster: config.InitialCluster, InitialClusterToken: config.InitialClusterToken,
		RevisionBump: revisionLeap, MarkCompacted: true,
	})
	if err != nil {
		return fmt.Errorf("make the store of its snapshot: %w", err)
	}
	return nil
}
