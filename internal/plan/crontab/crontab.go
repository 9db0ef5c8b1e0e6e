// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crontab makes CronJobs, or Timetables, of a crontab: objects that run the same commands at the same times.
//
// The crontab is read as the crons of distributions do (Vixie's, as Debian has it, and cronie); where CronJobs mean
// another thing by the same text it is written anew, and what no object can say becomes a note.
//
//	crontab.go      Convert: line after line, with the comments between them
//	line.go         what a line is, and which of the two forms a crontab has
//	field.go        a field of a time, with the values that it names
//	timing.go       five fields, or a word, in the language of CronJobs
//	clockchange.go  on which days the clock makes a difference
//	environment.go  settings: NAME=value
//	command.go      the command, and its input behind a percent sign
//	name.go         a name for what has none
//	object.go       the object of an entry
//
// Nothing here reads a file, a clock or who the users of this machine are.
package crontab

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/carillon-dev/carillon/internal/plan/document"
	"github.com/carillon-dev/carillon/schedule"
)

// Form says whether the lines of a crontab name a user before the command.
type Form int

const (
	// Detect finds it out.
	Detect Form = iota
	// User is that of the crontab of a user, which names none.
	User
	// System is that of /etc/crontab and of the files in /etc/cron.d, which do.
	System
	// UserUnlessTold is System if a comment names the column of users, else User.
	UserUnlessTold
)

// A Kind is what is made of an entry.
type Kind int

const (
	// CronJob makes a CronJob, or a Timetable where a CronJob cannot say when.
	CronJob Kind = iota
	// Timetable makes a Timetable.
	Timetable
)

// An Account is a user of the machine.
type Account struct {
	// UID is the number, Home the directory; "" if it is not known.
	UID  int64
	Home string
}

// Options say how a crontab is read.
type Options struct {
	// File is what messages call it.
	File string
	Form Form
	Kind Kind
	// Zone is the name of the time zone of the machine; "" is UTC.
	Zone string
	// Now is the time from which days on which the clock makes a difference are looked for.
	Now time.Time
	// Account finds a user of the machine by name; nil if none is known.
	Account func(name string) (Account, bool)
	// User is the name of whose crontab it is, and Home his directory; "" if they are not known. Lines of the system's
	// crontabs name their own.
	User, Home string
	// IsDirectory tells whether the machine has a directory; nil takes each to be there.
	IsDirectory func(path string) bool
	// Names are those that objects of other crontabs have; nil for one that stands alone. Convert adds its own.
	Names Names
}

// A Fault is a line that cannot be read.
type Fault struct {
	File string `json:"file"`
	Line int    `json:"line"`
	// Text says what is wrong, and the cure.
	Text string `json:"text"`
}

func (f Fault) Error() string {
	return fmt.Sprintf("%s:%d: %s", document.Printable(f.File), f.Line, document.Printable(f.Text))
}

// A Result is what became of a crontab.
type Result struct {
	// Head and Tail are comments at the beginning and at the end.
	Head, Tail []string
	// Documents are the objects, in the order of the lines.
	Documents []document.Document
	// Notes are what the user should know, in the order of the lines. Those of an object are among its comments, too.
	Notes []document.Note
	// Faults are the lines that cannot be read. They are comments where they stood.
	Faults []Fault
}

// Convert reads a crontab. The same crontab with the same options gives the same result.
func Convert(text string, o Options) Result {
	o.Zone = cmp.Or(o.Zone, "UTC")
	c := &converter{options: o, names: o.Names, zone: o.Zone}
	if c.names == nil {
		c.names = Names{}
	}
	text = strings.TrimPrefix(text, "\ufeff")
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	c.system = o.Form == System
	if o.Form == Detect || o.Form == UserUnlessTold {
		c.detect(lines)
	}
	for n, line := range lines {
		c.line(n+1, line)
	}
	c.result.Tail = c.pending
	if len(c.result.Documents) == 0 && len(c.result.Faults) == 0 {
		c.note(0, "there is no entry in it")
	}
	return c.result
}

// A converter goes through the lines of a crontab.
type converter struct {
	options Options
	result  Result
	names   Names
	system  bool
	// environment, zone and delay (in minutes) are what the settings above a line say.
	environment environment
	zone        string
	delay       int
	// pending are comments for the next object.
	pending []string
	// example tells that the comment gives an example; mailed and literal, what has been told already.
	example, mailed, literal bool
	// begun tells that there was an entry.
	begun bool
}

// detect finds out which form a crontab has, and tells what was taken.
func (c *converter) detect(lines []string) {
	told := columnTold(lines)
	each := eachNamesUser(lines, func(name string) bool {
		_, ok := c.account(name)
		return ok
	})
	c.system = told || each && c.options.Form == Detect
	switch {
	case told:
		c.note(0, "each line is taken to name a user before the command, because a comment names a column for it; if that is wrong, say --user")
	case c.system:
		c.note(0, "each line is taken to name a user before the command, because each line names one there; if that is wrong, say --user")
	case each:
		c.note(0, "it is taken for the crontab of a user, although each command begins like the name of one; if that is wrong, say --system")
	}
}

func (c *converter) account(name string) (Account, bool) {
	if c.options.Account == nil {
		return Account{}, false
	}
	return c.options.Account(name)
}

func (c *converter) note(line int, text string) {
	c.result.Notes = append(c.result.Notes, document.Note{File: c.options.File, Line: line, Text: text})
}

