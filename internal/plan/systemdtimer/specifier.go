// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package systemdtimer

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// specifiers is the name of a unit, which says what most specifiers stand for.
type specifiers string

// expand replaces %i and its like by what they stand for in a unit of the system.
func (unit specifiers) expand(text string) (string, error) {
	if !strings.Contains(text, "%") {
		return text, nil
	}
	name := string(unit)
	bare := strings.TrimSuffix(name, path.Ext(name))
	prefix, instance, isInstance := strings.Cut(bare, "@")
	var out strings.Builder
	for n := 0; n < len(text); n++ {
		if text[n] != '%' || n+1 == len(text) {
			out.WriteByte(text[n])
			continue
		}
		n++
		switch text[n] {
		case '%':
			out.WriteByte('%')
		case 'n':
			out.WriteString(name)
		case 'N':
			out.WriteString(bare)
		case 'p':
			out.WriteString(prefix)
		case 'P':
			out.WriteString(unescape(prefix))
		case 'i', 'I':
			if !isInstance || instance == "" {
				return "", fmt.Errorf("%q needs an instance: name the unit with one, as in backup@home.timer", text)
			}
			if text[n] == 'I' {
				out.WriteString(unescape(instance))
			} else {
				out.WriteString(instance)
			}
		default:
			known, ok := directories[text[n]]
			if !ok {
				return "", fmt.Errorf("%%%c in %q stands for what only systemd knows: write its value", text[n], text)
			}
			out.WriteString(known)
		}
	}
	return out.String(), nil
}

// unescape gives what a part of a unit's name stands for: "-" is a "/", and \x2d the byte of that number.
func unescape(name string) string {
	var out strings.Builder
	for n := 0; n < len(name); n++ {
		switch {
		case name[n] == '-':
			out.WriteByte('/')
		case name[n] == '\\' && n+3 < len(name) && name[n+1] == 'x':
			value, err := strconv.ParseUint(name[n+2:n+4], 16, 8)
			if err != nil || value == 0 {
				out.WriteByte('\\')
				continue
			}
			out.WriteByte(byte(value))
			n += 3
		default:
			out.WriteByte(name[n])
		}
	}
	return strings.ToValidUTF8(out.String(), "\ufffd")
}

// directories are what specifiers stand for in units of the system.
var directories = map[byte]string{
	'h': "/root", 't': "/run", 'S': "/var/lib", 'C': "/var/cache", 'L': "/var/log", 'E': "/etc", 'T': "/tmp", 'V': "/var/tmp",
	'u': "root", 'U': "0", 'g': "root", 'G': "0", 's': "/bin/sh",
}
