// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/image"
)

// slowImages are images that never come.
type slowImages struct {
	*fakeImages
	begun chan struct{}
}

func (s slowImages) Pull(ctx context.Context, _ image.Name, _ image.Keychain, _ func(image.Progress)) (image.Image, error) {
	close(s.begun)
	<-ctx.Done()
	return image.Image{}, ctx.Err()
}

// Close waits for no download.
func TestCloseEndsPulls(t *testing.T) {
	g := stoppedRig(t)
	slow := slowImages{&fakeImages{dir: t.TempDir(), images: map[string]fakeImage{}}, make(chan struct{})}
	g.opts.Images, g.opts.LocalFiles = slow, false
	g.start()
	ended := make(chan error, 1)
	go func() {
		_, err := g.img.PullImage(context.Background(), &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "registry.example/slow"}})
		ended <- err
	}()
	<-slow.begun
	if err := g.run.Close(g.ctx()); err != nil || g.ctx().Err() != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-ended; err == nil {
		t.Error("pulled what never came")
	}
}

// A container of RuntimeClass host runs as this program's user, whoever an image of the name that it gives runs as: the
// kubelet fills in that one, or root.
func TestHandlerHostIgnoresImageUser(t *testing.T) {
	g, images := imageRig(t)
	images.add(t, "registry.example/named:1", image.Config{User: "app"}, layer(t, nil))
	images.add(t, "registry.example/numbered:1", image.Config{User: "1234"}, layer(t, nil))
	own := os.Getuid()
	for name, tt := range map[string]struct {
		user *runtimeapi.Int64Value
		name string
		says bool // the node says that the Pod names no user
		want int
		root bool // as root alone: an ordinary user's Pod is not admitted
	}{
		"unknown":                    {user: &runtimeapi.Int64Value{}, want: own},
		"unknown, and the node":      {user: &runtimeapi.Int64Value{}, says: true, want: own},
		"named":                      {name: "app", want: own},
		"named, and the node":        {name: "app", says: true, want: own},
		"numbered, and the node":     {user: &runtimeapi.Int64Value{Value: 1234}, says: true, want: own},
		"numbered, and the Pod says": {user: &runtimeapi.Int64Value{Value: 1234}, want: 1234, root: true},
		"numbered, and another":      {user: &runtimeapi.Int64Value{Value: 77}, want: 77, root: true},
	} {
		if tt.root && own != 0 {
			continue
		}
		img, _, _ := strings.Cut(name, ",")
		config := shell("id -u")
		config.Image = &runtimeapi.ImageSpec{Image: "registry.example/" + img + ":1"}
		config.Linux.SecurityContext.RunAsUser, config.Linux.SecurityContext.RunAsUsername = tt.user, tt.name
		if tt.says {
			config.Annotations = map[string]string{AnnotationOwnUser: "true"}
		}
		id := g.begin(g.sandbox(strings.NewReplacer(" ", "", ",", "-").Replace(name), HandlerHost), config)
		if g.wait(id); g.output(id, "stdout") != fmt.Sprintln(tt.want) {
			t.Errorf("%s: %q %q", name, g.output(id, "stdout"), g.output(id, "stderr"))
		}
	}
}
