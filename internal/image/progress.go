// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"sync"
	"time"
)

// Progress is how far a pull or an import is.
type Progress struct {
	// Image is the name being pulled, in short form.
	Image string
	// Layers is how many layers the image has, LayersDone how many of them are unpacked.
	Layers, LayersDone int
	// Bytes is what has to be downloaded, BytesDone how much of it is here. Layers that were in the store before count
	// in neither.
	Bytes, BytesDone int64
}

// reportEvery is how often progress is told at most, besides of layers that are done.
const reportEvery = 100 * time.Millisecond

// reporter adds up progress from several downloads and tells it to one listener.
type reporter struct {
	mu   sync.Mutex
	now  Progress
	tell func(Progress)
	last time.Time
}

func newReporter(name string, tell func(Progress)) *reporter {
	return &reporter{now: Progress{Image: name}, tell: tell}
}

func (r *reporter) change(change func(*Progress), always bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.now)
	if r.tell == nil {
		return
	}
	if at := time.Now(); always || at.Sub(r.last) >= reportEvery {
		r.last = at
		r.tell(r.now)
	}
}

func (r *reporter) layers(n int)    { r.change(func(p *Progress) { p.Layers = n }, true) }
func (r *reporter) expect(n int64)  { r.change(func(p *Progress) { p.Bytes += n }, false) }
func (r *reporter) arrived(n int64) { r.change(func(p *Progress) { p.BytesDone += n }, false) }
func (r *reporter) layerDone()      { r.change(func(p *Progress) { p.LayersDone++ }, true) }
func (r *reporter) allDone()        { r.change(func(p *Progress) { p.LayersDone = p.Layers }, true) }
