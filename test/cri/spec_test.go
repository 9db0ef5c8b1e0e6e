// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

var (
	endpointFlag = flag.String("endpoint", os.Getenv("CARILLON_CRI_ENDPOINT"), "the runtime to check, unix:// and a path; empty means Carillon's own")
	imagesFlag   = flag.String("image-endpoint", os.Getenv("CARILLON_CRI_IMAGE_ENDPOINT"), "its image service, when that is another endpoint")
	handlerFlag  = flag.String("runtime-handler", "", "the runtime handler of sandboxes")
	parentFlag   = flag.String("cgroup-parent", "", "the parent cgroup of sandboxes, where the runtime wants one for their statistics")
	registryFlag = flag.String("registry", "127.0.0.1:0", "the address at which images are served")
	mirrorFlag   = flag.Bool("mirrored", false, "the runtime takes images of docker.io from -registry")
)

// TestMain is the program of all images when it is called by its name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == probeName {
		os.Exit(probe(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// spec is a sentence about what a runtime does, and the check of it.
type spec struct {
	name string
	run  func(c *check)
	// differs says of runtimes, by what they call themselves, why they may do otherwise.
	differs map[string]string
}

// containerd is what that runtime calls itself.
const containerd = "containerd"

// endpoint is a runtime to check.
type endpoint struct {
	name     string // what it calls itself
	address  string
	handler  string // runtime handler of sandboxes
	runtime  runtimeapi.RuntimeServiceClient
	images   runtimeapi.ImageServiceClient
	registry *imageServer
	mirrored bool // images of docker.io come from registry
	ordinary bool // it runs as an ordinary user, who has one user and group to give

	cgroupParent string // of sandboxes
	pulled       pulledImages
}

// check is one spec as it is run against a runtime.
type check struct {
	*testing.T
	*endpoint
}

func TestSpecs(t *testing.T) {
	images := serveImages(t, *registryFlag)
	if *endpointFlag == "" {
		runSpecs(t, ownRuntime(t, images))
		return
	}
	e := dial(t, *endpointFlag, *imagesFlag)
	e.registry, e.handler, e.mirrored, e.cgroupParent = images, *handlerFlag, *mirrorFlag, *parentFlag
	runSpecs(t, e)
}

// runSpecs checks all specs.
func runSpecs(t *testing.T, e *endpoint) {
	t.Cleanup(func() { e.removePulled(t) })
	for _, s := range slices.Concat(runtimeSpecs, sandboxSpecs, containerSpecs, stopSpecs, fromImageSpecs, imageSpecs, pullSpecs,
		userSpecs, rightsSpecs, namespaceSpecs, mountSpecs, logSpecs, execSpecs, streamSpecs, statsSpecs, eventSpecs) {
		t.Run(s.name, func(t *testing.T) {
			if why := s.differs[e.name]; why != "" {
				t.Skipf("%s does otherwise: %s", e.name, why)
			}
			t.Parallel()
			s.run(&check{t, e})
		})
	}
}

// dial connects to a runtime. images may be empty, if they are at the same endpoint.
func dial(t *testing.T, address, images string) *endpoint {
	t.Helper()
	connect := func(address string) *grpc.ClientConn {
		// The kubelet's own client takes as much.
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	conn := connect(address)
	e := &endpoint{address: address, runtime: runtimeapi.NewRuntimeServiceClient(conn), images: runtimeapi.NewImageServiceClient(conn)}
	if images != "" && images != address {
		e.images = runtimeapi.NewImageServiceClient(connect(images))
	}
	v, err := e.runtime.Version(t.Context(), &runtimeapi.VersionRequest{})
	if err != nil {
		t.Fatalf("nobody answers at %s: %v", address, err)
	}
	e.name = v.RuntimeName
	t.Logf("%s %s at %s", v.RuntimeName, v.RuntimeVersion, address)
	return e
}

// needs skips a spec when err says that a runtime does not have a call, which older ones do not.
func (c *check) needs(call string, err error) {
	c.Helper()
	if status.Code(err) == codes.Unimplemented {
		c.Skipf("this runtime has no %s", call)
	}
}

// needsCgroupParent skips a spec about the use of sandboxes where that is read from a cgroup that they do not have.
func (c *check) needsCgroupParent() {
	c.Helper()
	if c.name == containerd && c.cgroupParent == "" {
		c.Skip("containerd reads what a sandbox uses from its parent cgroup (-cgroup-parent)")
	}
}

// needsUsers skips a spec whose containers have several users or groups, or others than those of the image.
func (c *check) needsUsers() {
	c.Helper()
	if c.ordinary {
		c.Skip("the runtime runs as an ordinary user: its containers have one user and one group, those of the image")
	}
}
