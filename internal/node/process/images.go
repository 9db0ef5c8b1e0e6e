// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// imageService answers for images: every name is an image that is here, and
// all of them are this machine.
type imageService struct {
	runtimeapi.UnimplementedImageServiceServer
	r *Runtime
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

func (r *Runtime) image(id, name string) *runtimeapi.Image {
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

// ListImages lists the images that were asked for.
func (s imageService) ListImages(_ context.Context, req *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	return &runtimeapi.ListImagesResponse{Images: s.list(req.GetFilter())}, nil
}

// StreamImages sends what ListImages returns.
func (s imageService) StreamImages(req *runtimeapi.StreamImagesRequest, stream runtimeapi.ImageService_StreamImagesServer) error {
	return sendParts(s.list(req.GetFilter()), func(part []*runtimeapi.Image) error {
		return stream.Send(&runtimeapi.StreamImagesResponse{Images: part})
	})
}

func (s imageService) list(f *runtimeapi.ImageFilter) []*runtimeapi.Image {
	want := f.GetImage().GetImage()
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	var list []*runtimeapi.Image
	for id, name := range s.r.images {
		if want == "" || want == name || want == id {
			list = append(list, s.r.image(id, name))
		}
	}
	slices.SortFunc(list, func(a, b *runtimeapi.Image) int { return strings.Compare(a.Id, b.Id) })
	return list
}

// ImageStatus finds every image.
func (s imageService) ImageStatus(_ context.Context, req *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	name := req.GetImage().GetImage()
	if name == "" {
		return nil, status.Error(codes.InvalidArgument, "no image is named")
	}
	id := imageID(name)
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if known := s.r.images[id]; name == id && known != "" {
		name = known
	}
	return &runtimeapi.ImageStatusResponse{Image: s.r.image(id, name)}, nil
}

// PullImage has nothing to do.
func (s imageService) PullImage(_ context.Context, req *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	name := req.GetImage().GetImage()
	if name == "" {
		return nil, status.Error(codes.InvalidArgument, "no image is named")
	}
	return &runtimeapi.PullImageResponse{ImageRef: s.r.recordImage(name)}, nil
}

// RemoveImage forgets that an image was asked for.
func (s imageService) RemoveImage(_ context.Context, req *runtimeapi.RemoveImageRequest) (*runtimeapi.RemoveImageResponse, error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	delete(s.r.images, imageID(req.GetImage().GetImage()))
	return &runtimeapi.RemoveImageResponse{}, nil
}

// ImageFsInfo tells about the filesystem of the state directory, where
// writable layers are.
func (s imageService) ImageFsInfo(context.Context, *runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(s.r.opts.RootDir, &st); err != nil {
		return nil, status.Errorf(codes.Internal, "the filesystem of %s: %v", s.r.opts.RootDir, err)
	}
	usage := []*runtimeapi.FilesystemUsage{{
		Timestamp:  time.Now().UnixNano(),
		FsId:       &runtimeapi.FilesystemIdentifier{Mountpoint: s.r.opts.RootDir},
		UsedBytes:  &runtimeapi.UInt64Value{Value: (st.Blocks - st.Bfree) * uint64(st.Bsize)},
		InodesUsed: &runtimeapi.UInt64Value{Value: st.Files - st.Ffree},
	}}
	return &runtimeapi.ImageFsInfoResponse{ImageFilesystems: usage, ContainerFilesystems: usage}, nil
}
