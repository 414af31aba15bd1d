package cuda

import (
	"context"
	"fmt"
	"math"

	"dyad/engine/embedding"
)

// Sum implements embedding.Sums.
//
// Notation: u = 2^-53. c and dx are the computed coefficients and the computed difference of a pair. h is the
// effective clipping norm, and q = 2^e is the unit. s = (rows + d + 16) 2^-51, and limit = h (1 - s).
//
// # Every term has norm at most h
//
// Claim. The term of a pair is the matrix q T, where T_rk is c_r/q dx_k, rounded towards zero to an integer. It
// is a function of the two records, the label, w, h and the number of all pairs. The term does not depend on
// the number of pairs in the batch. A Poisson batch has a random number of pairs, and the accounting for an
// owner requires that the terms of the other owners are the same with and without the owner's pairs. For every
// data set and w, the exact norm of the term is at most h, or with RowByRow the norm of each row is at most h.
// The only requirement on the hardware is that each operation in float64 has a relative error of at most 3 u.
// (A correctly rounded operation has a relative error of at most u.)
//
// Proof. T_rk is rounded towards zero, so the norm of q T is at most (1 + 6 u) ||c|| ||dx||. The reason is that
// c dx^T has entrywise norm ||c|| ||dx|| in both norms, and that the scaling by 1/q (exact, if rounding is
// correct) and the product with dx_k are one operation each. The computed ||c|| and ||dx|| are chains of rows
// and d operations on squares with a root at the end. dx is computed twice, and the product n of the norms
// once. So n is ||c|| ||dx|| within a relative 3 (rows + d + 6) u. If n <= limit, c does not change and the
// norm is at most limit (1 + 3 (rows + d + 10) u) <= h, as s = 4 (rows + d + 16) u. Otherwise three more
// operations replace c by c/||c|| (limit/||dx||), and the norm is at most limit (1 + 3 (rows + d + 13) u) <= h.
//
// No number overflows: |w| <= 10^100, |x| <= 2^100, and the margin, rows and d are bounded, so |v| < 2^454. If
// n is not finite, T = 0. Squares that underflow matter only if ||dx|| < 2^-490 or ||c|| < 2^-490. In the first
// case |v| < 2^-147, so |c| < 2^111 even for a dissimilar pair whose distance underflowed, and |c_r dx_k| <
// 2^-379. In the second case |c_r dx_k| < 2^-389. Since q >= 2^-352, T = 0 in both cases. QED
//
// # Sums are exact (docs/theory.md#exact-sums)
//
// |T_rk| <= h/q, and h/q times the number of pairs is at most 2^62 by the choice of e, so sums of T are exact
// in 64 bits, in any order. Sum returns q times the sum, rounded once. The norm of the rounding error is at
// most u len(pairs) h, which is less than embedding.SumError.
//
// h is the smaller of clip and the loss's bound on gradients at w. Both numbers are public. The bound keeps the
// unit small if clip is far above every gradient.
//
// Sum fails if the absolute value of an entry of w is above 10^100, or if clip is not between 2^-150 and 2^150.
func (s *pairSums) Sum(ctx context.Context, dst, w []float64, pairs []int32, clip float64, how embedding.Clip) error {
	if len(dst) != s.Len() || len(w) != s.Len() {
		return fmt.Errorf("cuda: Sum: %d and %d entries, want %d", len(dst), len(w), s.Len())
	}
	if err := s.open("Sum"); err != nil {
		return err
	}
	if !(clip >= smallestClip && clip <= 1/smallestClip) {
		return fmt.Errorf("cuda: Sum: the clip is %v, but it must be %g to %g", clip, float64(smallestClip),
			1/float64(smallestClip))
	}
	for _, v := range w {
		if !(math.Abs(v) <= largestWeight) {
			return fmt.Errorf("cuda: Sum: an entry of W is %v, but its absolute value must be at most %g", v,
				float64(largestWeight))
		}
	}
	for _, i := range pairs {
		if i < 0 || int(i) >= s.pairs {
			return fmt.Errorf("cuda: Sum: pair %d of %d", i, s.pairs)
		}
	}
	clear(dst)
	if len(pairs) == 0 {
		return ctx.Err()
	}
	h, unit := s.scale(w, len(pairs), clip)
	limit := h * (1 - s.slack())
	err := s.device.do(ctx, func(c *job) {
		c.copyIn(s.w, w)
		c.clear(s.sums, 8*s.Len())
		for from := 0; from < len(pairs) && c.goesOn(ctx); from += s.slice {
			s.add(c, pairs[from:min(from+s.slice, len(pairs))], limit, 1/unit, how)
		}
		c.copyBack(s.integers, s.sums)
	})
	if err != nil {
		return err
	}
	for k, v := range s.integers {
		dst[k] = float64(v) * unit
	}
	return nil
}

// slack returns s.
func (s *pairSums) slack() float64 { return float64(s.rows+s.d+16) * 0x1p-51 }

// smallestPart is the smallest ratio of h to clip.
const smallestPart = 0x1p-140

// scale returns h and q for lists of at most pairs pairs. If the data have more pairs, the number of all pairs applies.
func (s *pairSums) scale(w []float64, pairs int, clip float64) (h, unit float64) {
	h = clip
	if g := s.loss.GradientBound(w, s.d, s.norm, s.bound); g < clip {
		h = max(g, clip*smallestPart)
	}
	_, e := math.Frexp(h * float64(max(pairs, s.pairs))) // at most 2^e
	return h, math.Ldexp(1, e-62)
}

// add adds the terms of at most slice pairs to the integers.
func (s *pairSums) add(c *job, pairs []int32, limit, scale float64, how embedding.Clip) {
	c.copyWords(s.list, pairs)
	count, d, rows := uint64(len(pairs)), uint64(s.d), uint64(s.rows)
	flag := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	manhattan := flag(s.norm == embedding.L1)
	c.launch(s.module, "pair_products", chunksOf(s.rows, pairListRows), chunksOf(len(pairs), pairListPairs),
		uint64(s.v), uint64(s.length), uint64(s.x), uint64(s.w), uint64(s.first), uint64(s.second), uint64(s.list), count, d,
		rows, manhattan)
	c.launch(s.module, "pair_slopes", blocksFor(len(pairs)), 1, uint64(s.v), uint64(s.length), uint64(s.label),
		uint64(s.list), count, rows, s.number, math.Float64bits(s.margin), manhattan, flag(how == embedding.RowByRow),
		math.Float64bits(limit), math.Float64bits(scale))
	tilesOfW := chunksOf(s.d, pairListStep) * chunksOf(s.rows, pairListRows)
	chunk := s.chunk(len(pairs), tilesOfW)
	c.launch(s.module, "pair_sums", tilesOfW, chunksOf(len(pairs), chunk), uint64(s.sums), uint64(s.v), uint64(s.x),
		uint64(s.first), uint64(s.second), uint64(s.list), count, d, rows, uint64(chunk))
}

// chunk returns the number of pairs of a block, a multiple of the tile. The number is small enough to give all
// multiprocessors work.
func (s *pairSums) chunk(pairs, tilesOfW int) int {
	blocks := max(8*s.device.Info().Multiprocessors/tilesOfW, 1)
	return max(chunksOf(pairs/blocks, pairListPairs), 1) * pairListPairs
}
