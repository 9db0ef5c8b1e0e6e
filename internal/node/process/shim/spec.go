// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Files in a container's directory.
const (
	SpecFile        = "spec.json"    // what to run; gone once the shim has read it
	IdentityFile    = "shim.json"    // which process is the shim
	StartedFile     = "started.json" // that the command runs, and since when
	MountPointsFile = "made.json"    // mount points made on the machine, for RootHost
	LockFile        = "lock"         // locked while a shim lives
	ControlFile     = "control.sock" // where the shim takes requests
)

// Reasons in an exit record, as they appear in a Pod's status.
const (
	ReasonCompleted  = "Completed"
	ReasonError      = "Error"
	ReasonOOMKilled  = "OOMKilled"
	ReasonStartError = "StartError" // the command never ran
)

// Root is a kind of view of the filesystem.
type Root string

// The kinds of root.
const (
	RootOverlay Root = "overlay" // overlays over the machine's root; needs root
	RootUser    Root = "user"    // the same inside a user namespace, for ordinary users
	RootImage   Root = "image"   // the files of an image, see Spec.Image
	RootHost    Root = "host"    // the machine's files, volumes bound over them
	RootNone    Root = "none"    // the machine's files and nothing else
)

// Spec says what a shim runs and how. Times are in nanoseconds, sizes in bytes.
type Spec struct {
	ID       string   `json:"id"`
	Args     []string `json:"args,omitempty"`
	Env      []string `json:"env,omitempty"` // key=value, complete
	Dir      string   `json:"dir,omitempty"` // working directory in the container, "/" when empty
	Builtin  string   `json:"builtin,omitempty"`
	Hostname string   `json:"hostname,omitempty"`

	Root         Root     `json:"root"`
	Image        *Image   `json:"image,omitempty"`        // for RootImage
	HostIPC      bool     `json:"hostIPC,omitempty"`      // with RootImage: shared memory is the machine's
	SharedMemory string   `json:"sharedMemory,omitempty"` // likewise: it is this directory, of the Pod; else the container's own
	Mounts       []Mount  `json:"mounts,omitempty"`
	Hidden       []string `json:"hidden,omitempty"` // directories shown empty
	Own          []string `json:"own,omitempty"`    // directories an ordinary user works in, see makeOwnPath
	Masked       []string `json:"masked,omitempty"` // paths below /proc and /sys to hide
	ReadOnly     []string `json:"readOnly,omitempty"`
	ReadOnlyRoot bool     `json:"readOnlyRoot,omitempty"`
	PodPIDs      bool     `json:"podPIDs,omitempty"`    // started in the PID namespace of its Pod, see pod.go
	PodUser      *User    `json:"podUser,omitempty"`    // who it has to be in its user namespace, which is the Pod's; with RootUser
	Privileged   bool     `json:"privileged,omitempty"` // all devices, /sys writable

	User         *User   `json:"user,omitempty"` // nil: stay who we are
	Bounding     []int   `json:"bounding,omitempty"`
	Ambient      []int   `json:"ambient,omitempty"`
	LimitCaps    bool    `json:"limitCaps,omitempty"` // Bounding counts
	NoNewPrivs   bool    `json:"noNewPrivs,omitempty"`
	OOMScoreAdj  *int    `json:"oomScoreAdj,omitempty"`
	ClearAmbient bool    `json:"clearAmbient,omitempty"`
	Seccomp      []byte  `json:"seccomp,omitempty"` // filter, as the kernel's struct sock_filter; empty: none
	Cgroup       *Cgroup `json:"cgroup,omitempty"`
	TTY          bool    `json:"tty,omitempty"`
	Stdin        bool    `json:"stdin,omitempty"`
	StdinOnce    bool    `json:"stdinOnce,omitempty"`
	LogPath      string  `json:"logPath,omitempty"` // absolute; empty means no log
}

