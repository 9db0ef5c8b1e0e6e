// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
)

// process is a controller process: two caches that lag, each by itself, a memory of its own writes, and the syncs that
// it is in the middle of. It knows nothing else; a crash loses the memory.
type process struct {
	w    *world
	name string
	life int

	// seesCronJob and seesFamily are the versions that the caches show, as indexes of the server's.
	seesCronJob, seesFamily int
	// behind: for so many syncs the caches stand still.
	behind int
	// What follows is for the CronJob with this UID. written is the CronJob as our last write or live read left it,
	// made and removed are our own creates and deletes. The caches' answer is read with them laid over it.
	uid     types.UID
	written cronJob
	made    map[types.UID]object
	removed map[types.UID]int
	carry   cron.Carry
	// served is the schedule of the last sync.
	served string
	// touched is what managed fields told it then.
	touched time.Time

	// halved: this process makes its syncs in two halves, as the shell in internal/controller/cronjob does: up to the
	// start at once, and the rest later; a new sync may begin in between when the timer fires, and is told what the
	// first half left. One that is not halved works as the package comment says.
	halved       bool
	open         *attempt
	secondHalves []*attempt
	syncs        int
	// last is the latest instant at which a sync that has ended began.
	last  time.Time
	timer time.Time
}

// maker is this life of the process.
func (p *process) maker() string { return fmt.Sprintf("%s%d", p.name, p.life) }

func (p *process) tell(format string, args ...any) {
	p.w.tell(p.maker(), format, args...)
}

// restart is a crash and a new process. It begins with a fresh list, unless it takes over with a warm cache that lags.
func (p *process) restart(fresh bool) {
	if p.life > 0 {
		p.forgiven()
	}
	p.life++
	p.open, p.secondHalves, p.timer, p.behind = nil, nil, time.Time{}, 0
	p.forget("")
	if fresh {
		p.catchUp()
	}
}

// forget drops what is remembered; the next CronJob is another one.
func (p *process) forget(uid types.UID) {
	p.uid, p.written, p.made, p.removed = uid, cronJob{}, map[types.UID]object{}, map[types.UID]int{}
	p.carry, p.served, p.touched = cron.Carry{}, "", time.Time{}
}

// catchUp lets the caches show the present.
func (p *process) catchUp() {
	p.seesCronJob, p.seesFamily = len(p.w.server.cronJobs)-1, len(p.w.server.families)-1
}

// fresh tells whether both caches show the present.
func (p *process) fresh() bool {
	return p.seesCronJob == len(p.w.server.cronJobs)-1 && p.seesFamily == len(p.w.server.families)-1
}

// cronJob is what the process knows the CronJob to be.
func (p *process) cronJob() cronJob {
	c := p.w.server.cronJobs[p.seesCronJob]
	if p.written.owner.UID == c.owner.UID && p.written.version > c.version {
		return p.written
	}
	return c
}

// family is what the process knows the namespace to hold. It contains what is not ours, too: the decision has to tell.
func (p *process) family() []object {
	cached := p.w.server.families[p.seesFamily]
	var all []object
	for _, o := range cached.children {
		all = append(all, o)
	}
	for _, o := range p.made {
		if o.version > cached.version {
			all = append(all, o)
		}
	}
	all = slices.DeleteFunc(all, func(o object) bool { return p.removed[o.UID] > cached.version && !o.held })
	for i, o := range all {
		all[i].Deleting = o.Deleting || p.removed[o.UID] > cached.version
	}
	slices.SortFunc(all, func(a, b object) int { return byText(a.Name+string(a.UID), b.Name+string(b.UID)) })
	return all
}

func byText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}
