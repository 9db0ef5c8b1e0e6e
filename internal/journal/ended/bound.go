// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package ended

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"slices"
)

// Entries are made whether or not somebody takes them away. So logs are dropped when they have too many bytes, and
// entries when there are too many of them; what ended first goes first. While somebody takes them away they are only in
// a queue, and logs may have more: the disk bounds them.

// maxDamaged is how many entries are kept that cannot be read.
const maxDamaged = 100

// keepBounds drops what is too much. The caller holds the lock.
func (d *Dir) keepBounds() {
	most := d.mostLogBytes()
	for most >= 0 && d.bytes > most {
		id, ok := d.oldest(func(e entry) bool { return e.bytes > 0 })
		if !ok {
			break
		}
		d.warnOnce(&d.toldDropped, "logs of ended containers that are not in the journal have more than %d bytes: the oldest are dropped", most)
		d.dropLog(id)
	}
	for d.opts.Entries >= 0 && len(d.entries) > d.opts.Entries {
		id, _ := d.oldest(func(entry) bool { return true })
		d.warnOnce(&d.toldDropped, "more than %d containers have ended that are not in the journal: the oldest are forgotten", d.opts.Entries)
		d.bytes -= d.entries[id].bytes
		delete(d.entries, id)
		_ = d.root.RemoveAll(id) // if it is still there, the next Open drops it
	}
}

// mostLogBytes is how many bytes logs may have now; less than 0 is any number. The caller holds the lock.
func (d *Dir) mostLogBytes() int64 {
	most := d.opts.LogBytes
	if most < 0 || d.bytes <= most || d.opts.Draining == nil || !d.opts.Draining() {
		return most
	}
	// Half of what would be free without them.
	return max(most, (d.opts.free(d.path)+d.bytes)/2)
}

// oldest finds the entry that ended first of those that are chosen. The caller holds the lock.
func (d *Dir) oldest(chosen func(entry) bool) (id string, ok bool) {
	for at, e := range d.entries {
		if chosen(e) && (!ok || cmp.Or(e.ended.Compare(d.entries[id].ended), cmp.Compare(at, id)) < 0) {
			id, ok = at, true
		}
	}
	return id, ok
}

// dropLog removes the log of an entry. The caller holds the lock.
func (d *Dir) dropLog(id string) {
	e := d.entries[id]
	d.bytes -= e.bytes
	e.bytes = 0
	d.entries[id] = e
	c, err := d.Read(id)
	if err != nil {
		return // removed meanwhile, or told when it is read
	}
	for _, name := range c.Logs {
		_ = d.root.Remove(filepath.Join(id, name)) // likewise
	}
}

// forget takes an entry out of the account.
func (d *Dir) forget(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bytes -= d.entries[id].bytes
	delete(d.entries, id)
	if len(d.entries) == 0 {
		d.toldDropped = false
	}
}

// trimDamaged keeps what was set aside from growing for ever.
func (d *Dir) trimDamaged() {
	list, err := fs.ReadDir(d.root.FS(), damagedDir)
	if err != nil || len(list) <= maxDamaged {
		return
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return modTime(a) - modTime(b) })
	for _, e := range list[:len(list)-maxDamaged] {
		_ = d.root.RemoveAll(filepath.Join(damagedDir, e.Name())) // tried again next time
	}
}

// modTime is when an entry of a directory was changed, in seconds of Unix time; 0 if it is gone.
func modTime(e fs.DirEntry) int {
	info, err := e.Info()
	if err != nil {
		return 0
	}
	return int(info.ModTime().Unix())
}
