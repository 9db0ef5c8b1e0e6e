// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// hand is how somebody acts on a page: he chooses the first of what a CSS selector names.
type hand struct {
	window window
	choose func(b *tab, selector string)
}

// hands are those of people who act.
var hands = map[string]hand{
	"with a mouse":      {desk, (*tab).click},
	"by keyboard alone": {desk, (*tab).reach},
	"without scripts":   {window{width: 1280, height: 900, noScripts: true}, (*tab).click},
	"on a phone":        {phone, (*tab).click},
}

// reach goes with the tab key to the first of what a CSS selector names, and presses Enter. What has the focus must be
// seen to have it.
func (b *tab) reach(selector string) {
	b.t.Helper()
	const most = 300
	evaluate[bool](b, "document.activeElement && document.activeElement.blur(), true")
	for range most {
		b.do(chromedp.KeyEvent(kb.Tab))
		if !evaluate[bool](b, fmt.Sprintf("Boolean(document.activeElement && document.activeElement === document.querySelector(%q))", selector)) {
			continue
		}
		if !evaluate[bool](b, `(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1; })()`) {
			b.t.Errorf("%s has the focus, and nobody sees it, on %s", selector, b.address())
		}
		before := evaluate[float64](b, "performance.timeOrigin")
		b.do(chromedp.KeyEvent(kb.Enter))
		b.settle(before)
		return
	}
	b.t.Fatalf("%d times the tab key do not lead to %s on %s:\n%s", most, selector, b.address(), b.text())
}

// apply makes objects.
func apply(t *testing.T, manifest string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, dataDir(), "apply", "-f", file)
}

