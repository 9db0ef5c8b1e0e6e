// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strconv"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// mostTabs is how many attempts have a tab.
const mostTabs = 8

// tab leads to the output of an attempt.
type tab struct {
	Text, URL   string
	Class, Icon string
	Current     bool
}

// tabs lead to the outputs, the newest first.
func (k *known) tabs(q query, current string) []tab {
	if len(k.attempts) < 2 {
		return nil
	}
	names := map[string]bool{}
	for i := range k.attempts {
		names[k.attempts[i].Container] = true
	}
	var all []tab
	to := q.end()
	add := func(i int) {
		a := &k.attempts[i]
		to.Attempt = a.ContainerID
		class, icon, _ := ended(a)
		text := "Attempt " + strconv.Itoa(k.numbers[i])
		if len(names) > 1 {
			text += " · " + a.Container
		}
		all = append(all, tab{Text: text, URL: to.url(&k.run), Class: class, Icon: icon, Current: a.ContainerID == current})
	}
	shown := k.find(current)
	for i := len(k.attempts) - 1; i >= 0 && len(all) < mostTabs; i-- {
		if len(all) == mostTabs-1 && shown >= 0 && shown < i {
			i = shown
		}
		add(i)
	}
	to.Attempt = together
	return append(all, tab{Text: "All together", URL: to.url(&k.run), Current: current == together})
}

// writers name who wrote, as shortly as they can be told apart.
func writers(attempts []run.Attempt) []string {
	pods, containers := map[string]bool{}, map[string]bool{}
	for i := range attempts {
		pods[attempts[i].Pod], containers[attempts[i].Container] = true, true
	}
	var names []string
	for i := range attempts {
		a := &attempts[i]
		switch {
		case len(pods) == 1:
			names = append(names, a.Container)
		case len(containers) == 1:
			names = append(names, a.Pod)
		default:
			names = append(names, a.Pod+"/"+a.Container)
		}
	}
	return names
}
