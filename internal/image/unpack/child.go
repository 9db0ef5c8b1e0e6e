// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/image/files"
)

// maxJob bounds the text of a job: 500 layers with long paths.
const maxJob = 4 << 20

func init() {
	if len(os.Args) == 1 && os.Args[0] == procName && isPipe(jobFD) && isPipe(answerFD) {
		os.Exit(child())
	}
}

// child is the whole life of the process.
func child() int {
	_ = os.WriteFile("/proc/self/comm", []byte(procName), 0) // for ps alone
	unix.Umask(0)
	out := os.NewFile(answerFD, "answer")
	var a answer
	err := func() (err error) {
		owner := bufio.NewReader(os.NewFile(jobFD, "job"))
		var j job
		if err := json.NewDecoder(io.LimitReader(owner, maxJob)).Decode(&j); err != nil {
			return fmt.Errorf("reading what to do: %w", err)
		}
		go func() {
			_, _ = io.Copy(io.Discard, owner) // nothing comes but the end
			os.Exit(1)
		}()
		a, err = j.run()
		return err
	}()
	if err != nil {
		a = answer{Error: err.Error()}
		for name, kind := range kinds {
			if errors.Is(err, kind) {
				a.Kind = name
			}
		}
	}
	if json.NewEncoder(out).Encode(a) != nil || err != nil {
		return 1
	}
	return 0
}

// run does a job.
func (j job) run() (answer, error) {
	allUsers, err := hasAllUsers()
	if err != nil {
		return answer{}, err
	}
	if err := privateMounts(); err != nil {
		return answer{}, err
	}
	// Opened while there is a path to it.
	var from *os.File
	if j.Do == doCopy {
		if from, err = os.Open(j.Lowers[0]); err != nil {
			return answer{}, err
		}
		j.Lowers = nil
	}
	if err := j.enterRoot(); err != nil {
		return answer{}, err
	}
	if err := confine(); err != nil {
		return answer{}, err
	}
	switch j.Do {
	case doLayer:
		result, err := j.apply(os.Stdin, allUsers)
		return answer{Result: result}, err
	case doCopy:
		return answer{}, files.Copy(from, "/", allUsers)
	case doList:
		names, err := list()
		return answer{Names: names}, err
	case doDescribe:
		names, err := describe()
		return answer{Names: names}, err
	}
	return answer{}, fmt.Errorf("unknown job %q", j.Do)
}

func (j job) apply(input io.Reader, allUsers bool) (Result, error) {
	in, err := newStream(input, j.Limits.Bytes)
	if err != nil {
		return Result{}, err
	}
	defer in.Close()
	result, err := applyLayer("/", in, j.Limits, allUsers)
	if err != nil {
		return Result{}, err
	}
	if result.DiffID, err = in.finish(); err != nil {
		return Result{}, err
	}
	if j.DiffID != "" && j.DiffID != result.DiffID {
		return Result{}, &Error{Kind: ErrDigest, Text: fmt.Sprintf("the layer has the content %s instead of %s", result.DiffID, j.DiffID)}
	}
	return result, nil
}

// describe is list of the tests, which tells more.
var describe = list

// list tells what is below the root, for the probe.
func list() ([]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS("/"), ".", func(path string, _ fs.DirEntry, err error) error {
		if path != "." {
			names = append(names, path)
		}
		return err
	})
	return names, err
}
