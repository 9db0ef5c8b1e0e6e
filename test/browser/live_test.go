// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package browser

import (
	"strings"
	"testing"
)

// job is a Job that writes a line every now and then until a file is there.
func job(name, script string) string {
	return strings.ReplaceAll(strings.ReplaceAll(`apiVersion: batch/v1
kind: Job
metadata: {name: NAME}
spec:
  backoffLimit: 0
  template: {spec: {terminationGracePeriodSeconds: 1, restartPolicy: Never, containers: [{name: main, image: host, command: [/bin/sh, -c, "SCRIPT"]}]}}
`, "NAME", name), "SCRIPT", script)
}

// What goes on appears by itself, and nothing that somebody has typed or opened is lost by it.
func TestLive(t *testing.T) {
	address := page(t)
	now := open(t, address, desk)
	now.visit("/")
	begun := evaluate[float64](now, "performance.timeOrigin")
	evaluate[bool](now, `document.querySelector("main h1").id = "kept", true`)
	apply(t, job("appears", "echo first; for n in $(seq 60); do echo line $n; sleep 0.5; done"))
	now.wantText("appears")
	if evaluate[float64](now, "performance.timeOrigin") != begun {
		t.Error("the page was loaded anew")
	}

	log := open(t, address, desk)
	log.visit("/run/default/appears")
	begun = evaluate[float64](log, "performance.timeOrigin")
	log.wantText("first", "line 7", "line 12")
	if evaluate[float64](log, "performance.timeOrigin") != begun {
		t.Error("the page was loaded anew")
	}
	if twice := strings.Count(log.text(), "line 7\n"); twice > 1 {
		t.Errorf("line 7 is there %d times", twice)
	}
	kubectl(t, dataDir(), "delete", "job", "appears")
	until(t, "the end on the page of what goes on", func() bool {
		return evaluate[int](now, `document.querySelectorAll('main a[href^="/run/default/appears"]').length`) == 0 || strings.Contains(now.text(), "cancelled")
	})
}

// What was done stays told while the page around it goes on.
func TestNoticeStays(t *testing.T) {
	address := page(t)
	apply(t, subject("told", "true"))
	b := open(t, address, desk)
	until(t, "the schedule", func() bool {
		b.visit("/act/suspend?kind=cronjob&namespace=default&name=told")
		return evaluate[bool](b, `Boolean(document.querySelector("main form[method=post]"))`)
	})
	b.follow("main form", "Suspend it")
	b.wantDone()
	if !evaluate[bool](b, `new Promise((told) => {
		document.body.addEventListener("htmx:afterSettle", () => told(Boolean(document.querySelector(".notice.done"))), {once: true});
		document.body.dispatchEvent(new CustomEvent("changed"));
	})`) {
		t.Error("once the page has been brought up to date nothing tells that it was suspended")
	}
	kubectl(t, dataDir(), "delete", "cronjob", "told")
}

// A page whose Carillon has ended says so, and goes on when there is one again.
func TestConnectionLost(t *testing.T) {
	page(t)
	address, stop := ui(t, dataDir())
	b := open(t, address, desk)
	b.visit("/")
	stop()
	until(t, "the word that it is not live", func() bool { return strings.Contains(b.text(), "not live") })
	b.mu.Lock()
	b.faults = nil // refused connections are what it is about
	b.mu.Unlock()
}
