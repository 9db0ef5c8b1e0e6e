// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ownwrites_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/kube/ownwrites"
)

const owner = types.UID("owner")

func job(uid string, version int) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: uid, UID: types.UID(uid), ResourceVersion: strconv.Itoa(version)}}
}

func deleting(j *batchv1.Job) *batchv1.Job {
	now := metav1.Now()
	j.DeletionTimestamp = &now
	return j
}

// What was written is read back, whatever the cache shows meanwhile, and is forgotten once the cache shows it.
func TestMergeLaysOwnWritesOverTheCache(t *testing.T) {
	type S = ownwrites.Store[*batchv1.Job]
	for name, test := range map[string]struct {
		write       func(*S)
		progress    string
		cached      []*batchv1.Job
		want        []string // uid@version
		fresh       bool
		leftPending int
	}{
		"nothing written":                        {write: func(*S) {}, cached: []*batchv1.Job{job("a", 3)}, want: []string{"a@3"}, fresh: true},
		"created, cache has not seen it":         {write: func(s *S) { s.Created(owner, job("b", 5)) }, cached: []*batchv1.Job{job("a", 3)}, want: []string{"a@3", "b@5"}, leftPending: 1},
		"created, cache has it":                  {write: func(s *S) { s.Created(owner, job("a", 3)) }, cached: []*batchv1.Job{job("a", 3)}, want: []string{"a@3"}, fresh: true},
		"created, cache has a newer one":         {write: func(s *S) { s.Created(owner, job("a", 3)) }, cached: []*batchv1.Job{job("a", 9)}, want: []string{"a@9"}, fresh: true},
		"version 10 is newer than 9":             {write: func(s *S) { s.Updated(owner, job("a", 10)) }, cached: []*batchv1.Job{job("a", 9)}, want: []string{"a@10"}, leftPending: 1},
		"updated, cache is older":                {write: func(s *S) { s.Updated(owner, job("a", 4)) }, cached: []*batchv1.Job{job("a", 3)}, want: []string{"a@4"}, leftPending: 1},
		"updated, then gone from the cache":      {write: func(s *S) { s.Updated(owner, job("a", 4)) }, want: nil, fresh: true},
		"created then updated, cache saw none":   {write: func(s *S) { s.Created(owner, job("a", 4)); s.Updated(owner, job("a", 6)) }, want: []string{"a@6"}, leftPending: 1},
		"an older answer does not go back":       {write: func(s *S) { s.Created(owner, job("a", 6)); s.Updated(owner, job("a", 4)) }, want: []string{"a@6"}, leftPending: 1},
		"created and gone again":                 {write: func(s *S) { s.Created(owner, job("a", 4)); s.Gone(owner, "a") }, want: nil, fresh: true},
		"created, cache complete past it":        {write: func(s *S) { s.Created(owner, job("a", 4)) }, progress: "5", want: nil, fresh: true},
		"created, cache complete just before it": {write: func(s *S) { s.Created(owner, job("a", 4)) }, progress: "3", want: []string{"a@4"}, leftPending: 1},
		"deleted, cache still lists it":          {write: func(s *S) { s.Deleted(owner, "a") }, cached: []*batchv1.Job{job("a", 3)}, want: []string{"a@3"}, leftPending: 1},
		"deleted, cache shows the mark":          {write: func(s *S) { s.Deleted(owner, "a") }, cached: []*batchv1.Job{deleting(job("a", 4))}, want: []string{"a@4"}, fresh: true},
		"deleted, cache shows it gone":           {write: func(s *S) { s.Deleted(owner, "a") }, want: nil, fresh: true},
		"owner forgotten":                        {write: func(s *S) { s.Created(owner, job("a", 4)); s.Forget(owner) }, want: nil, fresh: true},
		"another owner's writes stay apart":      {write: func(s *S) { s.Created("other", job("a", 4)) }, want: nil, fresh: true},
		"same name, other uid is another object": {write: func(s *S) { s.Created(owner, job("new", 7)) }, cached: []*batchv1.Job{job("old", 3)}, want: []string{"old@3", "new@7"}, leftPending: 1},
		"a version that is no number":            {write: func(s *S) { s.Updated(owner, job("a", 0)) }, cached: []*batchv1.Job{job("a", 3)}, want: []string{"a@3"}, fresh: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := ownwrites.New[*batchv1.Job](func() string { return test.progress })
			test.write(s)
			before := slices.Clone(test.cached)
			got, fresh := s.Merge(owner, test.cached)
			if diff := cmp.Diff(test.want, text(got)); diff != "" {
				t.Errorf("merged (-want +got):\n%s", diff)
			}
			if fresh != test.fresh || s.Pending(owner) != test.leftPending {
				t.Errorf("fresh %v, pending %d; want %v, %d", fresh, s.Pending(owner), test.fresh, test.leftPending)
			}
			if !slices.Equal(before, test.cached) {
				t.Error("the cache's own slice was modified")
			}
		})
	}
}

