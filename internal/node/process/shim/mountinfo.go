// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hostMount is one mount of the machine.
type hostMount struct {
	Point string // absolute, unescaped
	Type  string // filesystem type
}

// readMounts lists the mounts that can be reached, each point once, parents
// before children.
func readMounts() ([]hostMount, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseMounts(string(b)), nil
}

// parseMounts reads the format of proc_pid_mountinfo(5). Lines that it does
// not understand are left out. Of several mounts on one point the last, which
// covers the others, counts; what lies below a point that was covered later
// can not be told apart here and is kept.
func parseMounts(text string) []hostMount {
	last := map[string]string{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		dash := slices.Index(fields, "-")
		if dash < 6 || dash+1 >= len(fields) {
			continue
		}
		point := unescapeMount(fields[4])
		if !filepath.IsAbs(point) {
			continue
		}
		last[filepath.Clean(point)] = fields[dash+1]
	}
	mounts := make([]hostMount, 0, len(last))
	for point, typ := range last {
		mounts = append(mounts, hostMount{point, typ})
	}
	slices.SortFunc(mounts, func(a, b hostMount) int { return strings.Compare(a.Point, b.Point) })
	return mounts
}

// unescapeMount undoes the octal escapes (\040 for a space) of mountinfo.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && isOctal(s[i+1]) && isOctal(s[i+2]) && isOctal(s[i+3]) {
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }

// under reports whether path is dir or lies below it. Both are clean.
func under(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// strictlyUnder reports whether path lies below dir.
func strictlyUnder(path, dir string) bool { return path != dir && under(path, dir) }
