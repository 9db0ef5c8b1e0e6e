// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mountnamespace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/mounts"
)

// envEntered marks the second start of the program. Its value is the namespace that was entered.
const envEntered = "CARILLON_MOUNT_NAMESPACE"

// errMachine is why the machine's namespace is used although another could be.
var errMachine = errors.New("not tried: no Pods are run here as root by the built-in runtime")

// why is why this process is in the machine's namespace; nil when it is in one of its own.
var notEntered = errMachine

// Entered reports whether this process has a mount namespace of its own; the error says why not.
func Entered() (bool, error) { return notEntered == nil, notEntered }

func init() {
	entered, again := os.LookupEnv(envEntered)
	if again {
		// Never a third time, whatever happened.
		_ = os.Unsetenv(envEntered)
		_ = os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0) // the exec named it after its path
		if here, err := current(); err != nil || here != entered {
			notEntered = fmt.Errorf("%s was set to %q by somebody else", envEntered, entered)
			return
		}
		notEntered = nil
		return
	}
	if os.Geteuid() != 0 {
		notEntered = errors.New("not root")
		return
	}
	if dir, ok := needsNamespace(os.Args); ok {
		notEntered = enter(dir)
	}
}

// needsNamespace reports whether the arguments start Pods here, and the data directory, if it is one to keep. Being
// wrong does no harm: a command that mounts nothing may well have a namespace of its own.
func needsNamespace(args []string) (dir string, ok bool) {
	if len(args) < 2 {
		return "", false
	}
	args = args[1:]
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--container-runtime-endpoint") }) {
		return "", false
	}
	command := slices.IndexFunc(args, func(arg string) bool { return arg == "up" || arg == "run" })
	if command < 0 || args[0] == "kubectl" {
		return "", false
	}
	if args[command] == "run" {
		return "", true // a plane that is thrown away, or none
	}
	dir = datadir.Default()
	for i, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--data-dir="); ok {
			dir = value
		} else if arg == "--data-dir" && i+1 < len(args) {
			dir = args[i+1]
		}
	}
	return dir, true
}

// enter starts the program again in a mount namespace: that of an earlier life on dir, if its containers still run, or
// a new one. It returns only if that cannot be done, and then has changed nothing.
func enter(dir string) error {
	if dir != "" {
		// Containers of an earlier life have their volumes mounted in the namespace of that life. Kubelet has to find
		// them there: what it mounted anew would be other tmpfs than those that the containers use.
		if h := findHolder(dir); h != nil {
			defer h.Close()
			if err := onThread(func() error { return join(h, dir) }); err != nil {
				return fmt.Errorf("the mount namespace of containers that still run cannot be entered: %w", err)
			}
		}
		below, err := mountedInMachine(dir)
		if err != nil {
			return err
		}
		if below != "" {
			return fmt.Errorf("%s is mounted in the machine's mount namespace already", below)
		}
	}
	return onThread(unshare)
}

// mountedInMachine finds what an earlier life without a namespace of its own left mounted for its Pods; empty if
// nothing. It can be used, and unmounted, only where it is.
func mountedInMachine(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(datadir.Node(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	points, err := mounts.Below(real)
	if err != nil {
		return "", err
	}
	for _, point := range points {
		if point != real {
			return point, nil
		}
	}
	return "", nil
}

// onThread runs f on a thread of its own that ends afterwards, with whatever f did to it.
func onThread(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		result <- f()
	}()
	return <-result
}

// unshare puts the program into a copy of the machine's mount namespace. What the machine mounts and unmounts later is
// mounted and unmounted here too, where the machine shares its mounts (as systemd does); nothing goes the other way.
func unshare() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("a mount namespace of its own: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("keeping mounts in it: %w", err)
	}
	return restart()
}

// join puts the program into the namespace that h holds, if dir and the working directory are the same there.
func join(h *os.File, dir string) error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	before := map[string]unix.Stat_t{dir: {}, here: {}}
	for path := range before {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			return &os.PathError{Op: "look at", Path: path, Err: err}
		}
		before[path] = st
	}
	// A thread that shares its working directory with others cannot move.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	if err := unix.Setns(int(h.Fd()), unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Chdir(here); err != nil {
		return &os.PathError{Op: "go to", Path: here, Err: err}
	}
	for path, was := range before {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil || st.Dev != was.Dev || st.Ino != was.Ino {
			return fmt.Errorf("%s is another directory there", path)
		}
	}
	return restart()
}

// restart starts the program anew on this thread, which becomes the whole process: with its process ID, files, terminal
// and limits, and the signals that were ignored.
func restart() error {
	entered, err := current()
	if err != nil {
		return err
	}
	err = syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), envEntered+"="+entered))
	return fmt.Errorf("starting again: %w", err)
}

// current names the mount namespace of this thread.
func current() (string, error) { return os.Readlink("/proc/thread-self/ns/mnt") }
