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
	for name, fill := range map[string]func(*runtimeapi.LinuxContainerSecurityContext){
		"registry.example/unknown:1": func(sc *runtimeapi.LinuxContainerSecurityContext) {
			sc.RunAsUser = &runtimeapi.Int64Value{}
		},
		"registry.example/named:1": func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.RunAsUsername = "app" },
		"registry.example/numbered:1": func(sc *runtimeapi.LinuxContainerSecurityContext) {
			if os.Geteuid() != 0 { // root cannot tell it from what the Pod asks for
				sc.RunAsUser = &runtimeapi.Int64Value{Value: 1234}
			}
		},
	} {
		config := shell("id -u")
		config.Image = &runtimeapi.ImageSpec{Image: name}
		fill(config.Linux.SecurityContext)
		_, pod, _ := strings.Cut(strings.TrimSuffix(name, ":1"), "/")
		id := g.begin(g.sandbox(pod, HandlerHost), config)
		if g.wait(id); g.output(id, "stdout") != fmt.Sprintln(os.Getuid()) {
			t.Errorf("%s: %q %q", name, g.output(id, "stdout"), g.output(id, "stderr"))
		}
	}
}
