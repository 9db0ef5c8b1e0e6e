// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

// finalWriteTimeout is how long the program waits, when it was told to stop, for somebody to read what it says last.
const finalWriteTimeout = time.Second

// stopOnSignals returns a context that ends with the first SIGINT, SIGTERM or SIGHUP; done gives the signals back.
// A second SIGINT or SIGTERM ends the process at once, with afterwards as the end of what is said. A second SIGHUP does
// not: a terminal that is closed sends it twice, once from the kernel and once from the shell. Where SIGHUP is ignored
// from the start, as nohup does, it stays so.
func stopOnSignals(parent context.Context, stderr io.Writer, afterwards string) (ctx context.Context, done func()) {
	ctx, stop := context.WithCancel(parent)
	asked := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		asked = append(asked, syscall.SIGHUP)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, asked...)
	over := make(chan struct{})
	go func() {
		for first := true; ; first = false {
			select {
			case s := <-signals:
				if !first && s != syscall.SIGHUP {
					writeWithin(stderr, "carillon: stopped at once"+afterwards+"\n", finalWriteTimeout)
					os.Exit(exitcode.Interrupted)
				}
				stop()
			case <-over:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		stop()
	}
}

// catchBrokenPipes makes a write to a pipe that nobody reads an error instead of the process's death, so that the stop
// that follows is an orderly one. The signal is caught and not ignored: what is ignored would be so in containers, too.
func catchBrokenPipes() (done func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGPIPE)
	return func() { signal.Stop(signals) }
}

// stopWhenReaderGone returns a context that ends, too, when nobody can read the console any more. Under nohup the
// terminal may go, and Carillon stays.
func stopWhenReaderGone(parent context.Context, out *console.Console) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(parent)
	go func() {
		select {
		case <-out.ReaderGone():
			if !errors.Is(out.ReaderError(), syscall.EIO) || !signal.Ignored(syscall.SIGHUP) {
				stop()
			}
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// writeWithin writes text and waits for it no longer than atMost: the terminal may be stopped, and the process wants to
// end.
func writeWithin(w io.Writer, text string, atMost time.Duration) {
	written := make(chan struct{})
	go func() {
		defer close(written)
		fmt.Fprint(w, text)
	}()
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-written:
	case <-timer.C:
	}
}
