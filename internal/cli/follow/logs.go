// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/carillon-dev/carillon/internal/cli/console"
)

// longestLine bounds what one line of output may hold in memory, in bytes. A longer line is shown in
// pieces.
const longestLine = 64 << 10

// reading is one instance of a container being read. The next instance waits for its end, so that
// output comes in the order in which it was written.
type reading struct {
	done chan struct{}
	mark time.Time // of the last line that was passed on; to be read after done
}

// log reads what one instance of a container writes. The API can be asked for the log of the current
// instance and of the one before it only, and an instance that fails at once may not be the current
// one any more when its log is asked for.
type log struct {
	client    kubernetes.Interface
	console   *console.Console
	namespace string
	pod       string
	container string
	instance  int32 // the container's restart count
	source    string
	since     *metav1.Time // nil: from the start
	before    *reading     // of the instance before; nil for the first that is seen
	this      *reading
	passed    *atomic.Int64 // counts the lines
}

// read passes the lines on until the container ended or ctx did. The node may not have the log yet
// when the status already says "running", so the first request is repeated for a few seconds.
func (l log) read(ctx context.Context) {
	if l.before != nil {
		select {
		case <-l.before.done:
			l.this.mark = l.before.mark
		case <-ctx.Done():
			return
		}
	}
	for attempt := range 20 {
		stream, err := l.open(ctx)
		if err == nil {
			l.print(stream)
			return
		}
		timer := time.NewTimer(min(time.Duration(attempt+1)*50*time.Millisecond, time.Second))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
	l.warn("")
}

// warn says that output is missing, and what the node says of it if anything.
func (l log) warn(cause string) {
	message := "its output cannot be shown here; try: carillon kubectl logs " + l.pod
	if cause != "" {
		message += " (" + cause + ")"
	}
	l.console.Print(console.Line{Type: console.Warning, Object: "pod/" + l.namespace + "/" + l.pod, Message: message})
}

// open returns the log of this instance. Whose log a stream is, is known only afterwards: it is ours
// if the container had not been restarted when the stream was open already.
func (l log) open(ctx context.Context) (io.ReadCloser, error) {
	stream, err := l.stream(ctx, false)
	if now := l.restarts(ctx); now <= l.instance {
		return stream, err
	}
	if err == nil {
		_ = stream.Close() // the next instance's, which has a reader of its own
	}
	return l.stream(ctx, true)
}

func (l log) stream(ctx context.Context, previous bool) (io.ReadCloser, error) {
	return l.client.CoreV1().Pods(l.namespace).GetLogs(l.pod, &corev1.PodLogOptions{
		Container: l.container, Follow: !previous, Previous: previous, SinceTime: l.since, Timestamps: true,
	}).Stream(ctx)
}

// restarts is the container's restart count now, 0 if the Pod cannot be read.
func (l log) restarts(ctx context.Context) int32 {
	pod, err := l.client.CoreV1().Pods(l.namespace).Get(ctx, l.pod, metav1.GetOptions{})
	if err != nil {
		return 0
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if s.Name == l.container {
			return s.RestartCount
		}
	}
	return 0
}

// print says each line once: what the reader of the instance before said already is left out. A line that is
// longer than longestLine goes on in pieces, none of which ends within a character.
func (l log) print(stream io.ReadCloser) {
	defer stream.Close()
	said, continued, skip, faulty := l.this.mark, false, false, false
	lines := bufio.NewReaderSize(stream, longestLine)
	var rest []byte // of a character that the last piece had only the beginning of
	for {
		text, err := lines.ReadSlice('\n')
		if !continued {
			var at time.Time
			at, text = stamp(text)
			// Each line of a container comes with its time. What comes without is
			// the node's own word: it had answered already when it failed.
			faulty = at.IsZero()
			if skip = !at.IsZero() && !at.After(said); !skip && !at.IsZero() {
				l.this.mark = at
			}
		}
		continued = errors.Is(err, bufio.ErrBufferFull)
		if len(rest) > 0 {
			text = append(rest, text...)
		}
		text, rest = whole(text, continued)
		switch {
		case len(text) == 0 || skip:
		case faulty:
			l.warn(strings.TrimRight(string(text), "\r\n"))
		default:
			message, end := ending(text)
			l.console.Print(console.Line{
				Type: console.Output, Object: "pod/" + l.namespace + "/" + l.pod, Source: l.source, Message: message, End: end,
			})
			l.passed.Add(1)
		}
		if err != nil && !continued {
			return
		}
	}
}

// whole cuts the beginning of a character off the end of a piece that goes on, and returns a copy of it.
func whole(text []byte, continued bool) (piece, rest []byte) {
	if !continued {
		return text, nil
	}
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if cut := text[len(text)-i:]; utf8.RuneStart(cut[0]) {
			if !utf8.FullRune(cut) {
				return text[:len(text)-i], bytes.Clone(cut)
			}
			break
		}
	}
	return text, nil
}

// ending splits a line from what ends it.
func ending(text []byte) (message, end string) {
	cut := bytes.TrimSuffix(text, []byte("\n"))
	if len(cut) < len(text) {
		cut = bytes.TrimSuffix(cut, []byte("\r"))
	}
	return string(cut), string(text[len(cut):])
}

// stamp cuts the time of writing off a line. Without one the line is returned as it is.
func stamp(line []byte) (time.Time, []byte) {
	head, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		return time.Time{}, line
	}
	at, err := time.Parse(time.RFC3339Nano, string(head))
	if err != nil {
		return time.Time{}, line
	}
	return at, rest
}
