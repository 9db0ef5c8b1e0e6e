// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/image"
)

// Some names of images stand for this machine's own files: "host", all names of
// Pods of RuntimeClass host, and with Options.LocalFiles every name. The images
// that do nothing (pause) are built in. They are always there, and the kubelet
// is told of an image with an ID that is made of the name.

// isLocal reports whether an image of this name is not a real one.
func (r *Runtime) isLocal(name, handler string) bool {
	return r.opts.LocalFiles || handler == HandlerHost || image.IsHost(name) || isPause(name)
}

// imageID is the same for a name always, and for an ID itself.
func imageID(name string) string {
	if hash, ok := strings.CutPrefix(name, "sha256:"); ok {
		if b, err := hex.DecodeString(hash); err == nil && len(b) == sha256.Size {
			return name
		}
	}
	sum := sha256.Sum256([]byte("carillon process runtime image " + name))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// imageName is the name that the user wrote: the kubelet gives an ID, and the
// name beside it.
func imageName(c *runtimeapi.ContainerConfig) string {
	if n := c.GetImage().GetUserSpecifiedImage(); n != "" {
		return n
	}
	return c.GetImage().GetImage()
}

// isPause reports whether an image is the one that does nothing, of whatever
// registry, tag and digest.
func isPause(image string) bool {
	image, _, _ = strings.Cut(image, "@")
	image, _, _ = strings.Cut(path.Base(image), ":")
	return image == "pause"
}

func localImage(id, name string) *runtimeapi.Image {
	// The user is who we are: the kubelet checks runAsNonRoot against it and
	// runs containers that name no user as this one. The size is not 0, which
	// the kubelet takes for an answer that is not whole.
	img := &runtimeapi.Image{Id: id, Size: 1, Uid: &runtimeapi.Int64Value{Value: int64(os.Getuid())}, Pinned: true, Spec: &runtimeapi.ImageSpec{Image: name}}
	if name != "" && name != id {
		img.RepoTags = []string{name}
		repo, _, _ := strings.Cut(name, "@")
		if slash := strings.LastIndex(repo, "/"); strings.Contains(repo[slash+1:], ":") {
			repo = repo[:slash+1+strings.Index(repo[slash+1:], ":")]
		}
		img.RepoDigests = []string{repo + "@" + id}
	}
	return img
}

// recordImage notes which name an ID stands for.
func (r *Runtime) recordImage(name string) (id string) {
	id = imageID(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	if name != id || r.images[id] == "" {
		r.images[id] = name
	}
	return id
}
