// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
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
