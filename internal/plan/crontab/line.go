// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// An entry is a line that runs a command.
type entry struct {
	number int
	text   string // of the line
	timing timing
	// user is whom the line names, in the form of the system's crontabs.
	user    string
	command command
	// single tells of the flag -s of OpenBSD: never two at once.
	single bool
	notes  []string
}

// A reader reads lines.
type reader struct{ system bool }

const userOfLine = `[A-Za-z_][A-Za-z0-9_.-]*\$?`

var userName = regexp.MustCompile(`^` + userOfLine + `(:[A-Za-z0-9_.-]+)?(/[A-Za-z0-9_.-]+)?$`)

// cut takes the first word of a text, and leaves the rest without the blanks between.
func cut(text string) (word, rest string) {
	text = strings.TrimLeft(text, " \t")
	n := strings.IndexAny(text, " \t")
	if n < 0 {
		return text, ""
	}
	return text[:n], strings.TrimLeft(text[n:], " \t")
}

// entry reads a line that runs a command.
func (r reader) entry(number int, line string) (*entry, error) {
	e := &entry{number: number, text: strings.TrimSpace(line)}
	rest := strings.TrimLeft(line, " \t")
	if strings.HasPrefix(rest, "-") && len(rest) > 1 && strings.ContainsRune("*0123456789@", rune(rest[1])) {
		rest = rest[1:] // of SuSE: not to be logged
	}
	word, after := cut(rest)
	var err error
	if strings.HasPrefix(word, "@") {
		if anacron(after) {
			return nil, errAnacron
		}
		e.timing, err = readDescriptor(word)
	} else {
		texts := []string{word}
		for len(texts) < len(columns) && after != "" {
			word, after = cut(after)
			texts = append(texts, word)
		}
		if len(texts) == len(columns) && texts[0] != "" && anacronFields(texts) {
			return nil, errAnacron
		}
		if len(texts) < len(columns) {
			return nil, fmt.Errorf("this is no entry of a crontab: it has five fields (minute, hour, day of month, month, day of week) and a command, " +
				"or begins with @daily or its like; a comment begins with #")
		}
		e.timing, err = readFields(texts, line)
	}
	if err != nil {
		return nil, err
	}
	e.notes = e.timing.notes
	if r.system {
		e.user, after = cut(after)
		if !userName.MatchString(e.user) {
			return nil, fmt.Errorf("%q stands where the system's crontabs name a user; if this is the crontab of a user, say --user", e.user)
		}
		e.user, _, _ = strings.Cut(e.user, "/")
		var group string
		if e.user, group, _ = strings.Cut(e.user, ":"); group != "" {
			e.notes = append(slices.Clone(e.notes), "the group "+group+" is not kept: add runAsGroup with its number to securityContext")
		}
	}
	after = e.flags(after)
	e.command = readCommand(strings.TrimRight(after, " \t"))
	switch first, _ := cut(e.command.text); {
	case strings.TrimSpace(e.command.text) == "":
		return nil, fmt.Errorf("there is no command on the line%s", r.hint())
	case looksLikeField(first):
		return nil, fmt.Errorf("the command begins with %q, which looks like a sixth field of time; cron has five, without seconds and without a year", first)
	}
	return e, nil
}

func (r reader) hint() string {
	if r.system {
		return "; it is read as one of the system's crontabs, which name a user before the command: if it is the crontab of a user, say --user"
	}
	return ""
}

// flags takes the flags of OpenBSD and cronie, which stand before the command.
func (e *entry) flags(text string) string {
	for {
		word, rest := cut(text)
		if len(word) < 2 || word[0] != '-' || strings.Trim(word[1:], "nqs") != "" || rest == "" {
			return text
		}
		e.single = e.single || strings.Contains(word, "s")
		text = rest
	}
}

func looksLikeField(word string) bool {
	return word == "*" || word == "?" || strings.HasPrefix(word, "*/") && strings.Trim(word[2:], "0123456789,-/") == ""
}

var errAnacron = fmt.Errorf("this is a line of an anacrontab (period, delay, name, command), which says how many days apart it runs, not at what times; " +
	"write it as a line of a crontab, such as \"0 6 * * * command\" for a period of 1 day")

var jobIdentifier = regexp.MustCompile(`^[a-z]+\.[a-z]+$`)

// anacron tells whether what follows "@monthly" is the delay and the name of an anacrontab.
func anacron(after string) bool {
	delay, rest := cut(after)
	name, _ := cut(rest)
	_, err := number(delay)
	return err == nil && jobIdentifier.MatchString(name)
}

func anacronFields(texts []string) bool {
	_, period := number(texts[0])
	_, delay := number(texts[1])
	return period == nil && delay == nil && jobIdentifier.MatchString(texts[2])
}

// systemUsers are users whom the system's crontabs name, on machines that are not this one, too.
var systemUsers = []string{"root", "www-data", "nobody", "postgres", "mysql", "apache", "nginx", "munin", "daemon", "smmsp", "list", "debian-spamd", "logcheck", "clamupdate"}

// comment before a column of users
var userColumn = regexp.MustCompile(`(?i)(dow|day of week)[ \t]+user|user-name`)

// columnTold tells whether a comment names a column of users.
func columnTold(lines []string) bool {
	for _, line := range lines {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "#") && userColumn.MatchString(trimmed) {
			return true
		}
	}
	return false
}

// eachNamesUser tells whether each entry has the name of a user before its command, as those of the system's crontabs
// do. A program may be named like a user: what has flags behind its name is one.
func eachNamesUser(lines []string, known func(string) bool) bool {
	entries := 0
	for _, line := range lines {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		if _, setting, _ := readSetting(line); setting {
			continue
		}
		rest := trimmed
		fields := len(columns)
		if strings.HasPrefix(strings.TrimPrefix(rest, "-"), "@") {
			fields = 1
		}
		for range fields {
			_, rest = cut(rest)
		}
		word, after := cut(rest)
		if after == "" || after[0] == '-' || !slices.Contains(systemUsers, word) && !known(word) {
			return false
		}
		entries++
	}
	return entries > 0
}
