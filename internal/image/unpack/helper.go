// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// procName begins argv[0] of the process, as ps shows it, and is half of what makes a process one; the other half is
// where it finds its job.
const procName = "carillon-unpack"

// Open files of the process besides its input. Those that are only held come after them.
const (
	jobFD    = 3 // a pipe: its job as JSON in one line; its end of file is the end of this program
	answerFD = 4 // a pipe for its answer
	heldFD   = 5
)

// What the process can do.
const (
	doLayer = "layer" // apply a layer to Target
	doCopy  = "copy"  // copy Lowers[0] to Target
	doList  = "list"  // tell the names in the root, for the probe

	doDescribe = "describe" // tell more of the root, for tests
)

// job is what the process gets to do. Paths are relative to its working directory, the store.
type job struct {
	Do     string
	Form   Form
	Target string
	Work   string
	Lowers []string
	Limits Limits
	DiffID string
}

// answer is what it says when it is done.
type answer struct {
	Result
	Names []string `json:"names,omitempty"`
	Kind  string   `json:"kind,omitempty"` // of an error, see kinds
	Error string   `json:"error,omitempty"`
}

var kinds = map[string]error{"limit": ErrLimit, "digest": ErrDigest, "archive": ErrArchive}

const (
	maxAnswer = 1 << 20
	maxStderr = 4 << 10
)

// run starts the process for a job and waits for its end.
func run(ctx context.Context, store string, j job, input io.Reader, held []*os.File) (answer, error) {
	if err := j.relative(store); err != nil {
		return answer{}, err
	}
	text, err := json.Marshal(j)
	if err != nil {
		return answer{}, err
	}
	cmd, stderr := command(ctx, store)
	source := &source{r: input}
	stdin, err := source.pipe(input)
	if err != nil {
		return answer{}, err
	}
	if stdin != nil {
		cmd.Stdin = stdin
		if stdin != input {
			defer stdin.Close() // a reader that we still wait for gets an error and ends
		}
	}
	jobReader, jobWriter, err := os.Pipe()
	if err != nil {
		return answer{}, err
	}
	defer jobWriter.Close() // until then the process knows that we live
	answerReader, answerWriter, err := os.Pipe()
	if err != nil {
		jobReader.Close()
		return answer{}, err
	}
	defer answerReader.Close()
	cmd.ExtraFiles = append([]*os.File{jobReader, answerWriter}, held...)
	err = cmd.Start()
	jobReader.Close()
	answerWriter.Close()
	if err != nil {
		if ctx.Err() != nil {
			return answer{}, ctx.Err()
		}
		return answer{}, unsupported(fmt.Errorf("starting the process that unpacks: %w", err))
	}
	var a answer
	var said error
	var reading sync.WaitGroup
	reading.Go(func() { said = json.NewDecoder(io.LimitReader(answerReader, maxAnswer)).Decode(&a) })
	_, werr := jobWriter.Write(append(text, '\n')) // when it ended already, its end says why
	ended := cmd.Wait()
	reading.Wait()
	switch {
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	case source.failure() != nil: // whatever the process made of it
		return answer{}, source.failure()
	case said == nil && a.Error != "":
		return answer{}, &Error{Kind: kinds[a.Kind], Text: a.Error}
	case said == nil && ended == nil:
		return a, nil
	}
	return answer{}, fmt.Errorf("the process that unpacks ended without an answer: %w%s", errors.Join(ended, said, werr), stderr.tail())
}

// command is the process, not started.
func command(ctx context.Context, store string) (*exec.Cmd, *tail) {
	// The running program itself, also when its file was replaced or removed by an update.
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = []string{procName}
	cmd.Env = []string{"GOMAXPROCS=2", "GOGC=50", "GOTRACEBACK=single"}
	cmd.Dir = store
	stderr := &tail{}
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return cmd, stderr
}

// relative makes the paths of a job relative to the store: short, and free of what surrounds it, which keeps long and
// strange paths out of mount options.
func (j *job) relative(store string) error {
	paths := []*string{&j.Target}
	if j.Work != "" {
		paths = append(paths, &j.Work)
	}
	j.Lowers = append([]string(nil), j.Lowers...)
	for i := range j.Lowers {
		paths = append(paths, &j.Lowers[i])
	}
	for _, p := range paths {
		rel := *p
		if filepath.IsAbs(rel) || filepath.IsAbs(store) {
			var err error
			if rel, err = relativeTo(store, *p); err != nil {
				return err
			}
		}
		if !filepath.IsLocal(rel) || rel == "." {
			return fmt.Errorf("unpack: %s does not lie below %s", *p, store)
		}
		*p = rel
	}
	return nil
}

func relativeTo(store, path string) (string, error) {
	store, err := filepath.Abs(store)
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	return filepath.Rel(store, path)
}

// source is an input that keeps its own error, which the process cannot know.
type source struct {
	r   io.Reader
	mu  sync.Mutex
	err error
}

// pipe is what the process reads: input itself if that is a file, else a pipe that a goroutine fills. Not the one of
// os/exec, whose Wait waits for a reader that says nothing, also when the process is gone.
func (s *source) pipe(input io.Reader) (*os.File, error) {
	if f, ok := input.(*os.File); ok || input == nil {
		return f, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		defer w.Close()
		_, _ = io.Copy(w, s) // s keeps its own error; a process that is gone has said why, or its end has
	}()
	return r, nil
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.mu.Lock()
		s.err = err
		s.mu.Unlock()
	}
	return n, err
}

func (s *source) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// tail keeps the beginning of what the process says when it crashes.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(p[:min(len(p), maxStderr-t.buf.Len())])
	return len(p), nil
}

func (t *tail) tail() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.buf.Len() == 0 {
		return ""
	}
	return ": " + strings.ToValidUTF8(strings.TrimSpace(t.buf.String()), "?")
}

// isPipe reports whether fd is open and a pipe.
func isPipe(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO
}
