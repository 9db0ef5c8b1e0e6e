// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/image"
)

func (g *rig) pull(req *runtimeapi.PullImageRequest) (string, error) {
	g.t.Helper()
	resp, err := g.img.PullImage(g.ctx(), req)
	return resp.GetImageRef(), err
}

func (g *rig) imageStatus(spec *runtimeapi.ImageSpec) *runtimeapi.Image {
	g.t.Helper()
	resp, err := g.img.ImageStatus(g.ctx(), &runtimeapi.ImageStatusRequest{Image: spec})
	if err != nil {
		g.t.Fatal(err)
	}
	return resp.GetImage()
}

// An image is not here before it is pulled and not after it is removed; in
// between it is found by every form of its name.
func TestImageServiceReal(t *testing.T) {
	g, images := imageRig(t)
	img := images.add(t, "busybox", image.Config{User: "1234:5"}, layer(t, nil))
	named := images.add(t, "registry.example:5000/team/app:v1", image.Config{User: "app"}, layer(t, nil))
	for name, i := range images.images {
		i.remote = true
		images.images[name] = i
	}
	spec := &runtimeapi.ImageSpec{Image: "busybox"}
	if got := g.imageStatus(spec); got != nil {
		t.Errorf("before the pull: %v", got)
	}
	for _, name := range []string{"busybox", "registry.example:5000/team/app:v1"} {
		if id, err := g.pull(&runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: name}}); err != nil || id != imageID("id of "+name) {
			t.Errorf("pulled %q %v", id, err)
		}
	}
	for _, ref := range []string{"busybox", "busybox:latest", "docker.io/library/busybox:latest", img.Digests[0], img.ID} {
		got := g.imageStatus(&runtimeapi.ImageSpec{Image: ref})
		if got.GetId() != img.ID || got.GetSize() != 12345 || got.GetUid().GetValue() != 1234 || got.GetUsername() != "" || got.GetPinned() ||
			len(got.GetRepoTags()) != 1 || got.GetRepoTags()[0] != "docker.io/library/busybox:latest" || len(got.GetRepoDigests()) != 1 || got.GetRepoDigests()[0] != img.Digests[0] {
			t.Errorf("%s: %v", ref, got)
		}
	}
	for _, verbose := range []bool{true, false} {
		resp, err := g.img.ImageStatus(g.ctx(), &runtimeapi.ImageStatusRequest{Image: spec, Verbose: verbose})
		if err != nil || strings.Contains(resp.Info["info"], `"User":"1234:5"`) != verbose {
			t.Errorf("verbose %v: %v %v", verbose, resp.GetInfo(), err)
		}
	}
	if got := g.imageStatus(&runtimeapi.ImageSpec{Image: named.ID}); got.GetUid() != nil || got.GetUsername() != "app" {
		t.Errorf("a user by name: %v", got)
	}
	list := func(want string) (n int) {
		resp, err := g.img.ListImages(g.ctx(), &runtimeapi.ListImagesRequest{Filter: &runtimeapi.ImageFilter{Image: &runtimeapi.ImageSpec{Image: want}}})
		if err != nil {
			t.Fatal(err)
		}
		return len(resp.Images)
	}
	for want, n := range map[string]int{"": 2, "busybox": 1, img.ID: 1, "nothing": 0, "NOT a name": 0} {
		if got := list(want); got != n {
			t.Errorf("list of %q: %d, want %d", want, got, n)
		}
	}
	fs, err := g.img.ImageFsInfo(g.ctx(), &runtimeapi.ImageFsInfoRequest{})
	if err != nil || len(fs.ImageFilesystems) != 1 || fs.ImageFilesystems[0].FsId.Mountpoint != images.dir || fs.ImageFilesystems[0].UsedBytes.Value != 4711 || fs.ContainerFilesystems[0].FsId.Mountpoint != g.opts.RootDir {
		t.Errorf("%v %v", fs, err)
	}
	for range 2 {
		if _, err := g.img.RemoveImage(g.ctx(), &runtimeapi.RemoveImageRequest{Image: spec}); err != nil {
			t.Fatal(err)
		}
	}
	if got := g.imageStatus(spec); got != nil || list("") != 1 {
		t.Errorf("after it was removed: %v", got)
	}
}

// Names for this machine's files, and Pods of RuntimeClass host, need no image.
func TestImageServiceLocal(t *testing.T) {
	g, images := imageRig(t)
	for _, spec := range []*runtimeapi.ImageSpec{{Image: "host"}, {Image: "host:latest"}, {Image: "none"}, {Image: "registry.k8s.io/pause:3.10"}, {Image: "python:3", RuntimeHandler: HandlerHost}} {
		got := g.imageStatus(spec)
		if got.GetId() == "" || got.GetUid().GetValue() != int64(os.Getuid()) {
			t.Errorf("%v: %v", spec, got)
		}
		if id, err := g.pull(&runtimeapi.PullImageRequest{Image: spec}); err != nil || id != got.GetId() {
			t.Errorf("%v: %q %v", spec, id, err)
		}
		if again := g.imageStatus(&runtimeapi.ImageSpec{Image: got.GetId()}); again.GetId() != got.GetId() {
			t.Errorf("%v by its ID: %v", spec, again)
		}
	}
	if len(images.pulls) > 0 {
		t.Errorf("%d images were pulled", len(images.pulls))
	}
	for pod, tt := range map[string]struct{ image, handler string }{"host": {"host", ""}, "class": {"python:3", HandlerHost}} {
		config := shell("test -d /etc && echo here")
		config.Image.Image = tt.image
		id := g.begin(g.sandbox(pod, tt.handler), config)
		if g.wait(id); g.output(id, "stdout") != "here\n" {
			t.Errorf("%s: %q", pod, g.output(id, "stderr"))
		}
	}
	// What a Pod of RuntimeClass host names is not looked at, also by a kubelet that does not tell the handler.
	config := g.sandboxConfig("class", 0)
	if _, err := g.pull(&runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "ruby:3"}, SandboxConfig: config}); err != nil || len(images.pulls) > 0 {
		t.Errorf("%v, %d pulls", err, len(images.pulls))
	}
	if _, err := g.pull(&runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "docker.io/library/host"}}); status.Code(err) != codes.NotFound || len(images.pulls) != 1 {
		t.Errorf("an image of that name: %v, %d pulls", err, len(images.pulls))
	}
}

