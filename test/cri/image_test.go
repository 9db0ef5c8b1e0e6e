// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"encoding/json"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

var imageSpecs = []spec{
	{name: "the status of an image that is not here is nothing, and no error", run: func(c *check) {
		for _, ref := range []string{c.registry.host() + "/specs/not-here:1", "sha256:" + strings.Repeat("0123456789abcdef", 4)} {
			if img := c.image(ref); img != nil {
				c.Errorf("%s: %v", ref, img)
			}
		}
	}},
	{name: "an image has an ID, names, digests and a size", run: func(c *check) {
		what := smallImage(c, v1.Config{})
		ref := c.registry.push(c, "specs/"+unique("image")+":v1", what)
		id := c.pull(ref)
		img := c.image(ref)
		c.equal("ID", img.GetId(), id)
		c.equal("names", img.GetRepoTags(), []string{ref})
		c.equal("digests", img.GetRepoDigests(), []string{strings.TrimSuffix(ref, ":v1") + "@" + digestOf(c, what)})
		if img.GetSize() == 0 {
			c.Error("no size")
		}
	}},
	{name: "an image is found by tag, by digest and by ID", run: func(c *check) {
		ref := c.registry.push(c, "specs/"+unique("image")+":v1", smallImage(c, v1.Config{}))
		id := c.pull(ref)
		for _, other := range append(c.image(ref).GetRepoDigests(), id, ref) {
			c.equal("by "+other, c.image(other).GetId(), id)
		}
	}},
	{name: "one image with two tags is listed once, with both", run: func(c *check) {
		what, repository := smallImage(c, v1.Config{}), "specs/"+unique("image")
		one, two := c.registry.push(c, repository+":one", what), c.registry.push(c, repository+":two", what)
		c.equal("IDs", c.pull(one), c.pull(two))
		resp, err := c.images.ListImages(c.ctx(), &runtimeapi.ListImagesRequest{})
		c.must(err)
		found := 0
		for _, img := range resp.Images {
			if slices.Contains(img.RepoTags, one) {
				found++
				if !slices.Contains(img.RepoTags, two) {
					c.Errorf("%v", img)
				}
			}
		}
		c.equal("listed", found, 1)
	}},
	{name: "images are listed by name", run: func(c *check) {
		ref := c.registry.push(c, "specs/"+unique("image")+":v1", smallImage(c, v1.Config{}))
		id := c.pull(ref)
		for filter, want := range map[string][]string{ref: {id}, id: {id}, c.registry.host() + "/specs/not-here:1": nil} {
			resp, err := c.images.ListImages(c.ctx(), &runtimeapi.ListImagesRequest{Filter: &runtimeapi.ImageFilter{Image: &runtimeapi.ImageSpec{Image: filter}}})
			c.must(err)
			var ids []string
			for _, img := range resp.Images {
				ids = append(ids, img.Id)
			}
			c.equal(filter, ids, want)
		}
	}, differs: map[string]string{containerd: "it lists all images whatever the filter says"}},
	{name: "a stream of images has what the list has", run: func(c *check) {
		ref := c.registry.push(c, "specs/"+unique("image")+":v1", smallImage(c, v1.Config{}))
		id := c.pull(ref)
		stream, err := c.images.StreamImages(c.ctx(), &runtimeapi.StreamImagesRequest{Filter: &runtimeapi.ImageFilter{Image: &runtimeapi.ImageSpec{Image: ref}}})
		c.must(err)
		var ids []string
		c.drain("StreamImages", func() error {
			part, err := stream.Recv()
			for _, img := range part.GetImages() {
				ids = append(ids, img.Id)
			}
			return err
		})
		c.equal("IDs", ids, []string{id})
	}},
	{name: "removing an image by one tag removes all its names", run: func(c *check) {
		what, repository := smallImage(c, v1.Config{}), "specs/"+unique("image")
		one, two := c.registry.push(c, repository+":one", what), c.registry.push(c, repository+":two", what)
		id := c.pull(one)
		c.pull(two)
		c.remove(one)
		for _, ref := range []string{one, two, id} {
			if img := c.image(ref); img != nil {
				c.Errorf("%s is still here: %v", ref, img)
			}
		}
	}},
	{name: "removing an image by its ID or its digest removes it", run: func(c *check) {
		for _, by := range []func(img *runtimeapi.Image) string{(*runtimeapi.Image).GetId, func(img *runtimeapi.Image) string { return img.RepoDigests[0] }} {
			ref := c.registry.push(c, "specs/"+unique("image")+":v1", smallImage(c, v1.Config{}))
			c.pull(ref)
			c.remove(by(c.image(ref)))
			if img := c.image(ref); img != nil {
				c.Errorf("still here: %v", img)
			}
		}
	}},
	{name: "removing an image twice, or one that is not here, is no error", run: func(c *check) {
		ref := c.registry.push(c, "specs/"+unique("image")+":v1", smallImage(c, v1.Config{}))
		id := c.pull(ref)
		for _, other := range []string{ref, ref, id, c.registry.host() + "/specs/not-here:1"} {
			c.remove(other)
		}
	}},
	{name: "an image tells the user who runs it: a number, or a name", run: func(c *check) {
		for user, want := range map[string]*runtimeapi.Image{
			"1234":      {Uid: &runtimeapi.Int64Value{Value: 1234}},
			"1234:2345": {Uid: &runtimeapi.Int64Value{Value: 1234}},
			"1234:app":  {Uid: &runtimeapi.Int64Value{Value: 1234}},
			"0":         {Uid: &runtimeapi.Int64Value{}},
			"app":       {Username: "app"},
			"app:2345":  {Username: "app"},
		} {
			ref := c.registry.push(c, "specs/"+unique("image")+":v1", smallImage(c, v1.Config{User: user}))
			c.pull(ref)
			img := c.image(ref)
			c.equal("number for "+user, img.GetUid(), want.Uid)
			c.equal("name for "+user, img.GetUsername(), want.Username)
		}
	}},
	{name: "an image that names no user is run by user 0", run: func(c *check) {
		ref := c.registry.push(c, "specs/"+unique("image")+":v1", smallImage(c, v1.Config{}))
		c.pull(ref)
		if img := c.image(ref); img.GetUid().GetValue() != 0 || img.GetUsername() != "" {
			c.Errorf("%v", img)
		}
	}},
	{name: "a verbose status of an image says more, in JSON: its configuration", run: func(c *check) {
		ref := c.registry.push(c, "specs/"+unique("image")+":v1", smallImage(c, v1.Config{Labels: map[string]string{"a-label": "of the image"}}))
		c.pull(ref)
		for _, verbose := range []bool{false, true} {
			resp, err := c.images.ImageStatus(c.ctx(), &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: ref}, Verbose: verbose})
			c.must(err)
			if !verbose {
				c.equal("more than was asked for", len(resp.Info), 0)
				continue
			}
			c.checkInfo(resp.Info)
			var info struct {
				ImageSpec v1.ConfigFile `json:"imageSpec"`
			}
			c.must(json.Unmarshal([]byte(resp.Info["info"]), &info))
			c.equal("labels", info.ImageSpec.Config.Labels, map[string]string{"a-label": "of the image"})
		}
	}},
	{name: "ImageFsInfo tells where images are and what they take", run: func(c *check) {
		c.pullOnce("probe")
		resp, err := c.images.ImageFsInfo(c.ctx(), &runtimeapi.ImageFsInfoRequest{})
		c.must(err)
		if len(resp.ImageFilesystems) == 0 {
			c.Fatal("no filesystem")
		}
		for _, fs := range resp.ImageFilesystems {
			if fs.Timestamp <= 0 || fs.GetFsId().GetMountpoint() == "" || fs.UsedBytes == nil || fs.InodesUsed == nil {
				c.Errorf("%v", fs)
			}
		}
	}},
}

func (c *check) image(ref string) *runtimeapi.Image {
	c.Helper()
	resp, err := c.images.ImageStatus(c.ctx(), &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: ref}})
	c.must(err)
	return resp.Image
}

// tryPull pulls an image, which is removed when the check ends.
func (c *check) tryPull(ref string, auth *runtimeapi.AuthConfig) (string, error) {
	resp, err := c.images.PullImage(c.ctx(), &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: ref}, Auth: auth})
	c.Cleanup(func() { c.remove(ref) })
	return resp.GetImageRef(), err
}

func (c *check) pull(ref string) string {
	c.Helper()
	id, err := c.tryPull(ref, nil)
	c.must(err)
	return id
}

func (c *check) remove(ref string) {
	c.Helper()
	if _, err := c.images.RemoveImage(c.ctx(), &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: ref}}); err != nil {
		c.Errorf("removing %s: %v", ref, err)
	}
}
