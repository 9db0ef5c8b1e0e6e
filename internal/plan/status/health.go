// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// State is how a part is.
type State string

// The states.
const (
	Well    State = "Well"
	Wrong   State = "Wrong"
	Unknown State = "Unknown" // it may not be asked, or does not tell
)

// Part is one of the parts that runs depend on.
type Part struct {
	// Name is "control plane", "node", "controllers" or "journal".
	Name  string
	State State
	// Text says how it is, Cure what to do about it if it is wrong; "" if nothing helps that could be said.
	Text, Cure string
	// brief says in a few words what is wrong.
	brief string
}

const (
	// lagging is how long a container that has ended may wait for the journal.
	lagging = time.Minute
	// leastDiskFree is how much of the disk must be free for a store that is written to.
	leastDiskFree = 256 << 20
	// leaseGrace is how much longer than it says a lease counts: clocks differ.
	leaseGrace = 15 * time.Second
)

// parts says how each part is.
func (f *Facts) parts(now time.Time) []Part {
	if f.Carillon != nil && !f.Carillon.Running {
		parts := []Part{f.notRunning(now)}
		if f.Journal != nil {
			parts = append(parts, f.Journal.part(now))
		}
		return parts
	}
	var parts []Part
	if f.API != nil {
		parts = append(parts, f.controlPlane())
		if len(f.Nodes) > 0 || f.NodesUnread != "" || f.API.Error == "" {
			parts = append(parts, f.nodes(now))
		}
	}
	for i := range f.Leases {
		if part, told := f.Leases[i].part(now); told {
			parts = append(parts, part)
		}
	}
	if f.Journal != nil {
		parts = append(parts, f.Journal.part(now))
	}
	return parts
}

func (f *Facts) notRunning(now time.Time) Part {
	text := "the Carillon on " + f.Carillon.DataDir + " does not run"
	if last := f.Carillon.LastSign; !last.IsZero() {
		text += fmt.Sprintf(" since %s (%s)", last.UTC().Format("2006-01-02 15:04Z"), duration.FromNow(last, now))
	}
	return Part{Name: "control plane", State: Wrong, Text: text + "; nothing starts", Cure: "carillon up --data-dir " + f.Carillon.DataDir, brief: "Carillon does not run"}
}

func (f *Facts) controlPlane() Part {
	part := Part{Name: "control plane", State: Well, Text: "ready"}
	switch {
	case f.API.Error != "":
		part.State, part.Text, part.brief = Wrong, "the API server does not answer: "+f.API.Error, "the API server does not answer"
	case len(f.API.Failing) > 0:
		part.State, part.Text, part.brief = Wrong, "the API server is not ready, because of "+strings.Join(f.API.Failing, ", "), "the API server is not ready"
		part.Cure = "kubectl get --raw '/readyz?verbose'"
	case f.API.Version != "":
		part.Text = "ready, " + f.API.Version
	}
	c := f.Carillon
	if c == nil {
		return part
	}
	if part.State == Wrong {
		part.Cure = "what it says itself is in " + c.DataDir + "/log/carillon.log"
	}
	if c.StoreBytes >= 0 {
		part.Text += ", store " + quantity.Bytes(c.StoreBytes)
	}
	if c.DiskFree >= 0 {
		if c.DiskFree >= leastDiskFree {
			part.Text += ", " + quantity.Bytes(c.DiskFree) + " of disk free"
		} else {
			part.Text = "only " + quantity.Bytes(c.DiskFree) + " of disk free; " + part.Text
			part.State, part.Cure, part.brief = Wrong, "free some space: the store stops when the disk is full", "the disk is nearly full"
		}
	}
	return part
}

// nodes says how the nodes are: all if there is one, and those that are not well.
func (f *Facts) nodes(now time.Time) Part {
	part := Part{Name: "node", State: Well}
	if len(f.Nodes) > 1 {
		part.Name = "nodes"
	}
	var wrong []string
	ready := 0
	for i := range f.Nodes {
		if text := f.Nodes[i].trouble(now); text != "" {
			wrong = append(wrong, text)
		} else {
			ready++
		}
	}
	switch {
	case f.NodesUnread != "":
		part.State, part.Text = Unknown, f.NodesUnread
	case len(f.Nodes) == 0:
		part.State, part.Text, part.brief = Wrong, "there is none, so no Pod can run", "no node"
	case len(wrong) > 0:
		part.State = Wrong
		const most = 3
		part.Text = strings.Join(wrong[:min(most, len(wrong))], "; ")
		if more := len(wrong) - most; more > 0 {
			part.Text += fmt.Sprintf("; and %d more", more)
		}
		if len(f.Nodes) > 1 {
			part.Text = fmt.Sprintf("%d of %d are ready: %s", ready, len(f.Nodes), part.Text)
		}
		part.Cure, part.brief = f.nodeCure(), "node not well"
		if len(f.Nodes) > 1 {
			part.brief = quantity.CountGrouped(len(wrong), "node") + " not well"
		}
	case len(f.Nodes) == 1:
		part.Text = f.Nodes[0].Name + " is ready"
	default:
		part.Text = fmt.Sprintf("%d are ready", len(f.Nodes))
	}
	return part
}