// subject is a CronJob for acts: it starts nothing by itself.
func subject(name, script string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: CronJob
metadata: {name: %s}
spec:
  schedule: "0 5 1 1 *"
  failedJobsHistoryLimit: 10
  jobTemplate:
    spec:
      backoffLimit: 0
      template: {spec: {terminationGracePeriodSeconds: 1, restartPolicy: Never, containers: [{name: main, image: host, command: [/bin/sh, -c, %q], env: [{name: TARGET, value: all}]}]}}
`, name, script)
}

// confirm presses the button of the page that says what will happen, and waits for the word that it has happened.
func (h hand) confirm(b *tab) {
	b.t.Helper()
	if text := b.text(); len(text) < 100 {
		b.t.Errorf("%s does not say what will happen: %s", b.address(), text)
	}
	b.wantAccessible()
	h.choose(b, `main form[method=post] button:is(.primary, .danger)`)
	b.wantDone()
}

// wantDone waits for the word that something has been done.
func (b *tab) wantDone() {
	b.t.Helper()
	b.wait("the word that it is done", func() bool {
		return evaluate[bool](b, `Boolean(document.querySelector(".acted .notice.done"))`)
	})
}

// Each act does what its page says, however somebody acts.
func TestActs(t *testing.T) {
	address := page(t)
	data := dataDir()
	number := 0
	for name, h := range hands {
		number++
		prefix := fmt.Sprintf("act-%d", number)
		t.Run(name, func(t *testing.T) {
			get := func(what, path string) string {
				return kubectl(t, data, "get", what, "--ignore-not-found", "-o", "jsonpath="+path)
			}
			apply(t, subject(prefix, "echo target is $TARGET")+"---\n"+subject(prefix+"-fails", "exit 7")+"---\n"+subject(prefix+"-long", "exec sleep 600"))
			at := "/schedule/cronjob/default/" + prefix
			b := open(t, address, h.window)
			jobs := func(of string) []string {
				return strings.Fields(kubectl(t, data, "get", "jobs", "-o", fmt.Sprintf(`jsonpath={range .items[?(@.metadata.ownerReferences[0].name==%q)]}{.metadata.name} {end}`, of)))
			}
			t.Run("run now, with another value", func(t *testing.T) {
				b.t = t
				until(t, "the schedule", func() bool { b.visit(at); return strings.Contains(b.text(), prefix) })
				h.choose(b, `main a[href^="/act/run-now"]`)
				b.do(chromedp.SetValue(`main form input[value="all"], main form textarea`, "nobody"))
				h.confirm(b)
				var made []string
				until(t, "its Job", func() bool { made = jobs(prefix); return len(made) == 1 })
				until(t, "its end", func() bool { return get("job/"+made[0], "{.status.succeeded}") == "1" })
				if out := kubectl(t, data, "logs", "job/"+made[0]); out != "target is nobody\n" {
					t.Errorf("it wrote %q", out)
				}
			})
			t.Run("suspend and resume", func(t *testing.T) {
				b.t = t
				for _, act := range []struct{ name, want string }{{"suspend", "true"}, {"resume", "false"}} {
					b.visit(at)
					until(t, act.name, func() bool {
						b.visit(at)
						return evaluate[bool](b, fmt.Sprintf(`Boolean(document.querySelector('main a[href^="/act/%s"]'))`, act.name))
					})
					h.choose(b, `main a[href^="/act/`+act.name+`"]`)
					h.confirm(b)
					if got := get("cronjob/"+prefix, "{.spec.suspend}"); got != act.want {
						t.Errorf("%s: suspend is %q", act.name, got)
					}
				}
			})
			t.Run("edit", func(t *testing.T) {
				b.t = t
				b.visit(at)
				h.choose(b, `main a[href^="/act/edit"]`)
				b.do(chromedp.SetValue(`main form input[name="schedule"]`, "30 6 31 * 5"))
				h.choose(b, `main .actions button[value="preview"]`)
				b.wantText("Friday")
				b.wantAccessible()
				h.choose(b, `main .actions button[value="save"]`)
				b.wantDone()
				if got := get("cronjob/"+prefix, "{.spec.schedule}"); got != "30 6 31 * 5" {
					t.Errorf("its schedule is %q", got)
				}
			})
			t.Run("retry", func(t *testing.T) {
				b.t = t
				kubectl(t, data, "create", "job", prefix+"-failed", "--from=cronjob/"+prefix+"-fails")
				until(t, "its failure", func() bool { return get("job/"+prefix+"-failed", "{.status.failed}") == "1" })
				until(t, "retry", func() bool {
					b.visit("/run/default/" + prefix + "-failed")
					return evaluate[bool](b, `Boolean(document.querySelector('main a[href^="/act/retry"]'))`)
				})
				h.choose(b, `main a[href^="/act/retry"]`)
				h.confirm(b)
				until(t, "another Job", func() bool { return len(jobs(prefix+"-fails")) == 2 })
			})
			t.Run("stop", func(t *testing.T) {
				b.t = t
				kubectl(t, data, "create", "job", prefix+"-runs", "--from=cronjob/"+prefix+"-long")
				until(t, "its Pod", func() bool { return get("job/"+prefix+"-runs", "{.status.ready}") == "1" })
				until(t, "stop", func() bool {
					b.visit("/run/default/" + prefix + "-runs")
					return evaluate[bool](b, `Boolean(document.querySelector('main a[href^="/act/stop"]'))`)
				})
				h.choose(b, `main a[href^="/act/stop"]`)
				h.confirm(b)
				until(t, "its end", func() bool {
					return strings.TrimSpace(kubectl(t, data, "get", "pods", "-l", "job-name="+prefix+"-runs", "--field-selector=status.phase=Running", "-o", "name")) == ""
				})
			})
			t.Run("delete", func(t *testing.T) {
				b.t = t
				b.visit(at)
				h.choose(b, `main a[href^="/act/delete"]`)
				h.confirm(b)
				until(t, "its end", func() bool { return get("cronjob/"+prefix, "{.metadata.name}") == "" })
			})
			kubectl(t, data, "delete", "cronjob", prefix+"-fails", prefix+"-long")
		})
	}
}

// Where nothing may be changed, nothing offers it.
func TestReadOnly(t *testing.T) {
	page(t)
	b := open(t, started.readOnly, desk)
	for _, at := range places {
		b.visit(at)
		if offered := evaluate[int](b, `document.querySelectorAll('a[href^="/act/"], form[method=post]:not([action^="/settings"]):not([action^="/logout"])').length`); offered != 0 {
			t.Errorf("%s offers %d acts", at, offered)
		}
	}
	b.wantText("read only")
}

// Whoever stands at a keyboard comes from anywhere to anywhere.
func TestKeys(t *testing.T) {
	b := open(t, page(t), desk)
	b.visit("/")
	b.do(chromedp.KeyEvent(kb.Tab))
	if at := evaluate[string](b, "document.activeElement.className"); at != "skip" {
		t.Errorf("the first thing that the tab key reaches is %q", at)
	}
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Tab))
	if !evaluate[bool](b, `Boolean(document.activeElement.closest("main"))`) {
		t.Error("the skip link does not lead to the content")
	}
	b.do(chromedp.KeyEvent("/"), chromedp.KeyEvent("warehouse"))
	before := evaluate[float64](b, "performance.timeOrigin")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.settle(before)
	b.wantText("warehouse")
	for key, want := range map[string]string{"t": "/timeline", "f": "/fleet", "s": "/schedules", "x": "/simulate", "n": "/"} {
		b.visit("/settings")
		b.do(chromedp.KeyEvent("g"), chromedp.KeyEvent(key))
		until(t, "g "+key, func() bool { return strings.HasPrefix(b.address(), want) })
	}
}
