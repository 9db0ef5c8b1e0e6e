// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package watchjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	restwatch "k8s.io/client-go/rest/watch"
	"pgregory.net/rapid"
)

var thingKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}

// thing is a custom resource that reads itself.
type thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              map[string]string `json:"spec,omitempty"`
}

func (t *thing) UnmarshalJSON(data []byte) error {
	type plain thing
	return json.Unmarshal(data, (*plain)(t))
}

func (t *thing) DeepCopyObject() runtime.Object {
	twin := *t
	return &twin
}

// client is the serializer of a usual client.
func client() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(thingKind, &thing{})
	metav1.AddToGroupVersion(scheme, thingKind.GroupVersion())
	return clientserializer.WithoutConversionCodecFactory{CodecFactory: clientserializer.NewCodecFactory(scheme)}
}

func own() runtime.NegotiatedSerializer {
	return newSerializer(client(), thingKind, func() Object { return &thing{} })
}

// watched are the events of a stream as text, and how it ends.
func watched(t interface{ Fatal(...any) }, with runtime.NegotiatedSerializer, stream io.Reader) (events []string, end error) {
	objects, event, framer, err := runtime.NewClientNegotiator(with, thingKind.GroupVersion()).StreamDecoder("application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	decoder := restwatch.NewDecoder(streaming.NewDecoder(framer.NewFrameReader(io.NopCloser(stream)), event), objects)
	for {
		kind, obj, err := decoder.Decode()
		if err != nil {
			return events, err
		}
		text, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, fmt.Sprintf("%s %T %s", kind, obj, text))
	}
}

const begins = `{"apiVersion":"example.com/v1","kind":"Thing",`

