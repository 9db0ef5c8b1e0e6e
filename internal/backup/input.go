// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/privatedir"
)

// openInput opens a backup. What is in it will be believed and run, so it must be a file of the user's own, or of
// root's, which nobody else can write to; that is asked of the file that was opened, whatever its name means by now.
func openInput(path string) (io.ReadCloser, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		if os.IsNotExist(err) {
			return nil, request("there is no file %s", path)
		}
		return nil, err
	}
	if err := checkInput(f, path); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func checkInput(f *os.File, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return &os.PathError{Op: "look at", Path: path, Err: err}
	}
	const trust = "if you trust what is in it, copy it to a file of your own, or hand it over by carillon restore - <FILE"
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return request("%s is a directory: name the file that carillon backup wrote", path)
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return request("%s is no regular file: to read from it, use - and redirect the input", path)
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return &privatedir.NotOursError{Path: path, Why: fmt.Sprintf("belongs to user %d", st.Uid), Cure: trust}
	case st.Mode&0o022 != 0:
		return &privatedir.NotOursError{Path: path, Why: fmt.Sprintf("can be written by others (mode %04o)", st.Mode&0o7777), Cure: trust}
	}
	return nil
}
