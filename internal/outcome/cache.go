// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome

import "sync"

// maxKept is how many rules are kept: each has some 4 KB.
const maxKept = 512

// source is what a rule was compiled from.
type source struct{ succeeded, failed string }

// ruleCache keeps the rules that were compiled last. A rule is asked for at each look at a child and takes half a
// millisecond to compile, and many Timetables have the same expressions.
type ruleCache struct {
	mu    sync.Mutex
	rules map[source]*Rule
	// order are the sources in the order in which they came, oldest is where the oldest stands once there are maxKept.
	order  []source
	oldest int
}

// kept are the rules of this process. A rule is immutable and follows from its source, so nobody can tell whether it
// was compiled for him.
var kept ruleCache

// get gives the rule of a source, nil if there is none.
func (c *ruleCache) get(from source) *Rule {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rules[from]
}

// add keeps a rule, and lets the one go that came first, if there are too many.
func (c *ruleCache) add(from source, rule *Rule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.rules == nil:
		c.rules = map[source]*Rule{}
	case c.rules[from] != nil:
		return
	}
	c.rules[from] = rule
	if len(c.order) < maxKept {
		c.order = append(c.order, from)
		return
	}
	delete(c.rules, c.order[c.oldest])
	c.order[c.oldest] = from
	c.oldest = (c.oldest + 1) % maxKept
}
