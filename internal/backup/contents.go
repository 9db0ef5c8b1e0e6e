// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"errors"
	"fmt"
	"os"
	"strings"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// countObjects reads the snapshot of a store, and counts what is alive in it. revision is that of the last change.
func countObjects(path string) (objects Objects, revision int64, err error) {
	// What is no database makes its reader panic.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the snapshot of the store cannot be read: %v", r)
		}
	}()
	db, err := bolt.Open(path, 0o400, &bolt.Options{ReadOnly: true, OpenFile: os.OpenFile})
	if err != nil {
		return Objects{}, 0, fmt.Errorf("the snapshot of the store cannot be read: %w", err)
	}
	defer db.Close() //nolint:errcheck // it is only read
	alive := map[string]struct{}{}
	err = db.View(func(tx *bolt.Tx) error {
		keys := tx.Bucket([]byte("key"))
		if keys == nil {
			return errors.New("the snapshot of the store has no keys")
		}
		return keys.ForEach(func(k, v []byte) error {
			revision = mvcc.BytesToRev(k).Main
			var pair mvccpb.KeyValue
			if err := pair.Unmarshal(v); err != nil {
				return fmt.Errorf("the snapshot of the store cannot be read: %w", err)
			}
			if mvcc.IsTombstone(k) {
				delete(alive, string(pair.Key))
			} else if len(pair.Key) > 0 {
				alive[string(pair.Key)] = struct{}{}
			}
			return nil
		})
	})
	for key := range alive {
		objects.count(resourceOf(key))
	}
	return objects, revision, err
}

// resourceOf tells of which resource the object under a key is: "pods", "timetables.batch.carillon.dev"; "" for what is
// no object.
func resourceOf(key string) string {
	parts := strings.Split(key, "/") // /registry/pods/NAMESPACE/NAME, /registry/GROUP/timetables/NAMESPACE/NAME
	if len(parts) < 4 || parts[0] != "" || parts[1] != "registry" {
		return ""
	}
	if strings.Contains(parts[2], ".") {
		return parts[3] + "." + parts[2]
	}
	return parts[2]
}

func (o *Objects) count(resource string) {
	switch resource {
	case "", "events", "leases", "masterleases", "ranges":
		return
	case "cronjobs":
		o.CronJobs++
	case "timetables.batch.carillon.dev":
		o.Timetables++
	case "jobs":
		o.Jobs++
	case "pods":
		o.Pods++
	}
	o.Total++
}