// Mount binds Source of the machine to Target in the container, with
// everything mounted below it.
type Mount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"readOnly,omitempty"`
	Slave    bool   `json:"slave,omitempty"` // later mounts below Source appear
	// Optional mounts come with every Pod without being asked for; where they
	// cannot be shown they are left out.
	Optional bool `json:"optional,omitempty"`
	// Lowers are the directories of an image, the topmost first, whose files are
	// the source, or what is at SubPath among them. It is read-only.
	Lowers  []string `json:"lowers,omitempty"`
	Options string   `json:"options,omitempty"` // of overlays over them
	SubPath string   `json:"subPath,omitempty"`
}

// Image says what a root of kind RootImage is made of, and who of the image
// runs the command.
type Image struct {
	Lowers  []string  `json:"lowers"`  // directories of its layers, the topmost first
	Options string    `json:"options"` // of overlays over them
	User    ImageUser `json:"user"`
	// Own is the only user of the user namespace, as the machine knows him: he
	// is whom User names. Nil without a user namespace.
	Own *User `json:"own,omitempty"`
	// RootSeccomp takes the place of Spec.Seccomp when User is user 0.
	RootSeccomp []byte `json:"rootSeccomp,omitempty"`
}

// User is who runs the command.
type User struct {
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"groups,omitempty"`
}

// Identity tells a shim from another process that got the same process ID.
type Identity struct {
	PID    int    `json:"pid"`    // in the PID namespace of the machine
	Ticks  uint64 `json:"ticks"`  // start time, clock ticks since boot
	BootID string `json:"bootID"` // of the running kernel
}

// Started is the shim's answer to being started.
type Started struct {
	PID       int    `json:"pid,omitempty"`
	StartedAt int64  `json:"startedAt,omitempty"`
	Error     string `json:"error,omitempty"` // why the command does not run
	ExitCode  int    `json:"exitCode,omitempty"`
	User      *User  `json:"user,omitempty"` // who runs it, when the image's files tell
	// NotStarted: the command was not executed, and there is no exit record;
	// the container is as if it had never been started.
	NotStarted bool `json:"notStarted,omitempty"`
}

// maxRecord bounds what is read back from a state file; the largest holds
// about two MiB of arguments and environment.
const maxRecord = 32 << 20

// ParseIdentity reads the identity of a shim.
func ParseIdentity(b []byte) (Identity, error) {
	var id Identity
	if err := ParseRecord(b, &id); err != nil {
		return Identity{}, fmt.Errorf("shim record: %w", err)
	}
	if id.PID <= 0 {
		return Identity{}, fmt.Errorf("shim record: process ID %d", id.PID)
	}
	return id, nil
}

// ParseRecord reads the one JSON value of a record, of the runtime or of a shim.
func ParseRecord(b []byte, v any) error {
	if len(b) > maxRecord {
		return fmt.Errorf("%d bytes is too long", len(b))
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(v); err != nil {
		return err
	}
	if dec.More() {
		return errors.New("more than one JSON value")
	}
	return nil
}

// ReadIdentity reads which process is the shim of the container in dir.
func ReadIdentity(dir string) (Identity, error) {
	return readParsed(dir, IdentityFile, ParseIdentity)
}

// ReadStarted reads since when the command in dir runs.
func ReadStarted(dir string) (Started, error) {
	return readParsed(dir, StartedFile, parseStarted)
}

func parseStarted(b []byte) (Started, error) {
	var st Started
	if err := ParseRecord(b, &st); err != nil {
		return Started{}, fmt.Errorf("start record: %w", err)
	}
	return st, nil
}

// ReadMountPoints reads which mount points the shim of dir made on the machine.
func ReadMountPoints(dir string) ([]string, error) {
	return readParsed(dir, MountPointsFile, parseMountPoints)
}

func parseMountPoints(b []byte) ([]string, error) {
	var made []string
	if err := ParseRecord(b, &made); err != nil {
		return nil, fmt.Errorf("mount points: %w", err)
	}
	for _, path := range made {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" {
			return nil, fmt.Errorf("mount points: %q is none", path)
		}
	}
	return made, nil
}

