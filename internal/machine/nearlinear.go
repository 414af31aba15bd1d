package machine

import (
	"math/rand/v2"

	"dyad/kernels"
)

// NearLinear returns a function that does the work of the near-linear method of engine/cpu for n scores in
// one bin. The scores have two labels in random order. The function sums the powers of the scores of each
// label. Then it evaluates a polynomial with the given number of terms at each score. This work gives the
// coefficients of the scores.
func NearLinear(set *kernels.Set, n, terms int) func() {
	const block, room, run = 4096, 4096 + 16, 1024
	rng := rand.New(rand.NewPCG(1, 1))
	score, c, second := make([]float64, n), make([]float64, n), make([]uint8, (n+7)/8)
	for i := range score {
		score[i] = 2*rng.Float64() - 1
	}
	for i := range second {
		second[i] = uint8(rng.IntN(256))
	}
	coef, sums, lanes := make([]float64, terms), make([]float64, terms-1), make([]float64, 8*(terms-1))
	for i := range coef {
		coef[i] = 1 / float64(i+1)
	}
	x := make([]float64, room)
	var places []uint16 // plain Go is faster by places than by bits
	var zeros []int
	if set.Variant() == kernels.Generic {
		places = make([]uint16, n)
		for from := 0; from < n; from += block {
			low, high := 0, room
			for i := from; i < min(from+block, n); i++ {
				if second[i/8]>>(i%8)&1 == 0 {
					places[i] = uint16(low)
					low++
				} else {
					high--
					places[i] = uint16(high)
				}
			}
			zeros = append(zeros, low)
		}
	}
	// group returns the scores of each label in a block, filled up with zeros.
	group := func(from, to int) [2][]float64 {
		var i int
		if places == nil {
			i = set.Split(x, score[from:to], second[from/8:])
		} else {
			i = zeros[from/block]
			clear(x)
			kernels.Put(x, score[from:to], places[from:to])
		}
		return [2][]float64{x[:(i+7)&^7], x[room-(to-from-i+7)&^7:]}
	}
	return func() {
		for from := 0; from < n; from += block {
			for _, part := range group(from, min(from+block, n)) {
				for len(part) > 0 {
					k := min(run, len(part))
					set.PowerSums(lanes, part[:k])
					set.SumLanes(sums, lanes)
					part = part[k:]
				}
			}
		}
		for from := 0; from < n; from += block {
			to := min(from+block, n)
			for _, part := range group(from, to) {
				set.Polynomial(part, coef, part)
			}
			if places == nil {
				set.Join(c[from:to], x, second[from/8:])
			} else {
				kernels.Take(c[from:to], x, places[from:to])
			}
		}
	}
}
