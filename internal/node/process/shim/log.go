// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// maxLine is the length at which a line is cut into parts, in bytes. The
// kubelet's log reader joins the parts again.
const maxLine = 16 << 10

// logFile writes the log format of the CRI: for each line the time in
// RFC3339Nano, the stream, F (full) or P (part of a line that goes on) and the
// text. A line is one write, so that readers and rotation never see half.
type logFile struct {
	mu   sync.Mutex
	dir  *os.Root // usable after the root changed; nil without a log
	name string
	file *os.File
	buf  []byte
}

// openLog finds the directory of the log, making it. The file is made by
// reopen, when the command is about to run: the kubelet counts the restarts of
// a container by its log files.
func openLog(path string) (*logFile, error) {
	if path == "" {
		return &logFile{}, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	return &logFile{dir: dir, name: filepath.Base(path)}, nil
}

func (l *logFile) open() (*os.File, error) {
	return l.dir.OpenFile(l.name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640)
}

// reopen opens the file for appending, making it; after a rotation that is a
// new one. On an error the old file stays in use.
func (l *logFile) reopen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dir == nil {
		return nil
	}
	f, err := l.open()
	if err != nil {
		return err
	}
	if l.file != nil {
		l.file.Close()
	}
	l.file = f
	return nil
}

// line writes one record. A full disk loses output, it does not stop the
// container.
func (l *logFile) line(now time.Time, stream string, partial bool, text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return
	}
	l.buf = appendRecord(l.buf[:0], now, stream, partial, text)
	_, _ = l.file.Write(l.buf)
}

// appendRecord appends one line of the CRI log format to b.
func appendRecord(b []byte, now time.Time, stream string, partial bool, text []byte) []byte {
	b = now.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, ' ')
	b = append(b, stream...)
	if partial {
		b = append(b, " P "...)
	} else {
		b = append(b, " F "...)
	}
	b = append(b, text...)
	return append(b, '\n')
}

// Close closes the file; lines written afterwards are lost.
func (l *logFile) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// copyLines cuts what r delivers into lines and gives them to emit, the text
// without its newline. Lines longer than maxLine come in parts. What stands
// after the last newline at the end of r is a full line.
func copyLines(r io.Reader, emit func(partial bool, text []byte)) {
	br := bufio.NewReaderSize(r, maxLine)
	for {
		text, err := br.ReadSlice('\n')
		switch {
		case err == nil:
			emit(false, text[:len(text)-1])
		case errors.Is(err, bufio.ErrBufferFull):
			emit(true, text)
		default:
			if len(text) > 0 {
				emit(false, text)
			}
			return
		}
	}
}
