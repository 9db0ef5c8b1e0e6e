// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// request is one call, for the goroutine that writes.
type request struct {
	apply func(*database) error
	logs  int64      // how many bytes of logs it adds
	done  chan error // has room for the answer, so that nobody waits for a caller who has left
}

// mostTogether is how many calls are committed together at most.
const mostTogether = 512

// do has f called in a transaction, and returns when that is durable.
func (j *Journal) do(ctx context.Context, f func(*database) error) error {
	return j.ask(ctx, &request{apply: f})
}

func (j *Journal) ask(ctx context.Context, r *request) error {
	r.done = make(chan error, 1)
	select {
	case j.requests <- r:
	case <-j.closing:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write is the goroutine that writes. Requests come unbuffered: while one batch is committed the next callers gather,
// and are the next batch. Retention goes in small steps, and only while nobody waits.
func (j *Journal) write() {
	defer close(j.closed)
	tick := j.limits.after(0)
	for {
		var idle chan struct{}
		if j.w.tidying {
			idle = make(chan struct{})
			close(idle)
		}
		select {
		case r := <-j.requests:
			j.w.batch(j.gather(r))
			continue
		default:
		}
		select {
		case r := <-j.requests:
			j.w.batch(j.gather(r))
		case <-idle:
			j.w.tidy()
		case <-tick:
			j.w.beginTidying()
			tick = j.limits.after(j.limits.idle)
		case <-j.closing:
			j.err = j.w.close()
			return
		}
	}
}

// gather adds those who wait already.
func (j *Journal) gather(first *request) []*request {
	all := []*request{first}
	for len(all) < mostTogether {
		select {
		case r := <-j.requests:
			all = append(all, r)
		default:
			return all
		}
	}
	return all
}

// writer is what the goroutine has.
type writer struct {
	dir    string
	o      Options
	limits limits
	d      *database // nil while there is none
	// info is of the files that d has open.
	info [3]os.FileInfo
	// checked: it was looked for damage when it was opened, or is new.
	checked bool
	files   *directory

	state availability
	// unavailable is read by others: the user was told that the journal cannot be written to.
	unavailable *atomic.Bool
	closing     <-chan struct{} // nil: never
	tidying     bool            // there may be something to remove
	trimming    bool            // logs go until there are few enough
	shrinking   bool            // records do
	ageing      bool            // what is too old goes
	clock       steadiness
	warnedOld   bool
	logBytes    int64
	warnedLarge bool
}

func newWriter(dir string, o Options, l limits) (*writer, error) {
	files, err := makeDirectory(dir)
	if err != nil {
		return nil, err
	}
	w := &writer{dir: files.path, o: o, limits: l, files: files, unavailable: &atomic.Bool{}}
	if err := w.open(); err != nil {
		if !isOutside(err) {
			files.close()
			return nil, err
		}
		w.fail(err)
	}
	return w, nil
}

// batch commits what several callers asked for, in one transaction, and answers them.
func (w *writer) batch(all []*request) {
	err := w.attempt(func() error {
		if err := w.enough(); err != nil {
			return err
		}
		return w.d.transact(func() error {
			for _, r := range all {
				if err := r.apply(w.d); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err == nil {
		w.recovered()
	}
	if err != nil && len(all) > 1 && !isUnavailable(err) {
		// One of them cannot be written: the others can.
		for _, r := range all {
			w.batch([]*request{r})
		}
		return
	}
	for _, r := range all {
		if err == nil {
			w.logBytes += r.logs
		}
		r.done <- err
	}
	if w.o.KeepLogs >= 0 && w.logBytes > w.o.KeepLogs {
		w.tidying = true
	}
}

// close marks the journal as closed in good order.
func (w *writer) close() error {
	defer w.files.close()
	if w.d == nil {
		return nil
	}
	_, err := w.d.exec(fmt.Sprintf("PRAGMA busy_timeout(%d)", closeWait.Milliseconds()))
	if err == nil {
		err = w.d.setClean(true)
	}
	if isOutside(err) {
		err = nil // it is looked at when it is opened next
	}
	if cerr := w.d.close(); err == nil {
		err = cerr
	}
	w.d = nil
	return err
}

func (d *database) setClean(clean bool) error {
	return d.transact(func() error {
		_, err := d.exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('clean', ?)", clean)
		return err
	})
}

// checkTime is how long the look at a journal may take that nobody closed: what it does not reach is found when it is
// read.
const checkTime = 10 * time.Second

// open opens the database, or sets a damaged one aside and begins a new one.
func (w *writer) open() error {
	err := w.openOnce()
	if isDamage(err) {
		if err := w.setAside(err); err != nil {
			return err
		}
		err = w.openOnce()
	}
	return err
}

func (w *writer) openOnce() (err error) {
	if err := w.files.prepare(); err != nil {
		return err
	}
	wait := fmt.Sprintf("busy_timeout(%d)", w.limits.lockWait.Milliseconds())
	d, err := connect(context.Background(), w.files.database(), "rw", slices.Concat(w.limits.pragmas, []string{wait}, writePragmas))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = d.close() // the error that made it useless is the one to tell
		}
	}()
	version, err := d.version(context.Background(), w.files.database())
	if err != nil {
		return err
	}
	if err := d.migrate(version); err != nil {
		return err
	}
	var clean bool
	if _, err := d.one("SELECT value FROM meta WHERE name = 'clean'", nil, &clean); err != nil {
		return err
	}
	if !clean && version > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), checkTime)
		defer cancel()
		if err := d.check(ctx); err != nil {
			return err
		}
	}
	w.checked = !clean
	if err := d.setClean(false); err != nil {
		return err
	}
	if w.logBytes, err = d.logBytes(); err != nil {
		return err
	}
	for i, c := range companions {
		if w.info[i], err = os.Lstat(w.files.database() + c); err != nil {
			return err
		}
	}
	w.d = d
	return nil
}
