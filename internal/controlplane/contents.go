// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

const (
	// registry begins the keys of all objects.
	registry = "/registry/"
	// contentsPage is how many objects are read at a time: each can have a megabyte or more.
	contentsPage = 100
	// contentsNamed is how many resources are named.
	contentsNamed = 5
)

// resourceUse is how much of the store the objects of a resource take, without their history.
type resourceUse struct {
	resource string
	objects  int
	bytes    int64
}

// ranger is the store as contents reads it.
type ranger interface {
	Range(context.Context, *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error)
}

// contents measures all objects, by resource, the largest first.
func contents(ctx context.Context, store ranger) ([]resourceUse, error) {
	uses := map[string]*resourceUse{}
	// '0' follows '/'.
	request := &etcdserverpb.RangeRequest{Key: []byte(registry), RangeEnd: []byte("/registry0"), Limit: contentsPage, Serializable: true}
	for {
		page, err := store.Range(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("look at what the store holds: %w", err)
		}
		for _, kv := range page.Kvs {
			resource := resourceOf(string(kv.Key))
			use := uses[resource]
			if use == nil {
				use = &resourceUse{resource: resource}
				uses[resource] = use
			}
			use.objects++
			use.bytes += int64(len(kv.Key) + len(kv.Value))
		}
		if !page.More || len(page.Kvs) == 0 {
			break
		}
		request.Key = append(page.Kvs[len(page.Kvs)-1].Key, 0)
	}
	var sorted []resourceUse
	for _, use := range uses {
		sorted = append(sorted, *use)
	}
	slices.SortFunc(sorted, func(a, b resourceUse) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), strings.Compare(a.resource, b.resource))
	})
	return sorted, nil
}

// resourceOf reads the resource from the key of an object: /registry/<resource>/…, and /registry/<group>/<resource>/…
// of custom resources and some others.
func resourceOf(key string) string {
	parts := strings.Split(strings.TrimPrefix(key, registry), "/")
	if len(parts) > 1 && strings.Contains(parts[0], ".") {
		return parts[1] + "." + parts[0]
	}
	if parts[0] == "minions" { // as nodes were called once
		return "nodes"
	}
	return parts[0]
}

// inWords names the largest and sums up the rest.
func inWords(uses []resourceUse) string {
	if len(uses) == 0 {
		return "no objects"
	}
	var words []string
	rest := resourceUse{}
	for i, use := range uses {
		if i < contentsNamed {
			words = append(words, fmt.Sprintf("%s %s in %d", use.resource, sizeOf(use.bytes), use.objects))
			continue
		}
		rest.objects += use.objects
		rest.bytes += use.bytes
	}
	if rest.objects > 0 {
		words = append(words, fmt.Sprintf("others %s in %d", sizeOf(rest.bytes), rest.objects))
	}
	return strings.Join(words, ", ")
}

// sizeOf writes a number of bytes in a unit that suits it.
func sizeOf(bytes int64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
}
