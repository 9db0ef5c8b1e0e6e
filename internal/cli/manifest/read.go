// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Limits of what is read. An API server takes objects of 1.5 MiB at most, so that nothing real comes near.
const (
	fileLimit  = 16 << 20 // bytes of one file, or of standard input
	totalLimit = 64 << 20 // bytes of all files
	filesLimit = 10000    // files of one directory
)

// hintDelay is how long nothing may come of what is not a file before the user is told what is waited for.
const hintDelay = 2 * time.Second

// reader reads the files of one Load.
type reader struct {
	stdin io.Reader
	tell  func(string)
	total int64
}

// expand gives the files that a path names.
func (r *reader) expand(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, &Fault{Where: path, What: cause(err) + "; -f takes a file, a directory or - for standard input"}
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return nil, &Fault{Where: path, What: cause(err)}
	}
	defer dir.Close()
	var files, unread []string
	for {
		entries, err := dir.ReadDir(1000)
		for _, e := range entries {
			full := filepath.Join(path, e.Name())
			switch {
			case e.IsDir() && !strings.HasPrefix(e.Name(), ".") && holdsManifests(full):
				unread = append(unread, full)
			case !e.IsDir() && isManifest(e.Name()):
				files = append(files, full)
			}
		}
		if len(files) > filesLimit {
			return nil, &Fault{Where: path, What: fmt.Sprintf("the directory holds more than %d manifests; name those that are meant", filesLimit)}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, &Fault{Where: path, What: cause(err)}
		}
	}
	slices.Sort(files)
	slices.Sort(unread)
	if len(unread) > 0 {
		r.tell(fmt.Sprintf("left out: manifests in directories below %s; to take them too, add -f %s", path, strings.Join(unread, " -f ")))
	}
	if len(files) == 0 {
		return nil, &Fault{Where: path, What: "the directory holds no .yaml, .yml or .json file"}
	}
	return files, nil
}

func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name)))
}

// holdsManifests looks at the first entries only: it decides about a hint, nothing else.
func holdsManifests(path string) bool {
	dir, err := os.Open(path)
	if err != nil {
		return false
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(1000)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() && isManifest(e.Name()) })
}

// read returns what one file holds. What is not a file of the disk may never come or never end: a FIFO that nobody
// writes to, a device, a terminal. So reading ends with ctx, the user is told what is waited for, and no more than
// fileLimit is taken. A read that does not return is left behind; the process is about to end then.
func (r *reader) read(ctx context.Context, file string) (name string, data []byte, err error) {
	name = file
	if file == "-" {
		name = "standard input"
	}
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := r.all(file)
		done <- result{data, err}
	}()
	hint := time.NewTimer(hintDelay)
	defer hint.Stop()
	for {
		select {
		case got := <-done:
			if file == "-" {
				name = "stdin"
			}
			if got.err != nil {
				return name, nil, &Fault{Where: name, What: cause(got.err)}
			}
			if r.total += int64(len(got.data)); r.total > totalLimit {
				return name, nil, &Fault{Where: name, What: fmt.Sprintf("the manifests hold more than %d MiB in all; apply them in parts", totalLimit>>20)}
			}
			return name, got.data, nil
		case <-hint.C:
			r.tell(fmt.Sprintf("waiting for manifests from %s: it has not ended yet", name))
		case <-ctx.Done():
			return name, nil, fmt.Errorf("reading %s: %w", name, ctx.Err())
		}
	}
}

func (r *reader) all(file string) ([]byte, error) {
	from := r.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = f
	}
	if from == nil {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(from, fileLimit+1))
	if err == nil && len(data) > fileLimit {
		err = fmt.Errorf("it holds more than %d MiB: that is no manifest", fileLimit>>20)
	}
	return data, err
}
