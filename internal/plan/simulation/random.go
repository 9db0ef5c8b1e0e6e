// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

// splitMix64 is the generator of Steele, Lea and Flood: a counter whose steps are mixed. It is written out here so that
// no version of a library ever gives other numbers.
type splitMix64 uint64

// next gives 64 bits.
func (s *splitMix64) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// fraction gives a number in [0, 1), of 53 bits.
func (s *splitMix64) fraction() float64 { return float64(s.next()>>11) / (1 << 53) }

// chance is that of one attempt of one run: it depends on the seed, the object, the scheduled time and the number of
// the attempt alone, so that another edit, outage or object leaves it as it was.
func chance(seed, object uint64, scheduled int64, attempt int) splitMix64 {
	s := splitMix64(seed)
	for _, part := range []uint64{object, uint64(scheduled), uint64(attempt)} {
		s = splitMix64(s.next() ^ part)
	}
	s.next()
	return s
}

// hashed is the FNV-1a hash of texts.
func hashed(texts ...string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, text := range texts {
		for i := range len(text) {
			h = (h ^ uint64(text[i])) * 0x100000001b3
		}
		h = (h ^ 0xff) * 0x100000001b3 // which no UTF-8 text has
	}
	return h
}
