// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import "testing"

// Replace leaves what was started by hand alone, and a suspended manual run does not hold up Forbid, nor does it when
// it is suspended later: the run that it held up starts then.
func TestManualRuns(t *testing.T) {
	for _, letter := range []string{"K", "T"} {
		t.Run(letter+" Replace", func(t *testing.T) {
			a := serve(t, letter)
			a.has(run{at: "12:05:00", name: "by-hand"})
			a.put(a.cronJob("tick", set("concurrencyPolicy", "Replace")))
			a.until("12:21:00")
			if a.jobs["by-hand"] == nil || a.calls["create tick"] != 2 {
				t.Errorf("by-hand is there: %v; the calls were %v", a.jobs["by-hand"] != nil, a.calls)
			}
			told := 0
			for _, e := range a.told {
				if e.Reason == "ManualJobActive" {
					told += int(max(1, e.Count))
				}
			}
			if told != 2 {
				t.Errorf("told %d times of the manual run, want once for each run", told)
			}
		})
		t.Run(letter+" Forbid", func(t *testing.T) {
			a := serve(t, letter)
			a.has(run{at: "12:05:00", name: "by-hand"})
			a.put(a.cronJob("tick", set("concurrencyPolicy", "Forbid")))
			a.until("12:12:00")
			if n := a.calls["create tick"]; n != 0 {
				t.Errorf("%d runs beside a manual one that runs", n)
			}
			before, after := a.child.new(), a.child.new()
			a.convert(a.jobs["by-hand"], before)
			a.jobs["by-hand"]["spec"] = map[string]any{"suspend": true}
			a.convert(a.jobs["by-hand"], after)
			if !a.matters(a.child, before, after) {
				t.Error("that it was suspended does not matter")
			}
			a.version++
			a.pending[tickKey] = a.time.Now()
			a.until("12:13:00")
			if n := a.calls["create tick"]; n != 1 {
				t.Errorf("%d runs after the manual one was suspended, want the one of 12:10", n)
			}
		})
	}
}
