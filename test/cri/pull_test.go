// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

var pullSpecs = []spec{
	{name: "an image without a tag is the one with the tag latest", run: func(c *check) {
		repository := "specs/" + unique("image")
		latest := c.registry.push(c, repository+":latest", smallImage(c, v1.Config{}))
		id := c.pull(strings.TrimSuffix(latest, ":latest"))
		c.equal("ID", c.image(latest).GetId(), id)
		c.equal("names", c.image(id).GetRepoTags(), []string{latest})
	}},
	{name: "an image is pulled by its digest, and has no tag then", run: func(c *check) {
		what, repository := smallImage(c, v1.Config{}), "specs/"+unique("image")
		tagged := c.registry.push(c, repository+":v1", what)
		ref := strings.TrimSuffix(tagged, ":v1") + "@" + digestOf(c, what)
		id := c.pull(ref)
		img := c.image(ref)
		c.equal("ID", img.GetId(), id)
		c.equal("tags", len(img.GetRepoTags()), 0)
		c.equal("digests", img.GetRepoDigests(), []string{ref})
	}},
	{name: "a short name is one of docker.io", run: func(c *check) {
		if !c.mirrored {
			c.Skip("the runtime does not take images of docker.io from the registry of these specs (-mirrored says that it does)")
		}
		what, name := smallImage(c, v1.Config{}), unique("short")
		c.registry.push(c, "library/"+name+":v1", what)
		id := c.pull(name + ":v1")
		full := "docker.io/library/" + name
		c.equal("names", c.image(id).GetRepoTags(), []string{full + ":v1"})
		for _, ref := range []string{name + ":v1", full + ":v1", name + "@" + digestOf(c, what)} {
			c.equal("by "+ref, c.image(ref).GetId(), id)
		}
	}},
	{name: "pulling again is no error and gives the same", run: func(c *check) {
		ref := c.registry.push(c, "specs/"+unique("image")+":v1", smallImage(c, v1.Config{}))
		c.equal("ID", c.pull(ref), c.pull(ref))
	}},
	{name: "a tag that was moved is the new image when it is pulled again, and the old one keeps its ID", run: func(c *check) {
		repository := "specs/" + unique("image")
		ref := c.registry.push(c, repository+":v1", smallImage(c, v1.Config{}))
		before := c.pull(ref)
		c.registry.push(c, repository+":v1", smallImage(c, v1.Config{}))
		after := c.pull(ref)
		if before == after {
			c.Error("nothing was pulled")
		}
		c.equal("by tag", c.image(ref).GetId(), after)
		if old := c.image(before); old != nil && slices.Contains(old.RepoTags, ref) {
			c.Errorf("the old one has the tag still: %v", old)
		}
		c.remove(before)
	}},
	{name: "of an image for several machines the one for this machine is pulled", run: func(c *check) {
		other := "s390x"
		mine, theirs := newImage(c, v1.Config{User: "1"}, newLayer(c, files{"f": unique("x")})), newImageFor(c, other, v1.Config{User: "2"}, newLayer(c, files{"f": unique("x")}))
		index := mutate.AppendManifests(empty.Index,
			mutate.IndexAddendum{Add: theirs, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: other}}},
			mutate.IndexAddendum{Add: mine, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}}})
		ref := c.registry.push(c, "specs/"+unique("image")+":v1", index)
		id := c.pull(ref)
		c.equal("user", c.image(id).GetUid().GetValue(), 1)
		if want := "@" + digestOf(c, index); !strings.HasSuffix(c.image(id).GetRepoDigests()[0], want) {
			c.Errorf("digests are %v, not of the index %s", c.image(id).GetRepoDigests(), want)
		}
	}},
	{name: "an image that the registry does not have is an error, and nothing is here", run: func(c *check) {
		ref := c.registry.host() + "/specs/" + unique("missing") + ":v1"
		_, err := c.tryPull(ref, nil)
		c.refused("the pull", err, codes.NotFound, codes.Unknown)
		if img := c.image(ref); img != nil {
			c.Errorf("here: %v", img)
		}
	}},
	{name: "what is not the name of an image is refused", run: func(c *check) {
		for _, ref := range []string{"", "UPPER/Case:v1", "a:b:c", "https://example.com/image"} {
			_, err := c.images.PullImage(c.ctx(), &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: ref}})
			c.refused("a pull of "+ref, err)
		}
	}},
	{name: "a pull for a runtime handler that is not known is refused", run: func(c *check) {
		ref := c.registry.push(c, "specs/"+unique("image")+":v1", smallImage(c, v1.Config{}))
		_, err := c.images.PullImage(c.ctx(), &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: ref, RuntimeHandler: "no-such-handler"}})
		c.refused("it", err)
	}, differs: map[string]string{containerd: "1.6 does not know the field yet"}},
	{name: "credentials are used, and without the right ones there is no image", run: func(c *check) {
		ref := c.registry.push(c, "private/"+unique("image")+":v1", smallImage(c, v1.Config{}))
		for _, wrong := range []*runtimeapi.AuthConfig{nil, {Username: registryUser, Password: "wrong"}} {
			_, err := c.tryPull(ref, wrong)
			c.refused("a pull with other credentials", err)
			if img := c.image(ref); img != nil {
				c.Errorf("here: %v", img)
			}
		}
		id, err := c.tryPull(ref, &runtimeapi.AuthConfig{Username: registryUser, Password: registryPassword, ServerAddress: c.registry.server.URL})
		c.must(err)
		c.equal("ID", c.image(ref).GetId(), id)
	}},
}
