// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import "math"

// The logarithms and exponentials of package math differ in the last bit between processors, and so does an expression
// that a compiler fuses into one instruction. Here each step is rounded (that is what the conversions are for), so that
// a seed gives the same durations everywhere. About 15 digits are right.

// ln is the natural logarithm of a positive number.
func ln(x float64) float64 {
	fraction, exponent := math.Frexp(x) // x = fraction × 2^exponent, exactly
	if fraction < math.Sqrt2/2 {
		fraction, exponent = fraction*2, exponent-1
	}
	s := (fraction - 1) / (fraction + 1)
	square := float64(s * s)
	sum := 0.0
	for k := 27; k >= 1; k -= 2 {
		sum = float64(sum*square) + 1/float64(k)
	}
	return float64(float64(exponent)*math.Ln2) + float64(2*float64(s*sum))
}

// exp is e to the power of x.
func exp(x float64) float64 {
	if x > 700 {
		return math.Inf(1)
	}
	if x < -700 {
		return 0
	}
	n := math.Floor(float64(x/math.Ln2) + 0.5)
	r := x - float64(n*math.Ln2)
	sum := 1.0
	for k := 18; k >= 1; k-- {
		sum = 1 + float64(float64(r/float64(k))*sum)
	}
	return math.Ldexp(sum, int(n))
}

// below is the share of a normal distribution that lies below z.
func below(z float64) float64 {
	term, sum := z, z
	for k := 3; k < 400; k += 2 {
		term = float64(term*float64(z*z)) / float64(k)
		sum += term
	}
	density := float64(exp(float64(-0.5*float64(z*z))) * 0.3989422804014327)
	return 0.5 + float64(density*sum)
}

// deviations is how many standard deviations from the mean of a normal distribution that much lies below. share is from
// 0.001 to 0.999.
func deviations(share float64) float64 {
	low, high := -4.0, 4.0
	for range 80 {
		if middle := (low + high) / 2; below(middle) < share {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// normal draws from a normal distribution: a point in the unit circle tells its distance from the middle, by
// Marsaglia's polar method.
func (s *splitMix64) normal() float64 {
	for {
		u, v := 2*s.fraction()-1, 2*s.fraction()-1
		if square := float64(u*u) + float64(v*v); square > 0 && square < 1 {
			return float64(u * math.Sqrt(float64(-2*ln(square))/square))
		}
	}
}
