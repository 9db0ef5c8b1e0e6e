// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package console writes what happens for a person at a terminal, or as one JSON object a line for a
// program. It decides only how things look; package follow decides what is worth saying.
//
// Two things are promised about it. No container, event or object can write a line that looks like one of
// ours: what a terminal would obey is made visible (visible.go). And a terminal that does not take what is
// written stops nothing but the writing (queue.go).
package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strings"
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
	Page     Type = "page"     // the page is served; Message is its address, with the token
	Info     Type = "info"     // anything else
)

// The outcomes of a finished Job.
const (
	Complete = "complete"
	Failed   = "failed"
)

// FormatFlag is the value of a flag that chooses a Format.
type FormatFlag struct{ Format *Format }

// String implements pflag.Value.
func (f FormatFlag) String() string {
	if f.Format == nil {
		return ""
	}
	return string(*f.Format)
}

// Type implements pflag.Value.
func (f FormatFlag) Type() string { return "format" }

// Set implements pflag.Value.
func (f FormatFlag) Set(s string) error {
	switch Format(s) {
	case Text, JSON:
		*f.Format = Format(s)
		return nil
	}
	return errors.New("it is text or json")
}

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
	// End is what follows the Message of an output line: its line ending, or nothing when more of the same line comes.
	// Only raw output shows it.
	End string `json:"-"`
}

// Options of a Console. The zero value writes text without colour.
type Options struct {
	Format Format
	Quiet  bool // only output, warnings and failures
	Color  bool
	// OutputTo gets containers' output; nil: where everything goes.
	OutputTo io.Writer
	// Raw gives OutputTo the output as it is, byte for byte and without prefix.
	Raw bool
	// WaitForReader makes Print wait with output while nobody reads, until StopWaiting, instead of leaving lines out.
	WaitForReader bool
	// Width tells how wide the terminal is that everything goes to, and that Status may be shown; nil: it is none.
	Width func() int
	Now   func() time.Time // nil: time.Now
}

// Console writes lines, each whole, in the order of the calls. Safe for concurrent use. What is said about
// containers is never waited for; their output is, as long as somebody reads.
type Console struct {
	queue *queue
	w     io.Writer
	opts  Options
}

// New returns a Console that writes to w.
func New(w io.Writer, opts Options) *Console {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Format == "" {
		opts.Format = Text
	}
	c := &Console{w: w, opts: opts}
	c.queue = newQueue(w, opts.WaitForReader, func(dropped int) chunk {
		return c.render(Line{Time: opts.Now(), Type: Warning, Message: fmt.Sprintf("%d lines are not shown: nobody read them in time", dropped)})
	})
	return c
}

// ReaderGone is closed when the reader is gone: the terminal was closed, or the other end of the pipe.
func (c *Console) ReaderGone() <-chan struct{} { return c.queue.gone }

// ReaderError says, after ReaderGone, what writing met.
func (c *Console) ReaderError() error {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	return c.queue.readerErr
}

// Blocked tells whether much waits to be read.
func (c *Console) Blocked() bool { return c.queue.blocked() }

// StopWaiting ends Options.WaitForReader: from now on Print waits with output only as long as somebody reads. It is for
// a stop, which must not depend on a reader.
func (c *Console) StopWaiting() { c.queue.stopWaiting() }

// Close waits until all that was said is written, and takes nothing more. When ctx has ended it waits no longer than
// somebody reads. The error says how much was not written, and why.
func (c *Console) Close(ctx context.Context) error {
	unwritten, failure := c.queue.close(ctx)
	switch {
	case failure != nil:
		return fmt.Errorf("not all could be written: %w", failure)
	case unwritten > 0:
		return fmt.Errorf("%d lines were not written: nobody read them", unwritten)
	}
	return nil
}

// IsTerminal tells whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// SupportsColor tells whether w is a terminal whose user did not ask for plain text
// (https://no-color.org).
func SupportsColor(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Print writes one line. A zero Time is now.
func (c *Console) Print(l Line) {
	if l.Time.IsZero() {
		l.Time = c.opts.Now()
	}
	if c.opts.Quiet && !shownWhenQuiet(l) {
		return
	}
	// Lines leave in the order of the calls. Those who wait for room with output hold up other output only.
	c.queue.put(c.render(l), l.Type == Output)
}

// render is the line as it is written, and where.
func (c *Console) render(l Line) chunk {
	switch {
	case l.Type == Output && c.opts.Raw && c.opts.OutputTo != nil:
		return chunk{c.opts.OutputTo, []byte(l.Message + l.End)}
	case l.Type == Output && c.opts.OutputTo != nil:
		return chunk{c.opts.OutputTo, []byte(c.text(l) + "\n")}
	case c.opts.Format == JSON:
		l.Seconds = l.Duration.Seconds()
		var b bytes.Buffer
		_ = json.NewEncoder(&b).Encode(l) // nothing of a Line can fail to encode
		return chunk{c.w, escaped(b.Bytes())}
	}
	return chunk{c.w, []byte(c.text(l) + "\n")}
}

func shownWhenQuiet(l Line) bool {
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
	if l.Type == Output {
		l.Message = overwritten(l.Message)
	} else {
		l.Message = oneLine(l.Message)
	}
	l.Object, l.Source, l.Reason, l.Message = EscapeControls(l.Object), EscapeControls(l.Source), EscapeControls(l.Reason), EscapeControls(l.Message)
	name := shortName(l.Object)
	switch l.Type {
	case Step:
		return fmt.Sprintf("%s %s %s %s", clock, c.paint(green, "✓"), l.Message, c.paint(dim, FormatDuration(l.Duration)))
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
			return fmt.Sprintf("%s %s %s %s after %s: %s", clock, c.paint(red, "✗"), c.paint(bold, name), c.paint(red, "failed"), FormatDuration(l.Duration), reason(l))
		}
		return fmt.Sprintf("%s %s %s %s in %s", clock, c.paint(green, "✓"), c.paint(bold, name), c.paint(green, "complete"), FormatDuration(l.Duration))
	case Warning:
		return fmt.Sprintf("%s %s %s %s", clock, c.paint(yellow, "!"), c.paint(bold, name), reason(l))
	case Page:
		return fmt.Sprintf("%s   page: %s", clock, c.paint(bold, l.Message))
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
	s := fmt.Sprintf("next run %s %s", l.Due.Format("2006-01-02 15:04:05 -07:00"), c.paint(dim, "(in "+FormatDuration(in)+")"))
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

// PaintSource colours what names the source of a line, as the lines of containers have it. The same text has always the
// same colour.
func PaintSource(s string) string { return "\x1b[" + prefixColor(s) + "m" + s + "\x1b[0m" }

func prefixColor(s string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s)) // never fails
	return prefixColors[h.Sum32()%uint32(len(prefixColors))]
}

// FormatDuration writes a duration with two or three digits: "38ms", "2.1s", "1m40s", "3h20m", "2d4h".
func FormatDuration(d time.Duration) string {
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
