// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package shim supervises one container: it is a second process of whatever
// binary imports it, started by the runtime with a marked name and environment
// ([Command]), and it takes over in an init function, before the heavy
// packages of that binary initialise. It imports the standard library,
// golang.org/x/sys/unix and what imports no more than these, so that a
// container starts in milliseconds.
//
// # Tour
//
//	shim.go      the life of a shim, from its start to exit.json
//	stop.go      signals to the command, and its end after the grace period
//	pod.go       process 1 of a Pod whose containers share their processes
//	start.go     starting a shim; for the runtime
//	client.go    asking a shim for something; for the runtime
//	spec.go      the files it shares with the runtime: spec and shim record
//	mark.go      the mark that says: from here on the command may have run
//	measure.go   what a container used
//	exit.go      the exit record, and the space that is kept for it
//	pidfd.go     signals that reach the process that was meant
//	procstat.go  what /proc tells of a process
//	failpoint.go where tests make a start fail
//	rootfs.go    the root for containers of a root user: overlays over the machine
//	userroot.go  the root inside a user namespace
//	hostroot.go  the machine's own files, with volumes bound over them
//	imageroot.go the root for a container of an image
//	imagefiles.go the files of an image: an overlay of its layers, or a copy
//	imageuser.go who of an image runs the command
//	imagevolume.go volumes with the files of an image
//	ipc.go       what the containers of a Pod share besides processes
//	mounts.go    binds, read-only flags, resolving paths inside a root
//	dev.go       /dev, /proc and /sys of a container
//	launch.go    starting a command as the user and with the rights it was given
//	fork.go      the steps between fork and exec
//	reap.go      waiting for children and killing what is left
//	log.go       the log file in the CRI format
//	attach.go    standard input and the clients that watch the output
//	tty.go       pseudo terminals
//	cgroup.go    resource limits
//	control.go   the socket on which the runtime asks for exec, stop, attach …
//
// # Invariants
//
// The command is started at most once. An exclusive lock on the container's
// directory is held from the runtime's decision to start it to the end of the
// shim, without a gap. Right before the command is executed the shim makes a
// mark (StartMarkFile) and waits until it is on disk; a shim that finds a mark or
// an exit record executes nothing, and the runtime writes an exit record only
// under the same lock. So whoever holds the lock knows: without a mark the
// command has not run and may be started; with a mark it may have, and never
// is again.
//
// exit.json appears when every process of the container is gone, and never
// changes afterwards. Its space is taken before the mark, so that a full disk
// does not lose it.
//
// Mounts live in a mount namespace of the shim's own, so they vanish with it,
// however it ends. In a PID namespace the shim is process 1: if it is killed
// the kernel kills the whole container.
package shim

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/descriptor"
)

// procName is argv[0] of a shim, as ps shows it, and half of the marker that
// makes a process a shim.
const procName = "carillon-shim"

// Environment of a shim.
const (
	envDir       = "CARILLON_SHIM_DIR"        // the container's directory; the other half of the marker
	envProbe     = "CARILLON_SHIM_PROBE"      // set: set up the root, say so, and end
	envLock      = "CARILLON_SHIM_LOCK"       // set: lockFD is the lock, taken already
	envOwnerPipe = "CARILLON_SHIM_OWNER_PIPE" // set: end when ownerPipeFD does
)

// statusFD is where the shim reports that the command runs, or why it does
// not: one JSON Started, then end of file.
const statusFD = 3

// lockFD is the lock of the container's directory, which the runtime took for
// us.
const lockFD = 4

// ownerPipeFD is the reading end of a pipe that nothing is ever written to: its end
// of file is the end of the process that started the container. ownerGrace is
// what the container then gets to end after SIGTERM.
const (
	ownerPipeFD = 5
	ownerGrace  = time.Second
)

func init() {
	if len(os.Args) == 0 || !strings.HasPrefix(os.Args[0], procName) {
		return
	}
	dir := os.Getenv(envDir)
	if dir == "" {
		return
	}
	os.Exit(run(dir))
}

// shim is the state of the one container that this process supervises.
type shim struct {
	spec   Spec
	dir    *os.Root // the container's directory, usable after the root changed
	status *os.File

	log      *logFile
	streams  *streams
	children *children
	cgroup   *cgroup
	rights   rights
	user     *User // who runs the command, when the image's files tell
	pid1     bool  // this process is init of a PID namespace
	marked   bool  // the command may have been executed, see commit
	ordinary bool  // this is a Pod's process 1, of an ordinary user

	mu          sync.Mutex
	main        int         // process ID of the command; 0 before it started and after it ended
	pending     unix.Signal // came before the command started
	kill        *time.Timer // the end of the grace period, nil when not stopping
	killAt      time.Time
	ipc         *os.File // of a Pod's process 1: the namespace of its containers, once one needs it
	builtin     chan struct{}
	builtinOnce sync.Once
	ended       chan struct{} // closed when exit.json is written
	logs        sync.WaitGroup
}

