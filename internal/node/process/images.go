// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/image"
)

// Images is where images are kept: *image.Store is one.
type Images interface {
	// Dir is the directory they are in, or nothing as long as there is none.
	Dir() string
	Pull(ctx context.Context, name image.Name, auth image.Keychain, progress func(image.Progress)) (image.Image, error)
	Find(ref string) (image.Image, bool, error)
	List() ([]image.Image, error)
	Remove(ref string) error
	Use(id string) (*image.Use, error)
	Usage() (bytes, inodes uint64, err error)
}

// imageService answers for images.
type imageService struct {
	runtimeapi.UnimplementedImageServiceServer
	r *Runtime
}

// findImage looks for a real image by the first of refs that is one.
func (r *Runtime) findImage(refs ...string) (image.Image, bool, error) {
	if r.opts.Images == nil {
		return image.Image{}, false, nil
	}
	for _, ref := range refs {
		img, ok, err := r.opts.Images.Find(ref)
		if ok || err != nil {
			return img, ok, err
		}
	}
	return image.Image{}, false, nil
}

// localName is the name of an image that stands for this machine's files, which
// may be asked for by the ID that was made of it.
func (r *Runtime) localName(ref, handler string) (name string, local bool) {
	r.mu.Lock()
	known := r.images[ref]
	r.mu.Unlock()
	if known != "" {
		return known, true
	}
	return ref, r.isLocal(ref, handler)
}

// criImage describes a real image. The kubelet takes a size of 0 for an answer
// that is not whole, and runs containers that name no user as the one told here.
func criImage(img image.Image) *runtimeapi.Image {
	out := &runtimeapi.Image{
		Id: img.ID, RepoDigests: img.Digests, Size: max(uint64(max(img.Size, 0)), 1), Spec: &runtimeapi.ImageSpec{Image: img.ID},
	}
	for _, n := range img.Names {
		if !strings.Contains(n, "@") {
			out.RepoTags = append(out.RepoTags, n)
		}
	}
	user, _, _ := strings.Cut(img.Config.User, ":")
	if user == "" {
		user = "0"
	}
	if uid, err := strconv.ParseInt(user, 10, 64); err == nil {
		out.Uid = &runtimeapi.Int64Value{Value: uid}
	} else {
		out.Username = user
	}
	return out
}

// ListImages lists the images that are here, and those that stand for this
// machine's files and were asked for.
func (s imageService) ListImages(_ context.Context, req *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	list, err := s.list(req.GetFilter())
	if err != nil {
		return nil, err
	}
	return &runtimeapi.ListImagesResponse{Images: list}, nil
}

// StreamImages sends what ListImages returns.
func (s imageService) StreamImages(req *runtimeapi.StreamImagesRequest, stream runtimeapi.ImageService_StreamImagesServer) error {
	list, err := s.list(req.GetFilter())
	if err != nil {
		return err
	}
	return sendParts(list, func(part []*runtimeapi.Image) error {
		return stream.Send(&runtimeapi.StreamImagesResponse{Images: part})
	})
}

func (s imageService) list(f *runtimeapi.ImageFilter) ([]*runtimeapi.Image, error) {
	want := f.GetImage().GetImage()
	var list []*runtimeapi.Image
	s.r.mu.Lock()
	for id, name := range s.r.images {
		if want == "" || want == name || want == id {
			list = append(list, localImage(id, name))
		}
	}
	s.r.mu.Unlock()
	real, err := s.listReal(want)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "listing images: %v", err)
	}
	for _, img := range real {
		list = append(list, criImage(img))
	}
	slices.SortFunc(list, func(a, b *runtimeapi.Image) int { return strings.Compare(a.Id, b.Id) })
	return list, nil
}

func (s imageService) listReal(want string) ([]image.Image, error) {
	if s.r.opts.Images == nil {
		return nil, nil
	}
	if want == "" {
		return s.r.opts.Images.List()
	}
	img, ok, err := s.r.opts.Images.Find(want)
	if _, bad := errors.AsType[*image.NameError](err); bad || !ok && err == nil {
		return nil, nil
	}
	return []image.Image{img}, err
}

// ImageStatus finds an image. One that is not here is no error.
func (s imageService) ImageStatus(_ context.Context, req *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	ref := req.GetImage().GetImage()
	if ref == "" {
		return nil, status.Error(codes.InvalidArgument, "no image is named")
	}
	if name, local := s.r.localName(ref, req.GetImage().GetRuntimeHandler()); local {
		resp := &runtimeapi.ImageStatusResponse{Image: localImage(imageID(name), name)}
		if req.GetVerbose() {
			resp.Info = verboseInfo(map[string]any{"info": map[string]any{"files": "those of this machine"}})
		}
		return resp, nil
	}
	img, ok, err := s.r.findImage(ref)
	if err != nil {
		return nil, imageError(err)
	}
	if !ok {
		return &runtimeapi.ImageStatusResponse{}, nil
	}
	resp := &runtimeapi.ImageStatusResponse{Image: criImage(img)}
	if req.GetVerbose() {
		resp.Info = verboseInfo(map[string]any{"info": imageInfo(img)})
	}
	return resp, nil
}

