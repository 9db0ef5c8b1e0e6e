// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watchjson reads the watch of a custom resource of which there may be very many. A client of Kubernetes looks
// at each byte of a watched object about ten times before it has the object: it cuts the stream, reads the event, finds
// out the kind and reads the object, each in two or three passes. Here the object is read once, by its own method, and
// the rest finds its way by braces and quotes.
//
//	frames.go      where a JSON value ends, and the stream cut into values
//	serializer.go  events and objects
//	watch.go       the list and watch of an informer
//
// What does not look as API servers write it, such as a bookmark or an error, is left to the client.
package watchjson

import (
	"bytes"
	"encoding/json"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is an object that reads itself from JSON. Its UnmarshalJSON must keep no part of the text.
type Object interface {
	runtime.Object
	json.Unmarshaler
}

// serializer is a client's, which reads watched objects of one kind as this package does.
type serializer struct {
	runtime.NegotiatedSerializer
	kind schema.GroupVersionKind
	// empty makes an empty object of that kind.
	empty func() Object
	// begins is how the JSON of one begins.
	begins []byte
}

func newSerializer(client runtime.NegotiatedSerializer, kind schema.GroupVersionKind, empty func() Object) *serializer {
	return &serializer{NegotiatedSerializer: client, kind: kind, empty: empty,
		begins: []byte(`{"apiVersion":"` + kind.GroupVersion().String() + `","kind":"` + kind.Kind + `",`)}
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (s *serializer) SupportedMediaTypes() []runtime.SerializerInfo {
	types := s.NegotiatedSerializer.SupportedMediaTypes()
	own := make([]runtime.SerializerInfo, len(types))
	for i, t := range types {
		if own[i] = t; t.MediaType == runtime.ContentTypeJSON && t.StreamSerializer != nil {
			stream := *t.StreamSerializer
			stream.Serializer, stream.Framer = events{stream.Serializer}, framer{stream.Framer}
			own[i].StreamSerializer = &stream
		}
	}
	return own
}

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (s *serializer) DecoderToVersion(d runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return &decoder{s.NegotiatedSerializer.DecoderToVersion(d, version), s}
}

// decoder reads objects.
type decoder struct {
	client runtime.Decoder
	of     *serializer
}

// Decode implements runtime.Decoder.
func (d *decoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if into == nil && bytes.HasPrefix(data, d.of.begins) {
		if obj := d.of.empty(); obj.UnmarshalJSON(data) == nil {
			obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // as clients do
			return obj, &d.of.kind, nil
		}
	}
	return d.client.Decode(data, defaults, into)
}

// events reads the events of a watch.
type events struct{ runtime.Serializer }

// Decode implements runtime.Decoder. The object of an event is a part of data.
func (e events) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if event, ok := into.(*metav1.WatchEvent); ok {
		if kind, object, ok := parts(data); ok {
			event.Type, event.Object.Raw = kind, object
			return event, defaults, nil
		}
	}
	return e.Serializer.Decode(data, defaults, into)
}

// parts are the type and the object of an event; false if it is not written as API servers do.
func parts(event []byte) (kind string, object []byte, ok bool) {
	rest, begins := bytes.CutPrefix(event, []byte(`{"type":"`))
	word, rest, ends := bytes.Cut(rest, []byte(`","object":`))
	if !begins || !ends || bytes.ContainsAny(word, `"\`) {
		return "", nil, false
	}
	var end scan
	if !end.in(rest) || string(bytes.TrimSpace(rest[end.at:])) != "}" {
		return "", nil, false
	}
	return string(word), rest[:end.at], true
}

// framer cuts what comes, and writes as the client does.
type framer struct{ runtime.Framer }

// NewFrameReader implements runtime.Framer.
func (framer) NewFrameReader(from io.ReadCloser) io.ReadCloser { return newFrames(from) }