// Why an image cannot be pulled is told with a code, and without a network with
// what can be done.
func TestImagePullErrors(t *testing.T) {
	g, images := imageRig(t)
	name, err := image.ParseName("python:3.12")
	if err != nil {
		t.Fatal(err)
	}
	spec := &runtimeapi.ImageSpec{Image: "python:3.12"}
	for _, tt := range []struct {
		kind error
		code codes.Code
	}{
		{image.ErrNotFound, codes.NotFound}, {image.ErrUnauthorized, codes.PermissionDenied}, {image.ErrNoPlatform, codes.FailedPrecondition}, {nil, codes.Unknown},
	} {
		images.fail = &image.PullError{Name: name, Kind: tt.kind, Err: errors.New("the cause")}
		if _, err := g.pull(&runtimeapi.PullImageRequest{Image: spec}); status.Code(err) != tt.code || status.Convert(err).Message() != "image python:3.12 cannot be pulled: the cause" {
			t.Errorf("%v: %v", tt.kind, err)
		}
	}
	images.fail = &image.PullError{Name: name, Kind: image.ErrUnresolved, Err: errors.New("lookup index.docker.io: no such host")}
	const offline = "image python:3.12 cannot be pulled: lookup index.docker.io: no such host"
	_, err = g.pull(&runtimeapi.PullImageRequest{Image: spec})
	if want := offline + ". Run it on this machine's own files with --local-files (or image: host), or bring the image with: carillon image import FILE.tar"; status.Convert(err).Message() != want || status.Code(err) != codes.Unavailable {
		t.Errorf("%v", err)
	}
	images.add(t, "python:3.12", image.Config{}, layer(t, nil))
	_, err = g.pull(&runtimeapi.PullImageRequest{Image: spec})
	if want := offline + ". It is here since 2023-11-14 22:13:20 UTC: set imagePullPolicy: IfNotPresent"; status.Convert(err).Message() != want {
		t.Errorf("%v", err)
	}
	if _, err := g.pull(&runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "No Name"}}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("%v", err)
	}
	g.run.opts.Images = nil
	if _, err := g.pull(&runtimeapi.PullImageRequest{Image: spec}); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "image: host") {
		t.Errorf("%v", err)
	}
}

// Credentials of a Pod are for the registry that they were given for; without
// any, those that this user has stored count.
func TestImageCredentials(t *testing.T) {
	for _, tt := range []struct {
		auth  *runtimeapi.AuthConfig
		image string
		want  string
	}{
		{nil, "busybox", "none"},
		{&runtimeapi.AuthConfig{ServerAddress: "https://index.docker.io/v1/"}, "busybox", "none"},
		{&runtimeapi.AuthConfig{Username: "u", Password: "p"}, "busybox", "u p"},
		{&runtimeapi.AuthConfig{Username: "u", Password: "p", ServerAddress: "https://index.docker.io/v1/"}, "busybox", "u p"},
		{&runtimeapi.AuthConfig{Username: "u", Password: "p", ServerAddress: "registry.example:5000"}, "registry.example:5000/a", "u p"},
		{&runtimeapi.AuthConfig{Username: "u", Password: "p", ServerAddress: "https://other.example"}, "registry.example:5000/a", "none"},
		{&runtimeapi.AuthConfig{Username: "u", Password: "p", ServerAddress: "docker.io"}, "registry.example/a", "none"},
	} {
		name, err := image.ParseName(tt.image)
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		if k := keychain(tt.auth, name); k != nil {
			a, err := k.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			c, err := authn.Authorization(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			got = fmt.Sprint(c.Username, " ", c.Password)
		}
		if got != tt.want {
			t.Errorf("%v for %s: %s, want %s", tt.auth, tt.image, got, tt.want)
		}
	}
}

// A record of a Runtime that knew no images is one of a container on this
// machine's files.
func TestRecordsWithoutImages(t *testing.T) {
	c, err := parseContainer([]byte(`{"id":"` + strings.Repeat("ab", 16) + `","sandbox":"` + strings.Repeat("cd", 16) + `","imageRef":"sha256:old","root":"overlay","config":{"metadata":{"name":"x"},"image":{"image":"sha256:old"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if c.imageID() != "sha256:old" || c.rec.ImageRef != "sha256:old" || c.imageSpec().Image != "sha256:old" || c.stopSignal() != 15 {
		t.Errorf("%+v", c.rec)
	}
}
