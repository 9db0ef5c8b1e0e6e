// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import "github.com/go-logr/logr"

// RuntimeName is what Version answers and what prefixes container IDs in Pod
// statuses ("carillon-process://…").
const RuntimeName = "carillon-process"

// Runtime handlers, as named by RuntimeClass objects.
const (
	// HandlerProcess is the default: a copy-on-write view of the machine.
	// The empty handler means the same.
	HandlerProcess = "process"
	// HandlerHost runs containers directly on the machine's files.
	HandlerHost = "host"
)

// AnnotationOwnUser on a container of RuntimeClass host says that its Pod names
// no user, so that one that the kubelet found in an image of that name does not
// count: the container runs as this program's.
const AnnotationOwnUser = "carillon.dev/own-user"

// AnnotationVolumeGroup on a container is the fsGroup of its Pod, when this
// program cannot give volumes to that group: its containers, which have one user
// and one group, may write to them all the same, and need not be members of it.
const AnnotationVolumeGroup = "carillon.dev/volume-group"

// Options say where a Runtime keeps its state and what containers are told.
type Options struct {
	// RootDir holds the state of sandboxes and containers. It is made with
	// mode 0700 when it does not exist. Only one Runtime may use it at a time.
	// It should be on a filesystem that can be the upper layer of an overlay
	// (not itself an overlay, NFS or FUSE); otherwise memory is used instead.
	RootDir string
	// Socket is the path of the CRI socket. Empty means RootDir/cri.sock.
	// It is made with mode 0600. A stale one is replaced.
	Socket string
	// APIServer is the host:port that containers are told as
	// KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT instead of the
	// cluster IP of the kubernetes service, which nothing routes. Empty leaves
	// those variables alone.
	APIServer string
	// PodIP is the address reported for every Pod: Pods share the network of
	// the machine. Empty means 127.0.0.1.
	PodIP string
	// Hidden lists directories that containers (except those of RuntimeClass
	// host) see empty, besides RootDir: state and credentials of this program.
	Hidden []string
	// CgroupName is the name of the cgroup under which containers get theirs.
	// Empty means one of RootDir's own.
	CgroupName string
	// LogDir is where the logs of all containers lie. Records of earlier
	// Runtimes that name another place are refused. Empty means anywhere.
	LogDir string
	// PIDsMax is how many processes and threads a container may have at once,
	// where cgroups can be written. 0 and less means any number.
	PIDsMax int64
	// EndWithProcess makes containers end at Close and when this process does, even when
	// it is killed. Without it they go on, and the next Runtime on RootDir takes
	// them over.
	EndWithProcess bool
	// Images are the images that containers run from. Without them only names
	// that stand for this machine's files can be run.
	Images Images
	// LocalFiles makes every image name stand for this machine's files.
	LocalFiles bool
	// Ended is called with the end of each container before the end is visible
	// to anybody else. Start calls it for what ended while no Runtime ran, and
	// for what earlier calls did not keep. Nil means that nobody asks.
	//
	// After nil it is not called again for that container; after an error the
	// next Start calls it again. It may be called twice for one container, when
	// this program ends in between, so the second time must do no harm. The
	// container's end, StopContainer and RemoveContainer wait for it, so it must
	// be quick; it is called by several goroutines at once, and must not call
	// the Runtime.
	Ended func(ContainerEnd) error
	// Logger gets warnings about what the machine does not allow, and
	// failures that no caller sees. The zero value is silent.
	Logger logr.Logger
}
