// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// The rules that came last are kept, and no more than that.
func TestRuleCache(t *testing.T) {
	var c ruleCache
	from := func(i int) source { return source{fmt.Sprint(i), "false"} }
	rules := map[int]*Rule{}
	for i := range 3*maxKept + 7 {
		if c.get(from(i)) != nil {
			t.Fatalf("%d is there already", i)
		}
		rules[i] = &Rule{}
		c.add(from(i), rules[i])
		c.add(from(i), &Rule{}) // compiled by two at once: the first one stays
		for _, j := range []int{i, i - maxKept + 1, i - maxKept} {
			if got, want := c.get(from(j)), rules[j]; j >= 0 && (i-j < maxKept) != (got == want && got != nil) {
				t.Fatalf("after %d: %d is %p, want %p", i, j, got, want)
			}
		}
		if len(c.rules) > maxKept || len(c.order) > maxKept {
			t.Fatalf("%d rules", len(c.rules))
		}
	}
}

// Whoever compiles the same expressions gets the same rule; others get another one.
func TestCompileOnce(t *testing.T) {
	rules := make([]*Rule, 8)
	var wait sync.WaitGroup
	for i := range rules {
		wait.Go(func() {
			rule, err := Compile("object.once == 1", "false")
			if err != nil {
				t.Error(err)
			}
			rules[i] = rule
		})
	}
	wait.Wait()
	for _, succeeded := range []string{"object.once == 1", "object.once == 2"} {
		rule, err := Compile(succeeded, "false")
		if err != nil {
			t.Fatal(err)
		}
		again, err := Compile(succeeded, "false")
		if err != nil || rule != again {
			t.Errorf("%s was compiled twice: %v", succeeded, err)
		}
		got, err := rule.Of(map[string]any{"once": int64(1)})
		if want := succeeded == "object.once == 1"; (got.Phase == Succeeded) != want || err != nil {
			t.Errorf("%s: %v, %v", succeeded, got, err)
		}
	}
	if _, err := Compile("x", "false"); err == nil {
		t.Error("an expression that cannot be read was taken")
	}
	if _, err := Compile("x", "false"); err == nil {
		t.Error("an expression that cannot be read was taken the second time")
	}
}

// A few characters of a regular expression can ask for many thousands of states: those are not kept with the rule, and
// it matches all the same.
func TestLargePatternsAreNotKept(t *testing.T) {
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	if _, err := Compile("object.s.matches('a')", "false"); err != nil { // what all rules share
		t.Fatal(err)
	}
	before := heap()
	rule, err := Compile("object.s.matches('^(?:"+strings.Repeat("a", 100)+"){0,200}$')", "false")
	if err != nil {
		t.Fatal(err)
	}
	if kept := int64(heap()) - int64(before); kept > 256<<10 {
		t.Errorf("the rule keeps %d bytes", kept)
	}
	for n, want := range map[int]Phase{99: Unfinished, 100: Succeeded} {
		if got, err := rule.Of(map[string]any{"s": strings.Repeat("a", n)}); got.Phase != want || err != nil {
			t.Errorf("%d: %v, %v", n, got, err)
		}
	}
}
