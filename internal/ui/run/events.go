// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	// linesPerEvent and bytesPerEvent bound an event, eventsApart is how long it is to the next one at least.
	linesPerEvent = 250
	bytesPerEvent = 128 << 10
	eventsApart   = 50 * time.Millisecond
	// stalled is after how long a viewer who takes nothing is left: his browser comes again for the rest.
	stalled = 20 * time.Second
	// soon is how long a browser waits before it comes again when the connection breaks, later when following has failed.
	soon, later = time.Second, 10 * time.Second
	// silence is after how long without lines a viewer is told that all is well.
	silence = 15 * time.Second
)

// sent is what goes to the viewer: a line, or an event of its own.
type sent struct {
	id    string
	event string
	data  any
	size  int
}

// line is a line as the script takes it.
type line struct {
	Number int    `json:"n"`
	Time   string `json:"t,omitempty"`
	Stderr bool   `json:"e,omitempty"`
	// Parts are pairs of classes and text.
	Parts [][2]string `json:"p"`
	Cut   int64       `json:"c,omitempty"`
}

// send writes what comes until there is no more, or the viewer has gone, and with it that something else has changed; a
// nil channel tells of no changes.
func send(ctx context.Context, w http.ResponseWriter, from <-chan sent, over <-chan error, changes <-chan struct{}) error {
	c := http.NewResponseController(w)
	write := func(text []byte) error {
		_ = c.SetWriteDeadline(time.Now().Add(stalled)) // where it cannot be set, the server has another bound
		if _, err := w.Write(text); err != nil {
			return err
		}
		return c.Flush()
	}
	if err := write(retryAfter(soon)); err != nil {
		return nil //nolint:nilerr // the viewer has gone
	}
	quiet := time.NewTimer(silence)
	defer quiet.Stop()
	for ended := false; !ended; {
		var batch []sent
		var err error
		select {
		case one := <-from:
			batch = gather(one, from)
		case err = <-over:
			ended = true
			for len(from) > 0 {
				batch = append(batch, <-from)
			}
		case _, open := <-changes:
			if !open {
				return nil // the viewer has gone
			}
			// It has no ID: that of the last lines holds.
			if write([]byte("event: changed\ndata:\n\n")) != nil {
				return nil
			}
		case <-quiet.C:
			if write([]byte(":\n\n")) != nil {
				return nil
			}
		}
		quiet.Reset(silence)
		if len(batch) > 0 {
			if write(encoded(batch)) != nil {
				return nil
			}
			if wait(ctx, eventsApart) != nil {
				return nil
			}
		}
		if err != nil {
			_ = write(retryAfter(later)) // a viewer who has gone does not come again
			return err
		}
	}
	return nil
}

// retryAfter tells a browser how long to wait before it comes again.
func retryAfter(d time.Duration) []byte { return fmt.Appendf(nil, "retry: %d\n\n", d.Milliseconds()) }

// gather takes what waits, up to the bounds of an event.
func gather(first sent, from <-chan sent) []sent {
	batch, size := []sent{first}, first.size
	for len(batch) < linesPerEvent && size < bytesPerEvent {
		select {
		case one := <-from:
			batch = append(batch, one)
			size += one.size
		default:
			return batch
		}
	}
	return batch
}

// encoded writes events: lines that follow each other are one.
func encoded(batch []sent) []byte {
	var b bytes.Buffer
	var lines []any
	event := func(id, name string, data any) {
		text, err := json.Marshal(data)
		if err != nil {
			return // it is made of texts and numbers
		}
		fmt.Fprintf(&b, "id: %s\nevent: %s\ndata: %s\n\n", id, name, text)
	}
	for i := range batch {
		if batch[i].event != "" {
			event(batch[i].id, batch[i].event, batch[i].data)
			continue
		}
		lines = append(lines, batch[i].data)
		if i+1 == len(batch) || batch[i+1].event != "" {
			event(batch[i].id, "lines", lines)
			lines = nil
		}
	}
	return b.Bytes()
}
