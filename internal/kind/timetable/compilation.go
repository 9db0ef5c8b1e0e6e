// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"bytes"
	"container/list"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/outcome"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// compilation is what was made of one spec, each part when it was first asked for. The spec is never modified. All
// methods may be called by several goroutines at once.
type compilation struct {
	spec *v1alpha1.TimetableSpec
	// text is the spec as a compactTimetable has it, and length how much that was; nil and 0 if it came otherwise.
	text   specText
	length int

	template func() (*Template, *Obstacle)
	rule     func() (*outcome.Rule, *Obstacle)

	mu    sync.Mutex
	times *compiledTimes
}

// compiledTimes are the scheduled times of a spec, and what they were made from beside it.
type compiledTimes struct {
	calendars   []*v1alpha1.Calendar
	minInterval time.Duration

	spec              timeset.Spec
	fingerprint       string
	set               *timeset.Set
	inJitter, inTimes *Obstacle
}

func newCompilation(spec *v1alpha1.TimetableSpec) *compilation {
	return &compilation{
		spec:     spec,
		template: sync.OnceValues(func() (*Template, *Obstacle) { return ReadTemplate(spec) }),
		rule:     sync.OnceValues(func() (*outcome.Rule, *Obstacle) { return OutcomeRule(spec) }),
	}
}

// timesOf gives the scheduled times of the Timetable that the spec is of, with the Calendars as they are now. A
// Calendar that was changed, or made again, is another object in a cache.
func (c *compilation) timesOf(timetable metav1.Object, options adapter.ReadOptions, minInterval time.Duration) *compiledTimes {
	calendars := calendarsOf(timetable.GetNamespace(), c.spec, options)
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.times; t != nil && t.minInterval == minInterval && slices.Equal(t.calendars, calendars) {
		return t
	}
	t := &compiledTimes{calendars: calendars, minInterval: minInterval}
	found := map[string]*timeset.Calendar{}
	for _, calendar := range calendars {
		found[calendar.Name] = ReadCalendar(calendar)
	}
	t.spec, t.inJitter = Timing(timetable, c.spec, found, minInterval)
	t.set, t.inTimes = Times(t.spec)
	t.fingerprint = t.spec.Fingerprint()
	c.times = t
	return t
}

// Compilations keep what was made of the specs of Timetables, within a pass and from one to the next. They hold as much
// as a few thousand Timetables need, and give up what was not asked for longest. All methods may be called by several
// goroutines at once; nil keeps nothing.
type Compilations struct {
	mu    sync.Mutex
	byFor map[compiledFor]*list.Element
	// byUse has a keptCompilation for each, first that which was asked for last.
	byUse list.List
	bytes int
}

// compiledFor is the Timetable that a compilation is of: a hash in a schedule depends on the names.
type compiledFor struct {
	namespace, name string
	uid             types.UID
}

type keptCompilation struct {
	of compiledFor
	*compilation
}

// NewCompilations returns empty ones.
func NewCompilations() *Compilations {
	return &Compilations{byFor: map[compiledFor]*list.Element{}}
}

const (
	// keptBytes bounds what compilations hold.
	keptBytes = 16 << 20
	// compiledBytes is what a compilation of a small spec takes, and compiledFactor what each byte of a large one does.
	compiledBytes, compiledFactor = 4 << 10, 3
)

func (c *compilation) size() int { return compiledBytes + compiledFactor*c.length }

// get gives what was made of exactly this spec of the Timetable, nil if there is nothing.
func (c *Compilations) get(of compiledFor, text specText) *compilation {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.byFor[of]
	if found == nil {
		return nil
	}
	made := found.Value.(keptCompilation).compilation
	if !bytes.Equal(made.text, text) {
		return nil
	}
	c.byUse.MoveToFront(found)
	return made
}

// put keeps a compilation instead of an earlier one of the same Timetable.
func (c *Compilations) put(of compiledFor, made *compilation) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(c.byFor[of])
	c.byFor[of] = c.byUse.PushFront(keptCompilation{of, made})
	for c.bytes += made.size(); c.bytes > keptBytes; {
		c.drop(c.byUse.Back())
	}
}

func (c *Compilations) drop(e *list.Element) {
	if e == nil {
		return
	}
	kept := c.byUse.Remove(e).(keptCompilation)
	delete(c.byFor, kept.of)
	c.bytes -= kept.size()
}
