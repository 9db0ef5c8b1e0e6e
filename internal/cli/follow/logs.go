// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/carillon-dev/carillon/internal/cli/console"
)

// longestLine bounds what one line of output may hold in memory, in bytes. A longer line is shown in
// pieces.
const longestLine = 64 << 10

// log reads what one container writes.
type log struct {
	client    kubernetes.Interface
	console   *console.Console
	pod       *corev1.Pod
	container string
	source    string
	previous  bool
	since     *metav1.Time // nil: from the start
}

// read passes the lines on until the container ended or ctx did. The node may not have the log yet
// when the status already says "running", so the first request is repeated for a few seconds.
func (l log) read(ctx context.Context) {
	for attempt := range 20 {
		stream, err := l.client.CoreV1().Pods(l.pod.Namespace).GetLogs(l.pod.Name, &corev1.PodLogOptions{
			Container: l.container, Follow: true, Previous: l.previous, SinceTime: l.since,
		}).Stream(ctx)
		if err == nil {
			l.pass(stream)
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
	l.console.Say(console.Line{Type: console.Warning, Object: "pod/" + l.pod.Namespace + "/" + l.pod.Name,
		Message: "its output cannot be shown here; try: carillon kubectl logs " + l.pod.Name})
}

func (l log) pass(stream io.ReadCloser) {
	defer stream.Close()
	lines := bufio.NewReaderSize(stream, longestLine)
	for {
		text, err := lines.ReadSlice('\n')
		if len(text) > 0 {
			l.console.Say(console.Line{
				Type: console.Output, Object: "pod/" + l.pod.Namespace + "/" + l.pod.Name, Source: l.source,
				Message: strings.TrimRight(string(text), "\r\n"),
			})
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
