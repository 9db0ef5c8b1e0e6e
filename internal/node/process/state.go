// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

// The state on disk, below RootDir:
//
//	sandboxes/<id>/sandbox.json       the sandbox, rewritten when it is stopped
//	containers/<id>/container.json    the container, written once
//	containers/<id>/…                 the files of the shim: above all its mark,
//	                                  without which the command has not run, and
//	                                  the record of the container's end
const (
	sandboxFile   = "sandbox.json"
	containerFile = shim.RecordFile
)

func (r *Runtime) sandboxesDir() string  { return filepath.Join(r.opts.RootDir, "sandboxes") }
func (r *Runtime) containersDir() string { return filepath.Join(r.opts.RootDir, "containers") }

// sandboxRecord is what is kept of a sandbox.
type sandboxRecord struct {
	ID        string          `json:"id"`
	Handler   string          `json:"handler,omitempty"`
	CreatedAt int64           `json:"createdAt"` // ns since the epoch
	Stopped   bool            `json:"stopped,omitempty"`
	Config    json.RawMessage `json:"config"` // PodSandboxConfig in proto JSON
	// SharesPIDs: the containers have one PID namespace, whose process 1 has
	// its files beside this record.
	SharesPIDs bool `json:"sharesPIDs,omitempty"`
}

// containerRecord is what is kept of a container.
type containerRecord struct {
	ID        string `json:"id"`
	Sandbox   string `json:"sandbox"`
	CreatedAt int64  `json:"createdAt"` // ns since the epoch
	LogPath   string `json:"logPath,omitempty"`
	ImageRef  string `json:"imageRef"`
	// Of a real image; empty when the files are this machine's.
	ImageID    string          `json:"imageID,omitempty"`
	ImageName  string          `json:"imageName,omitempty"`
	StopSignal unix.Signal     `json:"stopSignal,omitempty"` // the image's; 0 when it names none
	Root       shim.Root       `json:"root"`
	PIDs       bool            `json:"pidNamespace,omitempty"`
	PodPIDs    bool            `json:"podPIDNamespace,omitempty"` // it is in that of its sandbox
	User       *shim.User      `json:"user,omitempty"`
	Cgroups    []string        `json:"cgroups,omitempty"`
	Config     json.RawMessage `json:"config"` // ContainerConfig without its environment, in proto JSON
	// SandboxRecord is a copy, for the case that the original cannot be read.
	SandboxRecord *sandboxRecord `json:"sandboxRecord,omitempty"`
}

// parseSandbox reads a sandbox record.
func parseSandbox(b []byte) (*sandbox, error) {
	var rec sandboxRecord
	if err := shim.ParseRecord(b, &rec); err != nil {
		return nil, err
	}
	return newSandbox(rec)
}

func newSandbox(rec sandboxRecord) (*sandbox, error) {
	config := &runtimeapi.PodSandboxConfig{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(rec.Config, config); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	if !validID(rec.ID) {
		return nil, fmt.Errorf("%q is not an ID", rec.ID)
	}
	if config.GetMetadata() == nil {
		return nil, errors.New("config without metadata")
	}
	return &sandbox{rec: rec, config: config}, nil
}

// writeSandbox makes the record of a sandbox anew, with its directory.
func writeSandbox(dir string, rec sandboxRecord) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return shim.WriteRecord(dir, sandboxFile, rec)
}

