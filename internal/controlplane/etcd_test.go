// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func quiet(onDeath func(string)) *zap.Logger { return logEtcd(io.Discard, onDeath) }

func openTestStore(t *testing.T, dir string) *store {
	t.Helper()
	s, err := openStore(t.Context(), dir, DefaultQuota, true, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What was acknowledged is there after the next start, also over a socket left behind and in directories whose path is
// too long for a socket address.
func TestStoreKeepsData(t *testing.T) {
	for name, dir := range map[string]string{
		"short path": filepath.Join(t.TempDir(), "etcd"),
		"long path":  filepath.Join(t.TempDir(), strings.Repeat("long", 25), "etcd"),
	} {
		t.Run(name, func(t *testing.T) {
			first := openTestStore(t, dir)
			put(t, first, "key", "value")
			first.close()
			// As a killed process would leave it.
			if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "etcd.sock"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			second := openTestStore(t, dir)
			defer second.close()
			if got := get(t, second, "key"); got != "value" {
				t.Errorf("got %q after the restart", got)
			}
		})
	}
}

// Data that cannot be read is an error of the start, not the end of the process.
func TestStoreRefusesDamage(t *testing.T) {
	for name, pattern := range map[string]string{"log": "member/wal/*.wal", "database": "member/snap/db"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "etcd")
			first := openTestStore(t, dir)
			put(t, first, "key", "value")
			first.close()
			files, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil || len(files) == 0 {
				t.Fatal("no such file", err)
			}
			for _, file := range files {
				info, err := os.Stat(file)
				if err != nil {
					t.Fatal(err)
				}
				noise := []byte(strings.Repeat("\xa5\x5a", int(min(info.Size(), 1<<20)/2)))
				if err := os.WriteFile(file, noise, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, err := openStore(t.Context(), dir, DefaultQuota, true, quiet)
			if err == nil {
				s.close()
				t.Fatal("started on damaged data")
			}
			if !strings.Contains(err.Error(), "store") {
				t.Errorf("%q does not say what is wrong", err)
			}
		})
	}
}

// A start that is given up leaves the directory to the next.
func TestStoreStartIsCancelled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "etcd")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("changed my mind")
	cancel(why)
	if s, err := openStore(ctx, dir, DefaultQuota, true, quiet); !errors.Is(err, why) {
		if err == nil {
			s.close()
		}
		t.Fatalf("got %v, want the cause", err)
	}
	openTestStore(t, dir).close()
}

// A store that ends by itself says so; one that is closed does not.
func TestStoreReportsItsEnd(t *testing.T) {
	s := openTestStore(t, filepath.Join(t.TempDir(), "etcd"))
	reports := make(chan error, 1)
	stop := make(chan struct{})
	go s.watch(stop, func(err error) { reports <- err })
	s.server.Server.Stop()
	if err := <-reports; err == nil || !strings.Contains(err.Error(), "store") {
		t.Errorf("got %v", err)
	}
	s.close()

	s = openTestStore(t, filepath.Join(t.TempDir(), "etcd"))
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.watch(stop, func(err error) { t.Errorf("reported %v on a close", err) })
	}()
	close(stop)
	<-watched
	s.close()
}

// When etcd gives up the process goes on and learns why; a full disk is named with the cure.
func TestEtcdDeath(t *testing.T) {
	for name, end := range map[string]func(*zap.Logger, ...zap.Field){
		"fatal": func(l *zap.Logger, f ...zap.Field) { l.Fatal("failed to save", f...) },
		"panic": func(l *zap.Logger, f ...zap.Field) { l.Panic("failed to save", f...) },
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			done := make(chan struct{})
			returned := false
			go func() {
				defer close(done)
				end(logEtcd(io.Discard, func(m string) { got = m }), zap.Error(&os.PathError{Op: "write", Path: "wal", Err: syscall.ENOSPC}))
				returned = true
			}()
			<-done
			if returned {
				t.Error("etcd went on after its end")
			}
			if err := storeDied("/d", got); !strings.Contains(err.Error(), "free some space") || !strings.Contains(err.Error(), "failed to save") {
				t.Errorf("got %q", err)
			}
		})
	}
	if err := storeDied("/d", "raft is confused"); strings.Contains(err.Error(), "space") {
		t.Errorf("%q blames the disk", err)
	}
	var _ zapcore.CheckWriteHook = deathHook(nil)
}

func client(t *testing.T, s *store) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.url}, DialTimeout: time.Minute, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func put(t *testing.T, s *store, key, value string) {
	t.Helper()
	if _, err := client(t, s).Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s *store, key string) string {
	t.Helper()
	response, err := client(t, s).Get(t.Context(), key)
	if err != nil || len(response.Kvs) != 1 {
		t.Fatal(response, err)
	}
	return string(response.Kvs[0].Value)
}
