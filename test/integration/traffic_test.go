// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// write is one request that can change something, with the answer.
type write struct {
	verb, resource string // "create" "pods", "update" "jobs/status"
	namespace      string
	name           string // of a create: as answered, "" if it was refused
	uid, owner     types.UID
	code           int // 0: no answer
	begun          time.Time
}

func (w write) String() string {
	return fmt.Sprintf("%s %s %s/%s: %d", w.verb, w.resource, w.namespace, w.name, w.code)
}

func (w write) accepted() bool { return w.code >= 200 && w.code < 300 }

// traffic notes what the clients of one configuration write, and lets tests interfere. Events are left out: they are
// told beside the work. So are dry runs (of a Timetable's template): they write nothing.
type traffic struct {
	mu     sync.Mutex
	writes []write
	// meddle, if set, is asked before each write; an error is the answer to it. It may wait.
	meddle func(*http.Request, write) error
	// pods holds back what watches tell about pods.
	pods gate
}

// on returns the configuration with the traffic noted.
func (t *traffic) on(config *rest.Config) *rest.Config {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &tap{traffic: t, next: next} })
	return config
}

// in gives the writes in a namespace that are wanted; nil: all.
func (t *traffic) in(namespace string, wanted func(write) bool) []write {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []write
	for _, w := range t.writes {
		if w.namespace == namespace && (wanted == nil || wanted(w)) {
			found = append(found, w)
		}
	}
	return found
}

// count counts the writes in a namespace with this verb to this resource.
func (t *traffic) count(namespace, verb, resource string) int {
	return len(t.in(namespace, func(w write) bool { return w.verb == verb && w.resource == resource }))
}

func (t *traffic) interfere(meddle func(*http.Request, write) error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.meddle = meddle
}

type tap struct {
	traffic *traffic
	next    http.RoundTripper
}

func (t *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	info, err := infos.NewRequestInfo(r)
	if err != nil || !info.IsResourceRequest || info.Resource == "events" || r.URL.Query().Has("dryRun") {
		return t.next.RoundTrip(r)
	}
	switch info.Verb {
	case "watch":
		resp, err := t.next.RoundTrip(r)
		if err == nil && info.Resource == "pods" {
			resp.Body = &gated{ReadCloser: resp.Body, gate: &t.traffic.pods, closed: make(chan struct{})}
		}
		return resp, err
	case "get", "list":
		return t.next.RoundTrip(r)
	}
	return t.write(r, info)
}

func (t *tap) write(r *http.Request, info *request.RequestInfo) (*http.Response, error) {
	w := write{verb: info.Verb, resource: info.Resource, namespace: info.Namespace, name: info.Name, begun: time.Now()}
	if info.Subresource != "" {
		w.resource += "/" + info.Subresource
	}
	t.traffic.mu.Lock()
	meddle := t.traffic.meddle
	t.traffic.mu.Unlock()
	var refusal error
	if meddle != nil {
		refusal = meddle(r, w)
	}
	var resp *http.Response
	err := refusal
	if status := apierrors.APIStatus(nil); errors.As(refusal, &status) {
		resp, err = answer(r, status)
	} else if refusal == nil {
		resp, err = t.next.RoundTrip(r)
	}
	if err == nil {
		w.code = resp.StatusCode
		if refusal == nil && w.accepted() {
			w.identify(resp)
		}
	}
	t.traffic.mu.Lock()
	defer t.traffic.mu.Unlock()
	t.traffic.writes = append(t.traffic.writes, w)
	return resp, err
}

// identify reads from the answer which object it was.
func (w *write) identify(resp *http.Response) {
	data, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(data))
	if err != nil {
		return
	}
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return // not one of the kinds that these tests count
	}
	if m, err := meta.Accessor(obj); err == nil {
		w.name, w.uid = m.GetName(), m.GetUID()
		if ref := metav1.GetControllerOfNoCopy(m); ref != nil {
			w.owner = ref.UID
		}
	}
}

// answer makes the response that an API server would send.
func answer(r *http.Request, refusal apierrors.APIStatus) (*http.Response, error) {
	status := refusal.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	data, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(int(status.Code)), StatusCode: int(status.Code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(data)), Request: r,
	}, nil
}

// gate lets through or holds back. The zero gate is open.
type gate struct {
	mu   sync.Mutex
	held chan struct{} // nil: open; closed when it opens
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held == nil {
		g.held = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held != nil {
		close(g.held)
		g.held = nil
	}
}

// wait returns when the gate is open, or done is closed.
func (g *gate) wait(done <-chan struct{}) {
	g.mu.Lock()
	held := g.held
	g.mu.Unlock()
	if held == nil {
		return
	}
	select {
	case <-held:
	case <-done:
	}
}

// gated is a body that can be read while its gate is open.
type gated struct {
	io.ReadCloser
	gate   *gate
	once   sync.Once
	closed chan struct{}
}

func (b *gated) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.gate.wait(b.closed)
	return n, err
}

func (b *gated) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.ReadCloser.Close()
}

// retries is how many attempts fit into a time when each failure doubles the delay, which begins with base, up to most.
// The time counts from the first attempt to now.
func retries(base, most, elapsed time.Duration) int {
	n := 1
	for delay := base; elapsed >= delay; n++ {
		elapsed -= delay
		delay = min(2*delay, most)
		if n == math.MaxInt16 {
			break
		}
	}
	return n
}

// verbs tells the writes in short, for messages.
func verbs(writes []write) string {
	count := map[string]int{}
	for _, w := range writes {
		count[fmt.Sprintf("%s %s %d", w.verb, w.resource, w.code)]++
	}
	var parts []string
	for what, n := range count {
		parts = append(parts, fmt.Sprintf("%d x %s", n, what))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
