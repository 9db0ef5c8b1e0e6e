// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"context"
	"fmt"
	"io"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// convert reads a CronJob of batch/v1beta1 as one of batch/v1, which has all of its fields with the same meaning. API
// servers serve the old version no more since Kubernetes 1.25, and manifests of then are still around. It tells
// whether it did.
func convert(obj *unstructured.Unstructured) bool {
	if obj.GetAPIVersion() != "batch/v1beta1" || obj.GetKind() != "CronJob" {
		return false
	}
	obj.SetAPIVersion(batchv1.SchemeGroupVersion.String())
	return true
}

// Convert gives the manifests that paths name as others can read them that know no conversion: the files of paths in
// their order (see [Load]), and what to read in place of those that hold a CronJob of batch/v1beta1, by file. tell gets
// a line for each such CronJob. What cannot be read is left to whoever reads it in earnest.
func Convert(ctx context.Context, path string, stdin io.Reader, tell func(string)) (files []string, instead map[string][]byte) {
	r := &reader{stdin: stdin, tell: tell}
	files, err := r.expand(path)
	if err != nil {
		return []string{path}, nil
	}
	instead = map[string][]byte{}
	for _, file := range files {
		name, data, err := r.read(ctx, file)
		if err != nil {
			continue
		}
		if text := convertFile(name, data, tell); text != nil {
			instead[file] = text
		} else if file == "-" {
			instead[file] = data
		}
	}
	return files, instead
}

// convertFile returns a file with its old CronJobs replaced; nil when there is none.
func convertFile(name string, data []byte, tell func(string)) []byte {
	var out bytes.Buffer
	found := false
	err := documents(name, data, func(doc []byte, source Source) {
		if text := convertDocument(doc, source, tell); text != nil {
			doc, found = text, true
		}
		fmt.Fprintf(&out, "---\n%s\n", bytes.TrimRight(doc, "\n"))
	})
	if err != nil || !found {
		return nil
	}
	return out.Bytes()
}

func convertDocument(doc []byte, source Source, tell func(string)) []byte {
	obj := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(doc, &obj.Object); err != nil {
		return nil
	}
	items := []any{obj.Object}
	if obj.IsList() {
		items, _ = obj.Object["items"].([]any)
	}
	found := false
	for _, item := range items {
		fields, _ := item.(map[string]any)
		if each := (&unstructured.Unstructured{Object: fields}); fields != nil && convert(each) {
			found = true
			tell(converted(Object{Unstructured: each, Source: source}))
		}
	}
	if !found {
		return nil
	}
	text, err := yaml.Marshal(obj.Object)
	if err != nil {
		return nil
	}
	return text
}

func converted(o Object) string {
	return fmt.Sprintf("%s: batch/v1beta1 is read as batch/v1; write apiVersion: batch/v1", o)
}