// Whatever a server sends, the events are those that the usual client reads, and the stream ends at the same place.
func TestAsTheClientReads(t *testing.T) {
	for name, stream := range map[string]string{
		"nothing":                 "",
		"blanks":                  " \n\n",
		"an object":               `{"type":"ADDED","object":` + begins + `"metadata":{"name":"a"},"spec":{"x":"y"}}}` + "\n",
		"without line breaks":     `{"type":"ADDED","object":` + begins + `"metadata":{"name":"a"}}}{"type":"DELETED","object":` + begins + `"metadata":{"name":"a"}}}`,
		"over several lines":      "{\n\"type\": \"MODIFIED\",\n\"object\": {\"kind\":\"Thing\",\n\"apiVersion\":\"example.com/v1\"}\n}\n",
		"braces in strings":       `{"type":"ADDED","object":` + begins + `"spec":{"a":"}{][","b":"\"}","c":"\\","d":"\\\""}}}` + "\n" + `{"type":"ADDED","object":` + begins + `"spec":{}}}`,
		"letters and escapes":     `{"type":"ADDED","object":` + begins + `"spec":{"ä":"€😀","n":"\u00e4\u20ac\n"}}}`,
		"a bookmark":              `{"type":"BOOKMARK","object":{"kind":"Thing","apiVersion":"example.com/v1","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n",
		"an error":                `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}` + "\n",
		"another order":           `{"object":` + begins + `"metadata":{"name":"a"}},"type":"ADDED"}`,
		"something more":          `{"type":"ADDED","object":` + begins + `"metadata":{"name":"a"}},"more":{"b":1}}`,
		"an unknown type":         `{"type":"SEEN","object":` + begins + `"metadata":{"name":"a"}}}`,
		"an escaped type":         `{"type":"\u0041DDED","object":` + begins + `"metadata":{"name":"a"}}}`,
		"another kind":            `{"type":"ADDED","object":{"apiVersion":"example.com/v1","kind":"Other","metadata":{"name":"a"}}}`,
		"what cannot be read":     `{"type":"ADDED","object":` + begins + `"metadata":{"name":7}}}`,
		"no JSON in an object":    `{"type":"ADDED","object":` + begins + `"metadata":{"name":x}}}`,
		"no object":               `{"type":"ADDED","object":null}`,
		"an end in an object":     `{"type":"ADDED","object":` + begins + `"metadata":{"name":"a"}}}` + `{"type":"ADDED","object":{"a`,
		"an end after an escape":  `{"type":"ADDED","object":{"a":"\`,
		"an object of 100,000":    `{"type":"ADDED","object":` + begins + `"spec":{"long":"` + strings.Repeat(`{\"\\`, 25000) + `"}}}` + `{"type":"ADDED","object":` + begins + `"spec":{}}}`,
		"one of another version":  `{"type":"ADDED","object":{"apiVersion":"example.com/v2","kind":"Thing","metadata":{"name":"a"}}}`,
		"blanks behind an object": `{"type":"ADDED","object":` + begins + `"metadata":{"name":"a"}} } ` + "\n",
	} {
		want, wantEnd := watched(t, client(), strings.NewReader(stream))
		for how, reader := range map[string]io.Reader{
			"at once": strings.NewReader(stream), "byte by byte": iotest.OneByteReader(strings.NewReader(stream)),
			"by halves": iotest.HalfReader(strings.NewReader(stream)), "with its end": iotest.DataErrReader(strings.NewReader(stream)),
		} {
			got, end := watched(t, own(), reader)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-client +own):\n%s", name, how, diff)
			}
			if errors.Is(end, io.EOF) != errors.Is(wantEnd, io.EOF) || errors.Is(end, io.ErrUnexpectedEOF) != errors.Is(wantEnd, io.ErrUnexpectedEOF) {
				t.Errorf("%s, %s: it ends with %v, want %v", name, how, end, wantEnd)
			}
		}
	}
}

// A stream that is no stream of objects ends with an error that says so, and one that breaks with what broke it.
func TestOtherStreams(t *testing.T) {
	if _, err := watched(t, own(), strings.NewReader("upstream connect error")); !errors.Is(err, errNoObject) {
		t.Error(err)
	}
	if _, err := watched(t, own(), iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(`{"type":`)))); !errors.Is(err, iotest.ErrTimeout) {
		t.Error(err)
	}
}

// Objects of any content are read as the client reads them, however the stream comes in.
func TestAnyObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream bytes.Buffer
		for range rapid.IntRange(0, 4).Draw(t, "events") {
			spec := rapid.MapOfN(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune(`{}[]",\:ab€`))), 0, 20).Draw(t, "spec")
			object := map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}, "spec": spec}
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			kind := rapid.SampledFrom([]string{"ADDED", "MODIFIED", "DELETED"}).Draw(t, "type")
			if err := json.NewEncoder(&stream).Encode(&metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: text}}); err != nil {
				t.Fatal(err)
			}
		}
		sent := stream.Bytes()[:max(0, stream.Len()-rapid.IntRange(0, 40).Draw(t, "missing"))]
		want, wantEnd := watched(t, client(), bytes.NewReader(sent))
		got, end := watched(t, own(), iotest.HalfReader(bytes.NewReader(sent)))
		if diff := cmp.Diff(want, got); diff != "" || errors.Is(end, io.ErrUnexpectedEOF) != errors.Is(wantEnd, io.ErrUnexpectedEOF) {
			t.Errorf("%v, want %v (-client +own):\n%s", end, wantEnd, diff)
		}
	})
}

// FuzzStream: nothing that a server may send makes the reading of it panic, or go on forever.
func FuzzStream(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":` + begins + `"metadata":{"name":"a"}}}`))
	f.Add([]byte(`{"type":"ADDED","object":{"a":"\`))
	f.Fuzz(func(t *testing.T, stream []byte) {
		_, _ = watched(t, own(), iotest.HalfReader(bytes.NewReader(stream)))
	})
}

// BenchmarkWatch: an event with an object of the usual size.
func BenchmarkWatch(b *testing.B) {
	spec := map[string]string{}
	for i := range 40 {
		spec[fmt.Sprintf("setting-%02d", i)] = fmt.Sprintf("https://service-%d.example.com/api/v1", i)
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}, "spec": spec})
	if err != nil {
		b.Fatal(err)
	}
	event := append(append([]byte(`{"type":"ADDED","object":`), text...), "}\n"...)
	for name, with := range map[string]runtime.NegotiatedSerializer{"client": client(), "own": own()} {
		b.Run(name, func(b *testing.B) {
			objects, events, framer, err := runtime.NewClientNegotiator(with, thingKind.GroupVersion()).StreamDecoder("application/json", nil)
			if err != nil {
				b.Fatal(err)
			}
			stream := io.NopCloser(bytes.NewReader(bytes.Repeat(event, b.N)))
			decoder := restwatch.NewDecoder(streaming.NewDecoder(framer.NewFrameReader(stream), events), objects)
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if _, _, err := decoder.Decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