// WriteSpec writes what the shim in dir is to run.
func WriteSpec(dir string, spec Spec) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return writeJSON(root, SpecFile, spec)
}

// Lock takes the lock that a shim holds for its whole life, or fails with
// unix.EWOULDBLOCK when a living process holds it. Close gives it back.
func Lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, LockFile), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func readSpec(dir *os.Root) (Spec, error) {
	b, err := readLimited(dir.Open(SpecFile))
	if err != nil {
		return Spec{}, fmt.Errorf("reading what to run: %w", err)
	}
	return parseSpec(b)
}

func parseSpec(b []byte) (Spec, error) {
	var s Spec
	if err := ParseRecord(b, &s); err != nil {
		return Spec{}, fmt.Errorf("reading what to run: %w", err)
	}
	if s.Builtin == "" && len(s.Args) == 0 && os.Getenv(envProbe) == "" {
		return Spec{}, errors.New("reading what to run: no command")
	}
	return s, nil
}

// WriteRecord writes v to dir/name so that it is there after a power cut once
// this returns, and whole at any time before.
func WriteRecord(dir, name string, v any) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return writeDurable(root, name, v)
}

// writeJSON replaces a file in one step, so that a reader, and a crash at any
// point, finds the old or the new content whole.
func writeJSON(dir *os.Root, name string, v any) error {
	return writeBytes(dir, name, mustJSON(v))
}

func writeBytes(dir *os.Root, name string, b []byte) error {
	return replace(dir, name, b, true)
}

// writeVolatile is writeJSON for what means nothing after a power cut: it does
// not wait for the disk.
func writeVolatile(dir *os.Root, name string, v any) error {
	return replace(dir, name, mustJSON(v), false)
}

func replace(dir *os.Root, name string, b []byte, sync bool) error {
	tmp := name + ".tmp"
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil && sync {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = dir.Rename(tmp, name)
	}
	if err != nil {
		_ = dir.Remove(tmp)
	}
	return err
}

// ReadRecord reads a file of a container's directory, of a shim or of the
// runtime: a regular file of this user, no longer than a record can be, and
// nothing else that may lie there under its name.
func ReadRecord(dir, name string) ([]byte, error) {
	fd, err := unix.Open(filepath.Join(dir, name), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: filepath.Join(dir, name), Err: err}
	}
	f := os.NewFile(uintptr(fd), filepath.Join(dir, name))
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		f.Close()
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() {
		f.Close()
		return nil, fmt.Errorf("%s is not a regular file of this user", f.Name())
	}
	return readLimited(f, nil)
}

func readParsed[T any](dir, name string, parse func([]byte) (T, error)) (T, error) {
	b, err := ReadRecord(dir, name)
	if err != nil {
		return *new(T), err
	}
	return parse(b)
}

// readLimited reads a file that was just opened, and closes it.
func readLimited(f *os.File, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err == nil && len(b) > maxRecord {
		err = fmt.Errorf("%s is longer than %d bytes", f.Name(), maxRecord)
	}
	return b, err
}

// mustJSON encodes values of this package, which always can be.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// ownIdentity reads this process's identity as the machine sees it: /proc is still
// the machine's, also when this is process 1 of a PID namespace.
func ownIdentity() (Identity, error) {
	stat, err := readProcessStat("self")
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: stat.PID, Ticks: stat.StartTicks, BootID: BootID()}, nil
}

// Alive reports whether the process of id still runs: same boot, same process
// ID, same start time.
func (id Identity) Alive() bool {
	if id.BootID != BootID() {
		return false
	}
	stat, err := ReadProcessStat(id.PID)
	return err == nil && !stat.Ended() && stat.StartTicks == id.Ticks
}

// BootID identifies the running kernel; it is empty where /proc does not tell.
func BootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
