// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func quotaStore(t *testing.T, dir string, quota int64) (*store, *maintainer, *[]string) {
	t.Helper()
	s, err := openStore(t.Context(), dir, quota, true, quiet)
	if err != nil {
		t.Fatal(err)
	}
	warnings := &[]string{}
	m := &maintainer{store: s, dir: dir, quota: quota, log: logr.Discard(), warn: func(w string) { *warnings = append(*warnings, w) }}
	return s, m, warnings
}

// fill writes half a megabyte after another, to the key that is given for each, until the store refuses it.
func fill(t *testing.T, s *store, key func(int) string) {
	t.Helper()
	c := client(t, s)
	for i := range 1000 {
		_, err := c.Put(t.Context(), key(i), strings.Repeat("x", mib/2))
		if errors.Is(err, rpctypes.ErrNoSpace) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		s.server.Server.Backend().ForceCommit() // the quota counts what is in the file
	}
	t.Fatal("the store took everything")
}

// A store that its history filled is brought back while it runs, and by a start, without anything being lost.
func TestFullOfHistory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "etcd")
	s, m, warnings := quotaStore(t, dir, LeastQuota)
	const key = "/registry/jobs/default/x"
	c := client(t, s)
	put(t, s, "/registry/jobs/default/kept", "value")
	same := func(int) string { return key }
	fill(t, s, same)
	if err := m.pass(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), key, "again"); err != nil {
		t.Errorf("after a pass: %v", err)
	}
	if len(*warnings) != 1 || !strings.Contains((*warnings)[0], "has room again") {
		t.Errorf("the user was told %q", *warnings)
	}

	// As a killed process would leave it: with the alarm.
	fill(t, s, same)
	s.close()
	s, m, warnings = quotaStore(t, dir, LeastQuota)
	defer s.close()
	if err := m.open(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	put(t, s, key, "and again")
	if got := get(t, s, "/registry/jobs/default/kept"); got != "value" {
		t.Errorf("what was kept is %q now", got)
	}
	if err := m.pass(t.Context(), time.Now()); err != nil || len(*warnings) != 1 {
		t.Errorf("the user was told %q (%v)", *warnings, err)
	}
	if u := *m.usage.Load(); u.Full || u.share(u.Size) > 50 {
		t.Errorf("now %+v", u)
	}
}

