// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// Pulls shows how far the pulls of a node are: on a terminal as its status line, and with a line for each image that
// has come. Its methods may be called at the same time.
type Pulls struct {
	console *console.Console
	now     func() time.Time

	mu    sync.Mutex
	going []*pull // the one that began first comes first
}

type pull struct {
	began time.Time
	meter Meter
	last  Progress
	line  string
}

// NewPulls shows pulls on a console. now is time.Now if it is nil.
func NewPulls(out *console.Console, now func() time.Time) *Pulls {
	if now == nil {
		now = time.Now
	}
	return &Pulls{console: out, now: now}
}

// Progress shows how far one pull is.
func (p *Pulls) Progress(is Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.find(is.Image)
	if i < 0 {
		i = len(p.going)
		p.going = append(p.going, &pull{began: p.now()})
	}
	one := p.going[i]
	one.last, one.line = is, one.meter.Line(is, p.now())
	p.show()
}

// Ended takes a pull off the status line. One that brought something is told; why one failed is told in an event of its
// Pod.
func (p *Pulls) Ended(name string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.find(name)
	if i < 0 {
		return // it was here already
	}
	one := p.going[i]
	p.going = slices.Delete(p.going, i, i+1)
	p.show()
	if err == nil {
		p.console.Print(console.Line{Type: console.Info, Message: fmt.Sprintf("pulled %s, %s in %s", name, quantity.Bytes(one.last.BytesDone), console.FormatDuration(p.now().Sub(one.began)))})
	}
}

func (p *Pulls) find(name string) int {
	return slices.IndexFunc(p.going, func(one *pull) bool { return one.last.Image == name })
}

// show gives the status line to the pull that began first.
func (p *Pulls) show() {
	switch len(p.going) {
	case 0:
		p.console.Status("")
	case 1:
		p.console.Status(p.going[0].line)
	default:
		p.console.Status(fmt.Sprintf("%s (and %d more)", p.going[0].line, len(p.going)-1))
	}
}
