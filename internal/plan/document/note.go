// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"strings"
)

// A Note is something that the user should know of what was written for him.
type Note struct {
	// File and Line are where it was written before; "" for what an API server gave, 0 for the file as a whole.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Object names what it is about: "cronjob/backup"; "" for the file as a whole.
	Object string `json:"object,omitempty"`
	// Text is one line.
	Text string `json:"text"`
}

// String reads as "crontab:7: cronjob/backup: …".
func (n Note) String() string {
	text := Printable(n.Text)
	if n.Object != "" {
		text = n.Object + ": " + text
	}
	switch {
	case n.File != "" && n.Line > 0:
		return fmt.Sprintf("%s:%d: %s", Printable(n.File), n.Line, text)
	case n.File != "":
		return Printable(n.File) + ": " + text
	}
	return text
}

// Comment gives the lines that tell the note above its object.
func (n Note) Comment() []string { return Wrap("Note: "+n.Text, "  ") }

// Group makes one note of those that say the same of several objects of a file, where the first stands.
func Group(notes []Note) []Note {
	type subject struct{ file, text string }
	var order []subject
	first, objects := map[subject]Note{}, map[subject][]string{}
	for _, note := range notes {
		s := subject{note.File, note.Text}
		if _, ok := first[s]; !ok {
			first[s] = note
			order = append(order, s)
		}
		if note.Object != "" {
			objects[s] = append(objects[s], note.Object)
		}
	}
	var grouped []Note
	for _, s := range order {
		note := first[s]
		note.Object = few(objects[s])
		grouped = append(grouped, note)
	}
	return grouped
}

// few is the first of some names.
func few(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
