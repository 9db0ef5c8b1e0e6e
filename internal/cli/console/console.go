// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package console writes what happens for a person at a terminal, or as one JSON object a line for a
// program. It decides only how things look; package follow decides what is worth saying.
package console

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// Format is how lines look.
type Format string

// The formats that -o takes.
const (
	Text Format = "text"
	JSON Format = "json"
)

// Type says what a line is about. Programs may switch on it.
type Type string

// The types of lines.
const (
	Step     Type = "step"     // a part of Carillon is up; Duration tells how long it took
	Applied  Type = "applied"  // an object of a manifest was created or changed
	Due      Type = "due"      // a CronJob's next scheduled time
	Started  Type = "started"  // a Job began
	Output   Type = "output"   // a line that a container wrote
	Finished Type = "finished" // a Job ended; Outcome tells how
	Warning  Type = "warning"  // something that the user should look at
	Info     Type = "info"     // anything else
)

// The outcomes of a finished Job.
const (
	Complete = "complete"
	Failed   = "failed"
)

// Line is one thing that happened. The JSON field names are a promise to programs.
type Line struct {
	Time     time.Time     `json:"time"`
	Type     Type          `json:"type"`
	Object   string        `json:"object,omitempty"`          // "job/default/hello-1", "pod/default/hello-1-x2k9q"
	Source   string        `json:"container,omitempty"`       // of an output line
	Due      *time.Time    `json:"due,omitempty"`             // the scheduled time
	Resumed  bool          `json:"resumed,omitempty"`         // a Job that had begun before this Carillon
	Duration time.Duration `json:"-"`                         // of a step or a run
	Seconds  float64       `json:"durationSeconds,omitempty"` // Duration, for programs
	Outcome  string        `json:"outcome,omitempty"`         // complete, failed
	Reason   string        `json:"reason,omitempty"`          // Kubernetes' own word, as in conditions and events
	Message  string        `json:"message,omitempty"`
}

// Options of a Console. The zero value writes text without colour.
type Options struct {
	Format Format
	Quiet  bool // only output, warnings and failures
	Color  bool
	// Raw writes containers' output as it is, without prefix, to RawTo.
	RawTo io.Writer
	Now   func() time.Time // nil: time.Now
}

// Console writes lines, each whole, in the order of the calls. Safe for concurrent use.
type Console struct {
	mu   sync.Mutex
	w    io.Writer
	opts Options
}

// New returns a Console that writes to w.
func New(w io.Writer, opts Options) *Console {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Format == "" {
		opts.Format = Text
	}
	return &Console{w: w, opts: opts}
}

// Colorful tells whether w is a terminal whose user did not ask for plain text
// (https://no-color.org).
func Colorful(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Say writes one line. A zero Time is now.
func (c *Console) Say(l Line) {
	if l.Time.IsZero() {
		l.Time = c.opts.Now()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.Type == Output && c.opts.RawTo != nil {
		fmt.Fprintln(c.opts.RawTo, l.Message)
		return
	}
	if c.opts.Quiet && !loud(l) {
		return
	}
	if c.opts.Format == JSON {
		l.Seconds = l.Duration.Seconds()
		// Nothing of a Line can fail to encode; a closed terminal is noticed by its own signal.
		_ = json.NewEncoder(c.w).Encode(l)
		return
	}
	fmt.Fprintln(c.w, c.text(l))
}

func loud(l Line) bool {
	return l.Type == Output || l.Type == Warning || (l.Type == Finished && l.Outcome == Failed)
}

const (
	dim    = "2"
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// prefixColors tell the outputs of runs apart at a glance; red, green and yellow have meanings.
var prefixColors = []string{"36", "35", "34", "96", "95", "94"}

func (c *Console) paint(color, s string) string {
	if !c.opts.Color || s == "" {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}

func (c *Console) text(l Line) string {
	clock := c.paint(dim, l.Time.Local().Format("15:04:05"))
	name := shortName(l.Object)
	switch l.Type {
	case Step:
		return fmt.Sprintf("%s %s %s %s", clock, c.paint(green, "✓"), l.Message, c.paint(dim, Short(l.Duration)))
	case Due:
		return fmt.Sprintf("%s %s %s %s", clock, c.paint(dim, "◷"), c.paint(bold, name), c.due(l))
	case Started:
		verb := "started"
		if l.Resumed {
			verb = "goes on"
		}
		s := fmt.Sprintf("%s %s %s %s", clock, c.paint(bold, "▶"), c.paint(bold, name), verb)
		if l.Message != "" {
			s += " " + c.paint(dim, l.Message)
		}
		return s
	case Output:
		return fmt.Sprintf("%s   %s %s", clock, c.paint(prefixColor(l.Source), l.Source+" │"), l.Message)
	case Finished:
		if l.Outcome == Failed {
			return fmt.Sprintf("%s %s %s %s after %s: %s", clock, c.paint(red, "✗"), c.paint(bold, name), c.paint(red, "failed"), Short(l.Duration), reason(l))
		}
		return fmt.Sprintf("%s %s %s %s in %s", clock, c.paint(green, "✓"), c.paint(bold, name), c.paint(green, "complete"), Short(l.Duration))
	case Warning:
		return fmt.Sprintf("%s %s %s %s", clock, c.paint(yellow, "!"), c.paint(bold, name), reason(l))
	case Applied:
		return fmt.Sprintf("%s   %s %s", clock, name, l.Message)
	default:
		if name != "" {
			return fmt.Sprintf("%s   %s %s", clock, name, l.Message)
		}
		return fmt.Sprintf("%s   %s", clock, l.Message)
	}
}

func (c *Console) due(l Line) string {
	if l.Due == nil {
		return l.Message
	}
	in := l.Due.Sub(l.Time)
	s := fmt.Sprintf("next run %s %s", l.Due.Format("2006-01-02 15:04:05 -07:00"), c.paint(dim, "(in "+Short(in)+")"))
	if l.Message != "" {
		s += " " + c.paint(dim, l.Message)
	}
	return s
}

func reason(l Line) string {
	switch {
	case l.Reason == "":
		return l.Message
	case l.Message == "":
		return l.Reason
	}
	return l.Reason + ": " + l.Message
}

// shortName drops the namespace default: "job/default/hello" reads as "job/hello".
func shortName(object string) string {
	return strings.Replace(object, "/default/", "/", 1)
}

func prefixColor(s string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s)) // never fails
	return prefixColors[h.Sum32()%uint32(len(prefixColors))]
}

// Short writes a duration with two or three digits: "38ms", "2.1s", "1m40s", "3h20m", "2d4h".
func Short(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return strings.TrimSuffix(d.Round(time.Second).String(), "m0s") + minuteTail(d)
	case d < 48*time.Hour:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		d = d.Round(time.Hour)
		return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
	}
}

func minuteTail(d time.Duration) string {
	if d.Round(time.Second)%time.Minute == 0 {
		return "m"
	}
	return ""
}