// parseContainer reads a container record.
func parseContainer(b []byte) (*container, error) {
	var rec containerRecord
	if err := shim.ParseRecord(b, &rec); err != nil {
		return nil, err
	}
	config := &runtimeapi.ContainerConfig{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(rec.Config, config); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	if !validID(rec.ID) || !validID(rec.Sandbox) {
		return nil, fmt.Errorf("%q or %q is not an ID", rec.ID, rec.Sandbox)
	}
	if config.GetMetadata() == nil {
		return nil, errors.New("config without metadata")
	}
	switch rec.Root {
	case "", shim.RootOverlay, shim.RootUser, shim.RootHost, shim.RootNone, shim.RootImage:
	default:
		return nil, fmt.Errorf("unknown kind of root %q", rec.Root)
	}
	if s := rec.SandboxRecord; s != nil && s.ID != rec.Sandbox {
		return nil, fmt.Errorf("a copy of sandbox %q in a container of sandbox %q", s.ID, rec.Sandbox)
	}
	return newContainer(rec, config), nil
}

// newID makes an ID that no sandbox or container had before.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// validID keeps what is read from disk from naming a directory elsewhere.
func validID(id string) bool {
	b, err := hex.DecodeString(id)
	return err == nil && len(b) == 16
}

func protoJSON(m proto.Message) (json.RawMessage, error) {
	b, err := protojson.Marshal(m)
	return b, err
}

// load reads what an earlier Runtime left. What can not be read is reported, and
// everything else goes on without it; see unreadable.go.
func (r *Runtime) load() {
	for _, id := range r.dirs(r.sandboxesDir()) {
		dir := filepath.Join(r.sandboxesDir(), id)
		b, err := shim.ReadRecord(dir, sandboxFile)
		if errors.Is(err, fs.ErrNotExist) {
			// A crash between making the directory and the record: nobody
			// knows this sandbox.
			_ = r.removeTree(dir)
			continue
		}
		var s *sandbox
		if err == nil {
			s, err = parseSandbox(b)
		}
		if err == nil && s.rec.ID != id {
			err = fmt.Errorf("it names the ID %q", s.rec.ID)
		}
		if err != nil {
			r.log.Error(err, "a sandbox record can not be read; what its containers know of it is used", "directory", dir)
			continue
		}
		r.sandboxes[id] = s
	}
	for _, id := range r.dirs(r.containersDir()) {
		dir := filepath.Join(r.containersDir(), id)
		c := r.readContainer(dir, id)
		if c == nil {
			continue
		}
		r.containers[id] = c
		if c.rec.ImageID == "" {
			r.images[c.rec.ImageRef] = imageName(c.config)
		}
		r.restoreSandbox(c)
		r.readBack(c)
	}
	for _, id := range r.dirs(r.sandboxesDir()) {
		if s := r.sandboxes[id]; s != nil {
			r.readBackPIDs(s)
			r.readBackIPC(s)
		} else if err := r.endPIDs(filepath.Join(r.sandboxesDir(), id)); err != nil {
			r.log.Error(err, "ending the Pod of a sandbox record that can not be read")
		}
	}
}

func (r *Runtime) dirs(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		r.log.Error(err, "reading the state of containers")
		return nil
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && validID(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids
}

// readBack finds out what became of a container while no Runtime ran.
func (r *Runtime) readBack(c *container) {
	if st, err := shim.ReadStarted(c.dir); err == nil {
		c.user = st.User
	}
	if exit, err := shim.ReadExit(c.dir); err == nil {
		r.tell(c, exit)
		c.setEnded(exit)
		r.removeLayer(c)
		return
	}
	lock, err := shim.Lock(c.dir)
	if err == nil {
		// No shim lives, and none is on its way: the lock is handed from the
		// Runtime to the shim that it starts.
		if exit, ran := r.recoverEnd(c); ran {
			lock.Close()
			r.tell(c, exit)
			c.setEnded(exit)
			r.removeLayer(c)
		} else {
			r.undoCreate(c, lock)
		}
		return
	}
	if !errors.Is(err, unix.EWOULDBLOCK) {
		r.log.Error(err, "locking a container", "container", c.rec.ID)
	}
	c.state, c.executed, c.startedAt = stateRunning, shim.MayHaveRun(c.dir), startTime(c)
}

// adoptTimeout is how long Start waits for shims that are about to execute
// their commands, which takes milliseconds.
const adoptTimeout = 5 * time.Second

// adopt watches the containers whose shims live. It waits a moment for those
// that have not come to executing the command, so that the kubelet, which looks
// at once, sees no container that is neither created nor running.
func (r *Runtime) adopt(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, adoptTimeout)
	defer cancel()
	r.mu.Lock()
	var starting []*container
	for _, c := range r.containers {
		if c.state == stateRunning {
			r.spawnLocked(func() { r.watch(c) })
			if !c.executed {
				starting = append(starting, c)
			}
		}
	}
	r.mu.Unlock()
	for _, c := range starting {
		r.awaitExecuted(c, ctx.Done())
		r.mu.Lock()
		if c.state == stateRunning && !c.executed {
			r.spawnLocked(func() { r.awaitExecuted(c, nil) })
		}
		r.mu.Unlock()
	}
}

// declareLost writes the end of a container that is lost. The caller holds the container's lock.
func (r *Runtime) declareLost(c *container) shim.Exit {
	exit := lostExit()
	exit.StartedAt = startTime(c)
	r.killOrphans(c)
	exit.Measures = shim.MeasureCgroups(c.rec.Cgroups)
	if err := shim.WriteExit(c.dir, exit); err != nil {
		r.log.Error(err, "recording the end of a container", "container", c.rec.ID)
	}
	return exit
}

// removeLayer frees what the container wrote outside its volumes; it ended.
func (r *Runtime) removeLayer(c *container) {
	_ = os.Remove(filepath.Join(c.dir, shim.SpecFile)) // one that was not executed left it, with its secrets
	_ = r.removeTree(filepath.Join(c.dir, shim.LayerDir))
	removeCgroups(c.rec.Cgroups)
}

// removeTree removes a directory with all that a container may have left in
// it, and logs why it could not.
func (r *Runtime) removeTree(dir string) error {
	err := privatedir.RemoveTree(dir)
	if err != nil {
		r.log.Error(err, "removing what a container left")
	}
	return err
}