func text(jobs []*batchv1.Job) []string {
	var out []string
	for _, j := range jobs {
		out = append(out, fmt.Sprintf("%s@%s", j.UID, j.ResourceVersion))
	}
	return out
}

// Once the cache has shown a created object, its absence means that it was deleted.
func TestAbsenceAfterPresenceIsDeletion(t *testing.T) {
	s := ownwrites.New[*batchv1.Job](nil)
	s.Created(owner, job("a", 4))
	s.Updated(owner, job("a", 6))
	if got, _ := s.Merge(owner, []*batchv1.Job{job("a", 4)}); len(got) != 1 || got[0].ResourceVersion != "6" {
		t.Fatalf("own update must win over the older cache, got %v", text(got))
	}
	if got, fresh := s.Merge(owner, nil); len(got) != 0 || !fresh {
		t.Fatalf("want nothing and fresh, got %v, %v", text(got), fresh)
	}
}

// A delete is remembered until the cache shows it, also while a newer own write of the object is pending.
func TestIsDeleted(t *testing.T) {
	s := ownwrites.New[*batchv1.Job](nil)
	s.Updated(owner, job("a", 6))
	s.Deleted(owner, "a")
	s.Merge(owner, []*batchv1.Job{job("a", 7)})
	if !s.IsDeleted(owner, "a") {
		t.Error("a newer version without deletion mark does not prove that the delete was seen")
	}
	s.Merge(owner, []*batchv1.Job{deleting(job("a", 8))})
	if s.IsDeleted(owner, "a") {
		t.Error("the deletion mark in the cache must settle it")
	}
}

// The echo of our write is known, and is the object that is held from then on; what else is known stays.
func TestEchoed(t *testing.T) {
	s := ownwrites.New[*batchv1.Job](nil)
	s.Created(owner, job("a", 6))
	s.Deleted(owner, "a")
	cached := job("a", 6)
	if s.Echoed(owner, job("a", 5)) || s.Echoed(owner, job("b", 6)) || !s.Echoed(owner, cached) {
		t.Error("exactly version 6 of a is the echo of our write")
	}
	if merged, fresh := s.Merge(owner, nil); len(merged) != 1 || merged[0] != cached || fresh {
		t.Errorf("got %v, fresh %v; want the cache's own object, which a list from before the echo lacks", merged, fresh)
	}
	if !s.IsDeleted(owner, "a") || !s.IsOwnWrite(owner, job("a", 6)) {
		t.Error("the echo settles neither the delete nor the write")
	}
}

