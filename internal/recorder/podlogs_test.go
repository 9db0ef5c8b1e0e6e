// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// While the journal cannot be written to, so many containers of a foreign runtime wait and no more, and the user knows.
func TestLogsThroughAPIWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		s := begin(t, m, func(o *Options) {
			o.Ended = nil
			o.LogsThroughAPI = func(context.Context, string, string, *corev1.PodLogOptions) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader("")), nil
			}
		})
		defer s.stop()
		p := &podLogs{recorder: s.recorder, wake: make(chan struct{}, 1), done: map[types.UID]map[string]bool{}}
		for i := range maxPending + 10 {
			p.add(podLog{attempt: run.Attempt{ContainerID: fmt.Sprint(i), RunUID: types.UID(fmt.Sprint(i)), PodUID: "p", Ended: time.Now()}})
		}
		if len(p.waiting) != maxPending || len(s.recorder.unwritten) != maxPending || len(p.done["p"]) != maxPending || len(s.warned) != 1 {
			t.Errorf("%d wait, %d runs are held, warned %q", len(p.waiting), len(s.recorder.unwritten), s.warned)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var working sync.WaitGroup
		defer working.Wait()
		defer cancel()
		for range logReaders {
			working.Go(func() { p.work(ctx) })
		}
		synctest.Wait()
		if len(p.waiting) != 0 || len(s.recorder.unwritten) != 0 || len(m.attempts) != maxPending || m.attempts[0].ContainerID == "0" {
			t.Errorf("%d wait, %d runs are held, %d are recorded", len(p.waiting), len(s.recorder.unwritten), len(m.attempts))
		}
	})
}