// run is the whole life of a shim. The result is the exit code of the process,
// which nobody looks at: exit.json tells how the container ended.
func run(path string) int {
	FailPoint("shim-begun")
	_ = os.WriteFile("/proc/self/comm", []byte(procName), 0)
	unix.Umask(0o022)
	status := os.NewFile(statusFD, "status")
	var ownerPipe *os.File
	if os.Getenv(envOwnerPipe) != "" {
		ownerPipe = os.NewFile(ownerPipeFD, "ownerPipe")
	}
	s := &shim{status: status, builtin: make(chan struct{}), ended: make(chan struct{}), pid1: os.Getpid() == 1}

	// Signals are caught from the first moment on: a stop that comes while the
	// root is being made must not leave half a container.
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH)
	signal.Ignore(unix.SIGPIPE, unix.SIGTTOU, unix.SIGTTIN)

	// The status, the lock and the owner pipe, what is held open for its lock, and what a parent left open by mistake.
	if err := descriptor.CloseOnExec(statusFD); err != nil {
		return s.refuse(err)
	}
	if err := os.Chdir(path); err != nil {
		return s.refuse(err)
	}
	var err error
	if s.dir, err = os.OpenRoot("."); err != nil {
		return s.refuse(err)
	}
	if os.Getenv(envPod) != "" {
		return runPod(path, s, ownerPipe)
	}
	lock, err := takeLock(s.dir, path)
	if err != nil {
		return s.refuse(fmt.Errorf("another shim holds %s: %w", path, err))
	}
	defer lock.Close()
	FailPoint("shim-locked")
	if _, err := s.dir.Lstat(ExitFile); !errors.Is(err, fs.ErrNotExist) {
		return s.refuse(errors.New("the container has ended already"))
	}
	if MayHaveRun(path) {
		return s.refuse(errors.New("the container was started already"))
	}
	if s.spec, err = readSpec(s.dir); err != nil {
		return s.fail(128, err)
	}
	identity, err := ownIdentity()
	if err != nil {
		return s.fail(128, err)
	}
	if err := writeVolatile(s.dir, IdentityFile, identity); err != nil {
		return s.decline(err)
	}
	FailPoint("shim-identified")
	if !s.pid1 {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return s.fail(128, fmt.Errorf("becoming the reaper of the container's processes: %w", err))
		}
	}
	s.children = newChildren()
	if s.log, err = openLog(s.spec.LogPath); err != nil {
		return s.fail(128, err)
	}
	s.streams = newStreams(s.log, s.spec.StdinOnce)
	listener, err := listenControl()
	if err != nil {
		return s.fail(128, err)
	}
	s.cgroup = openCgroup(s.spec.Cgroup)
	defer s.cgroup.remove()
	if err := s.enterRoot(); err != nil {
		return s.fail(128, err)
	}
	FailPoint("shim-rooted")
	s.rights = s.spec.rights()
	if os.Getenv(envProbe) != "" {
		s.report(Started{PID: os.Getpid(), StartedAt: time.Now().UnixNano()})
		return 0
	}
	go s.serve(listener)
	if ownerPipe != nil {
		go func() {
			_, _ = ownerPipe.Read(make([]byte, 1)) // nothing comes but the end
			s.stop(unix.SIGTERM, ownerGrace)
		}()
	}
	go func() {
		for sig := range signals {
			s.onSignal(sig.(unix.Signal))
		}
	}()
	return s.supervise()
}

// enterRoot gives this process the container's view of the filesystem.
func (s *shim) enterRoot() error {
	if s.spec.Hostname != "" {
		// Needs a UTS namespace of our own, which the runtime asks for exactly
		// when it sets a host name.
		if err := unix.Sethostname([]byte(s.spec.Hostname)); err != nil {
			return fmt.Errorf("setting the host name %q: %w", s.spec.Hostname, err)
		}
	}
	if s.spec.Root != RootNone && s.spec.Root != RootImage {
		if err := mountImageVolumes(&s.spec); err != nil {
			return err
		}
	}
	if s.spec.PodUser != nil {
		if err := takeID(s.spec.PodUser, s.spec.PodUser); err != nil {
			return err
		}
	}
	switch s.spec.Root {
	case RootOverlay:
		return overlayRoot(&s.spec, s.pid1 || s.spec.PodPIDs)
	case RootUser:
		return userRoot(&s.spec, s.pid1 || s.spec.PodPIDs)
	case RootImage:
		return s.imageRoot(s.pid1 || s.spec.PodPIDs)
	case RootHost:
		return hostRoot(&s.spec, s.dir)
	case RootNone:
		return os.Chdir("/")
	}
	return fmt.Errorf("unknown kind of root %q", s.spec.Root)
}