// The newest of own status write and cache is used, and a watch event that repeats the own write is known.
func TestLatestAndWrote(t *testing.T) {
	s := ownwrites.New[*batchv1.Job](nil)
	s.Updated("a", job("a", 6))
	if !s.IsOwnWrite("a", job("a", 6)) || s.IsOwnWrite("a", job("a", 7)) {
		t.Error("exactly version 6 is the echo of our write")
	}
	if got, own := s.Latest(job("a", 5)); !own || got.ResourceVersion != "6" {
		t.Errorf("got %s, own %v; want our version 6", got.ResourceVersion, own)
	}
	if got, own := s.Latest(job("a", 8)); own || got.ResourceVersion != "8" {
		t.Errorf("got %s, own %v; want the cache's version 8", got.ResourceVersion, own)
	}
	if s.Pending("a") != 0 {
		t.Error("what the cache has passed must be forgotten")
	}
}

// For every order of own writes, foreign writes and cache lag, Merge shows each object at least as new as both the
// cache and our last write, invents nothing, and forgets everything once the cache is complete.
func TestMergeNeverGoesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		server := map[string]int{} // uid -> version
		cache := map[string]int{}
		ours := map[string]int{} // newest version that we wrote and that still exists
		version, seen := 0, 0
		type change struct {
			uid     string
			version int // 0 = deleted
		}
		var log []change
		useProgress := rapid.Bool().Draw(t, "progress")
		s := ownwrites.New[*batchv1.Job](func() string {
			if !useProgress || seen == 0 {
				return ""
			}
			return strconv.Itoa(seen)
		})
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			uid := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "uid")
			_, exists := server[uid]
			switch rapid.SampledFrom([]string{"create", "update", "delete", "foreign update", "lag", "merge"}).Draw(t, "step") {
			case "create":
				if _, used := ours[uid]; exists || used { // a UID is never used again
					continue
				}
				version++
				server[uid], ours[uid] = version, version
				log = append(log, change{uid, version})
				s.Created(owner, job(uid, version))
			case "update":
				if !exists {
					continue
				}
				version++
				server[uid], ours[uid] = version, version
				log = append(log, change{uid, version})
				s.Updated(owner, job(uid, version))
			case "foreign update":
				if !exists {
					continue
				}
				version++
				server[uid] = version
				log = append(log, change{uid, version})
			case "delete":
				if !exists {
					continue
				}
				version++
				delete(server, uid)
				log = append(log, change{uid, 0})
				s.Deleted(owner, types.UID(uid))
			case "lag":
				if len(log) == 0 {
					continue
				}
				n := rapid.IntRange(1, len(log)).Draw(t, "events")
				for _, c := range log[:n] {
					seen++
					if c.version == 0 {
						delete(cache, c.uid)
						s.Gone(owner, types.UID(c.uid))
					} else {
						cache[c.uid] = c.version
					}
				}
				log = log[n:]
			case "merge":
				got, _ := s.Merge(owner, list(cache))
				count := map[string]int{}
				for _, j := range got {
					uid := string(j.UID)
					count[uid]++
					v, _ := strconv.Atoi(j.ResourceVersion)
					if v < cache[uid] {
						t.Fatalf("%s went back to %d, the cache has %d", uid, v, cache[uid])
					}
					if ours[uid] > v && ours[uid] != 0 {
						t.Fatalf("%s is shown at %d, we wrote %d", uid, v, ours[uid])
					}
				}
				for uid := range server {
					if ours[uid] != 0 && count[uid] != 1 {
						t.Fatalf("%s exists and we wrote it, but it is shown %d times", uid, count[uid])
					}
				}
			}
		}
		for _, c := range log {
			seen++
			if c.version == 0 {
				delete(cache, c.uid)
				s.Gone(owner, types.UID(c.uid))
			} else {
				cache[c.uid] = c.version
			}
		}
		got, fresh := s.Merge(owner, list(cache))
		if !fresh || s.Pending(owner) != 0 || len(got) != len(server) {
			t.Fatalf("a complete cache must settle everything: fresh %v, pending %d, %v of %v", fresh, s.Pending(owner), text(got), server)
		}
	})
}

func list(cache map[string]int) []*batchv1.Job {
	var out []*batchv1.Job
	for uid, v := range cache {
		out = append(out, job(uid, v))
	}
	return out
}