// imageInfo is what the store knows of an image beyond the CRI. What it says about its processes is called as in OCI
// images, and stands where containerd has it.
func imageInfo(img image.Image) map[string]any {
	volumes := map[string]struct{}{}
	for _, v := range img.Config.Volumes {
		volumes[v] = struct{}{}
	}
	config := map[string]any{
		"User": img.Config.User, "Env": img.Config.Env, "Entrypoint": img.Config.Entrypoint, "Cmd": img.Config.Cmd,
		"WorkingDir": img.Config.WorkingDir, "StopSignal": img.Config.StopSignal, "Labels": img.Config.Labels, "Volumes": volumes,
	}
	return map[string]any{"imageSpec": map[string]any{"config": config}, "pulled": img.Pulled, "lastUsed": img.LastUsed}
}

// PullImage brings an image here. Of what stands for this machine's files it
// only takes a note. Close ends it, and the next one goes on with what has come.
func (s imageService) PullImage(ctx context.Context, req *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	ref := req.GetImage().GetImage()
	if ref == "" {
		return nil, status.Error(codes.InvalidArgument, "no image is named")
	}
	handler := req.GetImage().GetRuntimeHandler()
	if err := checkHandler(handler); err != nil {
		return nil, err
	}
	if handler == "" {
		handler = s.r.handlerOf(req.GetSandboxConfig())
	}
	if name, local := s.r.localName(ref, handler); local {
		return &runtimeapi.PullImageResponse{ImageRef: s.r.recordImage(name)}, nil
	}
	if s.r.opts.Images == nil {
		return nil, status.Errorf(codes.FailedPrecondition, "image %s cannot be pulled: this runtime keeps no images. With image: host the container runs on the files of this machine", ref)
	}
	name, err := image.ParseName(ref)
	if err != nil {
		return nil, imageError(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.r.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	img, err := s.r.opts.Images.Pull(ctx, name, keychain(req.GetAuth(), name), nil)
	if err != nil {
		return nil, s.pullError(err, ref)
	}
	return &runtimeapi.PullImageResponse{ImageRef: img.ID}, nil
}

// handlerOf is the runtime handler of the Pod that an image is pulled for.
func (r *Runtime) handlerOf(config *runtimeapi.PodSandboxConfig) string {
	uid := config.GetMetadata().GetUid()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sandboxes {
		if uid != "" && s.uid() == uid && !s.rec.Stopped {
			return s.rec.Handler
		}
	}
	return ""
}

// keychain is what a Pod's imagePullSecrets say; nil for what this user has
// stored for the registry. Credentials for another server are not for this one.
func keychain(auth *runtimeapi.AuthConfig, name image.Name) image.Keychain {
	c := image.Credentials{
		Username: auth.GetUsername(), Password: auth.GetPassword(), Auth: auth.GetAuth(),
		IdentityToken: auth.GetIdentityToken(), RegistryToken: auth.GetRegistryToken(),
	}
	if c == (image.Credentials{}) || !sameRegistry(auth.GetServerAddress(), name.Registry()) {
		return nil
	}
	return c.Keychain()
}

// sameRegistry reports whether a server, given as a URL or a host or not at all,
// is a registry.
func sameRegistry(server, registry string) bool {
	if server == "" {
		return true
	}
	host := server
	if u, err := url.Parse(server); err == nil && u.Host != "" {
		host = u.Host
	}
	host, _, _ = strings.Cut(host, "/")
	docker := []string{"docker.io", "index.docker.io", "registry-1.docker.io"}
	return host == registry || slices.Contains(docker, host) && slices.Contains(docker, registry)
}

// imageError is an error of the store with the code that belongs to it.
func imageError(err error) error {
	code := codes.Unknown
	_, badName := errors.AsType[*image.NameError](err)
	_, ambiguous := errors.AsType[*image.AmbiguousError](err)
	switch {
	case badName || ambiguous:
		code = codes.InvalidArgument
	case errors.Is(err, image.ErrNotFound):
		code = codes.NotFound
	case errors.Is(err, image.ErrInUse), errors.Is(err, image.ErrNoPlatform):
		code = codes.FailedPrecondition
	case errors.Is(err, image.ErrUnauthorized):
		code = codes.PermissionDenied
	case errors.Is(err, image.ErrUnresolved):
		code = codes.Unavailable
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	}
	return status.Error(code, err.Error())
}

// pullError says besides why an image cannot be pulled what can be done about it
// without a network.
func (s imageService) pullError(err error, ref string) error {
	st := status.Convert(imageError(err))
	msg := st.Message()
	if errors.Is(err, image.ErrUnresolved) {
		if img, ok, ferr := s.r.opts.Images.Find(ref); ok && ferr == nil {
			msg += fmt.Sprintf(". It is here since %s: set imagePullPolicy: IfNotPresent", img.Pulled.UTC().Format(time.DateTime+" MST"))
		} else {
			msg += ". Run it on this machine's own files with --local-files (or image: host), or bring the image with: carillon image import FILE.tar"
		}
	}
	return status.Error(st.Code(), msg)
}

// RemoveImage removes an image with all its names. One that is not here is no
// error.
func (s imageService) RemoveImage(ctx context.Context, req *runtimeapi.RemoveImageRequest) (*runtimeapi.RemoveImageResponse, error) {
	ref := req.GetImage().GetImage()
	if name, local := s.r.localName(ref, req.GetImage().GetRuntimeHandler()); local {
		s.r.mu.Lock()
		delete(s.r.images, imageID(name))
		s.r.mu.Unlock()
		return &runtimeapi.RemoveImageResponse{}, nil
	}
	img, ok, err := s.r.findImage(ref)
	if err == nil && ok {
		err = s.r.opts.Images.Remove(img.ID)
		if errors.Is(err, image.ErrInUse) {
			s.r.awaitEnded(ctx)
			err = s.r.removeUnused(ctx, img)
		}
	}
	if err != nil && !errors.Is(err, image.ErrNotFound) {
		if users := s.r.usersOf(img); errors.Is(err, image.ErrInUse) && len(users) > 0 {
			return nil, status.Errorf(codes.FailedPrecondition, "image %s is in use by %s: delete that first", ref, strings.Join(users, ", "))
		}
		return nil, imageError(err)
	}
	return &runtimeapi.RemoveImageResponse{}, nil
}

// removeUnused removes an image. As long as no container is known that uses it, whoever holds it may do so for a moment
// only: a child of ours that is about to be something else has all our files, locks with them, until then.
func (r *Runtime) removeUnused(ctx context.Context, img image.Image) error {
	for end := time.Now().Add(lockTimeout); ; {
		err := r.opts.Images.Remove(img.ID)
		if !errors.Is(err, image.ErrInUse) || len(r.usersOf(img)) > 0 || time.Now().After(end) {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return err
		case <-r.done:
			return err
		}
	}
}

// usersOf names the containers that run from an image or have it as a volume, for a message.
func (r *Runtime) usersOf(img image.Image) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var users []string
	for _, c := range r.containers {
		uses := c.rec.ImageID == img.ID || slices.ContainsFunc(c.config.GetMounts(), func(m *runtimeapi.Mount) bool { return m.GetImage().GetImage() == img.ID })
		if s := r.sandboxes[c.rec.Sandbox]; uses && s != nil && c.state != stateExited {
			pod := s.config.GetMetadata()
			users = append(users, fmt.Sprintf("container %s of Pod %s/%s", c.config.GetMetadata().GetName(), pod.GetNamespace(), pod.GetName()))
		}
	}
	slices.Sort(users)
	return users
}

// awaitEnded waits for the supervisors of containers that have ended, which hold
// images for a moment longer.
func (r *Runtime) awaitEnded(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	var ended []*container
	r.mu.Lock()
	for _, c := range r.containers {
		if c.state == stateExited {
			ended = append(ended, c)
		}
	}
	r.mu.Unlock()
	for _, c := range ended {
		select {
		case <-c.gone:
		case <-ctx.Done():
			return
		case <-r.done:
			return
		}
	}
}

// ImageFsInfo tells what images take, and about the filesystem of the state
// directory, where writable layers are.
func (s imageService) ImageFsInfo(context.Context, *runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(s.r.opts.RootDir, &st); err != nil {
		return nil, status.Errorf(codes.Internal, "the filesystem of %s: %v", s.r.opts.RootDir, err)
	}
	containers := filesystemUsage(s.r.opts.RootDir, (st.Blocks-st.Bfree)*uint64(st.Bsize), st.Files-st.Ffree)
	images := containers
	if s.r.opts.Images != nil && s.r.opts.Images.Dir() != "" {
		bytes, inodes, err := s.r.opts.Images.Usage()
		if err != nil {
			return nil, status.Errorf(codes.Internal, "what images take: %v", err)
		}
		images = filesystemUsage(s.r.opts.Images.Dir(), bytes, inodes)
	}
	return &runtimeapi.ImageFsInfoResponse{
		ImageFilesystems: []*runtimeapi.FilesystemUsage{images}, ContainerFilesystems: []*runtimeapi.FilesystemUsage{containers},
	}, nil
}

func filesystemUsage(dir string, bytes, inodes uint64) *runtimeapi.FilesystemUsage {
	return &runtimeapi.FilesystemUsage{
		Timestamp:  time.Now().UnixNano(),
		FsId:       &runtimeapi.FilesystemIdentifier{Mountpoint: dir},
		UsedBytes:  &runtimeapi.UInt64Value{Value: bytes},
		InodesUsed: &runtimeapi.UInt64Value{Value: inodes},
	}
}