// A store that objects filled stays full: the user is told by what, while it runs and at a start, and a larger quota
// helps. When there are fewer objects, the old quota does again.
func TestFullOfObjects(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "etcd")
	s, m, warnings := quotaStore(t, dir, LeastQuota)
	// Each filling but the last leaves pages that can be given back.
	var err error
	for n := 0; err == nil; {
		fill(t, s, func(int) string { n++; return fmt.Sprintf("/registry/configmaps/default/%d", n) })
		for range 3 {
			if err := m.pass(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if !m.usage.Load().Full {
			*warnings = nil
			continue
		}
		if len(*warnings) != 1 || !strings.Contains((*warnings)[0], "full and nothing can be written") || !strings.Contains((*warnings)[0], "holds configmaps 1") {
			t.Errorf("the user was told %q", *warnings)
		}
		s.close()
		s, m, warnings = quotaStore(t, dir, LeastQuota)
		err = m.open(t.Context(), time.Now())
	}
	s.close()
	for _, want := range []string{dir, "--quota-backend-bytes 32Mi,", "configmaps 1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("a start gave %v, want %q", err, want)
		}
	}

	s, m, _ = quotaStore(t, dir, 2*LeastQuota)
	if err := m.open(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	put(t, s, "/registry/jobs/default/x", "value")
	if _, err := client(t, s).Delete(t.Context(), "/registry/configmaps/", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	s.close()

	s, m, warnings = quotaStore(t, dir, LeastQuota)
	defer s.close()
	if err := m.open(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	put(t, s, "/registry/jobs/default/x", "another")
	if err := m.pass(t.Context(), time.Now()); err != nil || len(*warnings) != 0 {
		t.Errorf("the user was told %q (%v)", *warnings, err)
	}
	if u := *m.usage.Load(); u.Full || u.share(u.Size) > 50 {
		t.Errorf("now %+v", u)
	}
}

// A store with room for small writes, but not for one that somebody tries again and again, stays full until that one
// fits: otherwise it would be refused, called room again, and refused, for ever, and the user told of it each time.
func TestRoomForTheLargestWrite(t *testing.T) {
	s, m, warnings := quotaStore(t, filepath.Join(t.TempDir(), "etcd"), LeastQuota)
	defer s.close()
	backend, c := s.server.Server.Backend(), client(t, s)
	const large = mib * 5 / 4
	for i := 0; backend.Size() < LeastQuota-large; i++ {
		if _, err := c.Put(t.Context(), fmt.Sprintf("/registry/configmaps/default/%d", i), strings.Repeat("x", mib/8)); err != nil {
			t.Fatal(err)
		}
		if err := backend.Defrag(); err != nil { // nothing is left to give back
			t.Fatal(err)
		}
	}
	for range 5 {
		if _, err := c.Put(t.Context(), "/registry/jobs/default/large", strings.Repeat("x", large)); !errors.Is(err, rpctypes.ErrNoSpace) {
			t.Fatalf("with %s of %s: %v", sizeOf(backend.Size()), sizeOf(LeastQuota), err)
		}
		if err := m.pass(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if len(*warnings) != 1 || !strings.Contains((*warnings)[0], "full and nothing can be written") {
		t.Errorf("the user was told %q", *warnings)
	}
}

// What a compaction freed counts as in use as long as somebody reads what was there before, and some commits more. That
// does not keep the file from being written anew: otherwise a start leaves a store that is full for the first write.
func TestPagesThatWereReadWhenTheyWereFreed(t *testing.T) {
	const quota = 4 * LeastQuota
	s, m, _ := quotaStore(t, filepath.Join(t.TempDir(), "etcd"), quota)
	defer s.close()
	backend, c := s.server.Server.Backend(), client(t, s)
	for i := 0; backend.SizeInUse() < quota*(shareShort+shareTight)/200; i++ {
		if _, err := c.Put(t.Context(), fmt.Sprintf("/registry/configmaps/default/%d", i), strings.Repeat("x", mib/2)); err != nil {
			t.Fatal(err)
		}
		backend.ForceCommit()
	}
	if err := backend.Defrag(); err != nil { // nothing else is free in the file
		t.Fatal(err)
	}
	reader := backend.ConcurrentReadTx()
	reader.RLock()
	deleted, err := c.Delete(t.Context(), "/registry/configmaps/", clientv3.WithPrefix())
	if err == nil {
		_, err = c.Compact(t.Context(), deleted.Header.Revision, clientv3.WithCompactPhysical())
	}
	reader.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	if in := backend.SizeInUse(); in < quota/2 {
		t.Fatalf("%d bytes are in use: this test shows nothing", in)
	}
	if err := m.open(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if u := *m.usage.Load(); u.share(u.Size) > 20 {
		t.Errorf("after a start: %+v", u)
	}
}

// A store that gets tight is told by what, before it is full.
func TestTightStore(t *testing.T) {
	s, m, warnings := quotaStore(t, filepath.Join(t.TempDir(), "etcd"), LeastQuota)
	defer s.close()
	c := client(t, s)
	for i := range 30 {
		if len(*warnings) > 0 {
			break
		}
		if _, err := c.Put(t.Context(), fmt.Sprintf("/registry/events/default/%d", i), strings.Repeat("x", mib/2)); err != nil {
			t.Fatal(err)
		}
		s.server.Server.Backend().ForceCommit()
		if err := m.pass(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if len(*warnings) != 1 || !strings.Contains((*warnings)[0], "% full") || !strings.Contains((*warnings)[0], "holds events ") {
		t.Errorf("the user was told %q", *warnings)
	}
}