// tell is a note that stands among the comments, too.
func (c *converter) tell(line int, text string) {
	c.note(line, text)
	c.pending = append(c.pending, c.result.Notes[len(c.result.Notes)-1].Comment()...)
}

func (c *converter) fault(line int, text string, err error) {
	c.result.Faults = append(c.result.Faults, Fault{File: c.options.File, Line: line, Text: err.Error()})
	c.pending = append(c.pending, strings.TrimSpace(text))
	c.pending = append(c.pending, document.Wrap("Not converted: "+err.Error(), "  ")...)
}

var errNoText = errors.New("the line is not UTF-8 text, which is all that an object of Kubernetes can hold; convert it: iconv -f latin1 -t utf8")

func (c *converter) line(number int, line string) {
	trimmed := strings.TrimSpace(line)
	switch {
	case trimmed == "":
		c.blank()
		return
	case trimmed[0] == '#':
		c.comment(number, trimmed)
		return
	}
	if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
		c.fault(number, line, errNoText)
		return
	}
	if s, ok, err := readSetting(line); ok {
		c.head()
		if err == nil {
			err = c.setting(number, s)
		}
		if err != nil {
			c.fault(number, line, err)
		}
		return
	}
	c.begun = true
	e, err := reader{c.system}.entry(number, line)
	switch {
	case err != nil:
		c.fault(number, line, err)
	case e.timing.reboot:
		c.pending = append(c.pending, e.text)
		c.tell(number, "@reboot is no time, and nothing was made of it: a service of the machine does that "+
			"(systemd: WantedBy=multi-user.target); for work that is to run once, write a Job")
	default:
		c.add(e)
	}
	c.example = false
}

// blank ends the comment at the head of the file; between comments it stays.
func (c *converter) blank() {
	c.example = false
	if c.head(); len(c.pending) > 0 && c.pending[len(c.pending)-1] != "" {
		c.pending = append(c.pending, "")
	}
}

// head takes the comments so far as those of the whole file, if nothing but settings stands above.
func (c *converter) head() {
	if len(c.pending) == 0 || len(c.result.Documents) > 0 || len(c.result.Faults) > 0 || c.begun {
		return
	}
	if len(c.result.Head) > 0 {
		c.result.Head = append(c.result.Head, "")
	}
	c.result.Head, c.pending = append(c.result.Head, c.pending...), nil
}

var examples = regexp.MustCompile(`(?i)\b(example|e\.g\.|for instance)`)

func (c *converter) comment(number int, line string) {
	text := strings.TrimPrefix(strings.TrimPrefix(line, "#"), " ")
	c.pending = append(c.pending, text)
	if examples.MatchString(text) {
		c.example = true
	}
	if c.example {
		return
	}
	if disabled(text, c.system) {
		c.tell(number, "this entry is switched off by a #, and stays a comment")
	}
}

// disabled tells whether a comment is an entry that somebody has switched off.
func disabled(text string, system bool) bool {
	text = strings.TrimLeft(text, "# \t")
	if text == "" || !strings.ContainsRune("*0123456789@-", rune(text[0])) {
		return false
	}
	e, err := reader{system}.entry(0, text)
	return err == nil && e.command.text != ""
}

// setting takes a line NAME=value.
func (c *converter) setting(number int, s setting) error {
	switch s.name {
	case "CRON_TZ":
		if s.value == "" {
			c.zone = c.options.Zone
			return nil
		}
		if _, err := schedule.LoadZone(s.value); err != nil || strings.EqualFold(s.value, "local") {
			return fmt.Errorf("CRON_TZ: %q is no time zone; write a name such as Europe/Rome", s.value)
		}
		c.zone = s.value
		return nil
	case "RANDOM_DELAY":
		delay, err := minutes(s.value)
		if err != nil {
			return fmt.Errorf("RANDOM_DELAY: %q is no number of minutes up to 1440", s.value)
		}
		c.delay = delay
		if delay > 0 && c.options.Kind == CronJob {
			c.tell(number, fmt.Sprintf("RANDOM_DELAY is not kept, because a CronJob has no such thing; with --kind timetable it becomes jitter: %dm", delay))
		}
		return nil
	case "MAILTO":
		if s.value != "" && !c.mailed {
			c.mailed = true
			c.tell(number, "nothing is mailed to "+s.value+". What each run writes is kept: \"carillon kubectl logs job/NAME\". "+
				"Who wants to hear of failures watches the metrics of carillon up, or lets the command tell: cmd || mail -s failed "+strings.ReplaceAll(s.value, ",", " "))
		}
		return nil
	case "LOGNAME", "USER":
		if s.value != c.options.User {
			c.tell(number, "cron sets "+s.name+" itself, to who runs the command, and so do we: this line does nothing")
		}
		return nil
	case "TZ":
		if _, err := schedule.LoadZone(s.value); err == nil && s.value != "" && s.value != c.zone {
			c.tell(number, "TZ is what the commands see; most crons do not look at it for the times, and so do we. "+
				"If yours does, write CRON_TZ="+s.value+" in its place")
		}
	}
	if strings.Contains(s.value, "$") && !c.literal {
		c.literal = true
		c.tell(number, s.name+": cron puts in no variables here, and neither do we: the $ stays as it is")
	}
	c.environment = c.environment.with(s)
	return nil
}

func minutes(text string) (int, error) {
	n, err := number(text)
	if err == nil && n > 1440 {
		err = fmt.Errorf("too large")
	}
	return n, err
}