func (f *Facts) nodeCure() string {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		for _, p := range n.Pressures {
			if p == "disk" && f.Carillon != nil {
				return "free some space: carillon image prune; Pods are evicted until there is"
			}
		}
	}
	for i := range f.Nodes {
		if n := &f.Nodes[i]; n.Ready && n.Cordoned && len(f.Nodes) == 1 {
			return "kubectl uncordon " + n.Name
		}
	}
	return "kubectl describe nodes"
}

// trouble says what is wrong with a node; "" if nothing is.
func (n *Node) trouble(now time.Time) string {
	switch {
	case !n.Ready:
		text := n.Name + " is not ready"
		if !n.Since.IsZero() {
			text += " for " + duration.Short(now.Sub(n.Since))
		}
		if n.Reason != "" {
			text += " (" + n.Reason + ")"
		}
		if n.Message != "" {
			text += ": " + n.Message
		}
		return text
	case len(n.Pressures) > 0:
		return n.Name + " is short of " + strings.Join(n.Pressures, " and ")
	case n.Cordoned:
		return n.Name + " is cordoned, so that no new Pod is placed on it"
	}
	return ""
}

// part says whether somebody holds the lease. told is false where there is nothing to tell: the lease of a controller
// that this cluster may well do without.
func (l *Lease) part(now time.Time) (part Part, told bool) {
	part = Part{Name: l.Component, State: Well, brief: l.Component + " not at work"}
	cure := fmt.Sprintf("kubectl get lease %s -n %s; kubectl get pods -A | grep %s", l.Component, l.Namespace, l.Component)
	switch {
	case l.Unread != "":
		part.State, part.Text = Unknown, l.Unread
	case l.Missing:
		return part, false
	case l.Holder == "":
		part.State, part.Text, part.Cure = Wrong, "nobody holds its lease, so none is at work", cure
	case !l.Renewed.IsZero() && now.Sub(l.Renewed) > time.Duration(l.Seconds)*time.Second+leaseGrace:
		part.State, part.Cure = Wrong, cure
		part.Text = fmt.Sprintf("%s leads, and has not renewed its lease for %s", l.Holder, duration.Short(now.Sub(l.Renewed)))
	default:
		part.Text = l.Holder + " leads"
		if !l.Renewed.IsZero() {
			part.Text += ", renewed " + duration.FromNow(l.Renewed, now)
		}
	}
	return part, true
}

// part says how the journal is.
func (j *Journal) part(now time.Time) Part {
	part := Part{Name: "journal", State: Well, brief: "the journal cannot be read"}
	switch {
	case j.Error != "":
		part.State, part.Text = Wrong, j.Error
		return part
	case j.None:
		part.State, part.Text = Unknown, "none is kept: what is told of runs is what their objects tell"
		return part
	}
	part.Text = quantity.CountGrouped(int(j.Runs), "run")
	if !j.Oldest.IsZero() {
		part.Text += " since " + j.Oldest.UTC().Format(time.DateOnly)
	}
	part.Text += ", " + quantity.Bytes(j.DiskBytes)
	if j.LogBytes > 0 {
		part.Text += " (logs " + quantity.Bytes(j.LogBytes) + ")"
	}
	if j.Waiting > 0 && now.Sub(j.OldestWaiting) > lagging {
		part.State = Wrong
		part.Text = fmt.Sprintf("it lags: %s, the oldest ended %s; %s", waits(j.Waiting), duration.FromNow(j.OldestWaiting, now), part.Text)
		part.brief = "the journal lags"
		part.Cure = "the log of carillon up says why: is its disk full? Nothing is lost meanwhile"
	}
	return part
}

func waits(n int) string {
	if n == 1 {
		return "1 ended container is not in it yet"
	}
	return quantity.Grouped(n) + " ended containers are not in it yet"
}
