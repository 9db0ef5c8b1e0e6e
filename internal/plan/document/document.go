// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package document writes manifests that people go on to edit: their fields in the order in which one reads them, with
// comments.
//
//	document.go  Document and Write: objects, comments and what separates them
//	node.go      the fields of an object
//	comment.go   lines of comments: what may stand in one, and where it is broken
//	note.go      Note: what the user should know of an object
package document

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// A Document is one object of a manifest.
type Document struct {
	// Comments stand above the object, without their "#".
	Comments []string
	// Content is the object.
	Content *yaml.Node
}

// Write gives the text of a manifest: the lines of head as comments, the documents in their order, and the lines of
// tail as comments. Without documents there are only comments.
func Write(head []string, documents []Document, tail []string) ([]byte, error) {
	var out bytes.Buffer
	writeComments(&out, head)
	for n, d := range documents {
		if n > 0 || len(head) > 0 {
			out.WriteString("---\n")
		}
		writeComments(&out, d.Comments)
		text, err := encode(d.Content)
		if err != nil {
			return nil, err
		}
		out.Write(text)
	}
	writeComments(&out, tail)
	return out.Bytes(), nil
}

func encode(content *yaml.Node) ([]byte, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(content); err != nil {
		return nil, fmt.Errorf("write an object: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("write an object: %w", err)
	}
	return text.Bytes(), nil
}

// JSON gives the object as JSON.
func (d Document) JSON() (json.RawMessage, error) {
	text, err := encode(d.Content)
	if err != nil {
		return nil, err
	}
	return sigsyaml.YAMLToJSON(text)
}