// supervise starts the command and stays until everything has ended.
func (s *shim) supervise() int {
	var code int
	var sig int
	var started time.Time
	if s.spec.Builtin != "" {
		if err := s.commit(); err != nil {
			return s.failed(err)
		}
		started = time.Now()
		s.running(Started{PID: os.Getpid(), StartedAt: started.UnixNano(), User: s.user})
		<-s.builtin
	} else {
		stdio, err := s.stdio()
		if err != nil {
			return s.fail(128, err)
		}
		proc, err := s.launch(command{
			args: s.spec.Args, env: s.spec.Env, dir: s.spec.Dir,
			stdio: stdio.child, tty: s.spec.TTY, killWithParent: !s.pid1, before: s.commit,
		})
		for _, f := range stdio.child {
			f.Close()
		}
		if err != nil {
			stdio.close()
			return s.failed(err)
		}
		FailPoint("shim-executed")
		started = proc.started
		s.mu.Lock()
		s.main = proc.pid
		if s.pending != 0 {
			s.children.signal(s.main, s.pending)
		}
		s.mu.Unlock()
		stdio.copy(s)
		s.running(Started{PID: proc.pid, StartedAt: started.UnixNano(), User: s.user})
		ws := <-proc.done
		code, sig = decode(ws)
	}
	finished := time.Now()
	FailPoint("shim-ended")

	s.mu.Lock()
	s.main = 0
	if s.kill != nil {
		s.kill.Stop()
	}
	s.mu.Unlock()
	s.killAll()
	s.streams.closeInput()
	timer := time.AfterFunc(drainTime, s.streams.hangUp)
	s.logs.Wait()
	timer.Stop()
	s.streams.end()
	s.log.Close()

	rec := Exit{ExitCode: code, Signal: sig, StartedAt: started.UnixNano(), FinishedAt: finished.UnixNano()}
	if s.spec.Builtin == "" {
		rec.Measures = s.measure()
	}
	switch {
	case s.cgroup.oomKilled() && code != 0:
		rec.Reason = ReasonOOMKilled
		rec.Message = "the container used more memory than its limit allows"
	case code == 0:
		rec.Reason = ReasonCompleted
	default:
		rec.Reason = ReasonError
	}
	return s.end(rec)
}

// end publishes how the container ended.
func (s *shim) end(rec Exit) int {
	s.cgroup.remove()
	_ = s.dir.Remove(ControlFile)
	if err := s.record(rec); err != nil {
		return 1
	}
	FailPoint("shim-recorded")
	close(s.ended)
	return 0
}

// failed ends a container whose command could not be started: as if nothing
// had been asked for when the mark could not be made, with a record otherwise.
func (s *shim) failed(err error) int {
	var not notStarted
	if errors.As(err, &not) {
		return s.decline(err)
	}
	return s.fail(ExitCode(err), err)
}

// fail ends a container whose command never ran.
func (s *shim) fail(code int, err error) int {
	now := time.Now().UnixNano()
	if s.children != nil {
		s.killAll()
	}
	if s.log != nil {
		_ = s.log.reopen() // an empty log: asking for the output gives none instead of an error
		s.log.Close()
	}
	result := s.end(Exit{ExitCode: code, StartedAt: now, FinishedAt: now, Reason: ReasonStartError, Message: err.Error()})
	// Where not even the record can be written, the container was not started.
	s.report(Started{Error: err.Error(), ExitCode: code, NotStarted: result != 0})
	return result
}

// decline ends a shim that has executed nothing and can not, for want of space
// say: it leaves the container as if it had not been started.
func (s *shim) decline(err error) int {
	if s.children != nil {
		s.killAll()
	}
	s.cgroup.remove()
	_ = s.dir.Remove(ControlFile)
	_ = s.dir.Remove(reservedFile)
	s.report(Started{Error: err.Error(), ExitCode: 128, NotStarted: true})
	return 1
}

// takeLock takes over the lock that the runtime holds for us, or takes it.
func takeLock(dir *os.Root, path string) (*os.File, error) {
	if os.Getenv(envLock) == "" {
		return Lock(path)
	}
	f := os.NewFile(lockFD, LockFile)
	given, err := f.Stat()
	if err != nil {
		return nil, err
	}
	is, err := dir.Lstat(LockFile)
	if err != nil {
		return nil, err
	}
	if !os.SameFile(given, is) {
		return nil, errors.New("the lock given is another's")
	}
	// It belongs to the open file that both share, so this changes nothing.
	return f, unix.Flock(lockFD, unix.LOCK_EX|unix.LOCK_NB)
}

// refuse ends a shim that must not touch the container.
func (s *shim) refuse(err error) int {
	s.report(Started{Error: err.Error(), ExitCode: 128})
	return 1
}

// running tells that the command runs, also to a runtime that comes later.
func (s *shim) running(st Started) {
	_ = writeVolatile(s.dir, StartedFile, st) // after a power cut the mark tells the time, too
	s.report(st)
	FailPoint("shim-told")
}

func (s *shim) report(st Started) {
	_, _ = s.status.Write(append(mustJSON(st), '\n'))
	s.status.Close()
}

// drain reads r into w until its end, for a log stream.
func (s *shim) drain(stream string, r io.ReadCloser) {
	s.logs.Go(func() {
		defer r.Close()
		s.streams.copyOutput(stream, r)
	})
}
