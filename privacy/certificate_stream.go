package privacy

import (
	"errors"
	"fmt"
	"math"
)

// PairwiseStream are the public numbers of pairwise online learning in which
// every update uses only what was released before (noise is fed back, reading B of
// [Huai20] Algorithm 1, privacy.md 2.2). Records 1..BurnIn only enter the buffer.
// Update b uses the Batch records t in (BurnIn + (b-1) Batch, BurnIn + b Batch]:
//
//	q_b = Weights[b-1]/Batch sum_t 1/|B_t| sum_{i in B_t} grad l(w_{b-1}; z_t, z_i),
//
// where B_t are the records buffered before t, |B_t| = min(t-1, Buffer), and
// w_{b-1} is a function of public numbers and of earlier noisy queries. q_b may be
// followed by a map that is 1-Lipschitz and depends on the past only.
type PairwiseStream struct {
	PairDiameter float64 // Dg > 0
	// Horizon is the public maximum n of the number of records; 0 means any
	// number, which needs Roundoff 0, no Weights and no Reservoir.
	Horizon int
	Batch   int // >= 1
	BurnIn  int // T1 >= 1
	// Buffer is the size s >= 1 of the buffer; 0 means that all records are kept.
	Buffer int
	// Reservoir: a record that enters takes one slot by coins that do not depend
	// on the data (Vitter's algorithm R), and may stay for ever. Otherwise the
	// last Buffer records are kept.
	Reservoir bool
	// Weights of the updates, positive and non-increasing; nil means 1.
	Weights []float64
	// Roundoff is rho >= 0: the error of one computed q_b, for every data set.
	Roundoff float64
}

// maxStreamUpdates bounds the time and memory of Certify.
const maxStreamUpdates = 1 << 26

// Updates is the number of updates within the horizon.
func (s PairwiseStream) Updates() int { return max(0, (s.Horizon-s.BurnIn)/max(1, s.Batch)) }

// Certify returns the joint certificate of all updates (a StreamEvent).
//
// Theorem (privacy.md 2.2, extended to batches). Replace record k. Given the
// released past, w_{b-1} is the same for both streams. If k is in batch b, its own
// mean over pairs moves by at most Dg, and so does each pair (t, k) of a later
// record t that has k in its buffer, with weight 1/|B_t|. So q_b moves by at most
//
//	s_b(k) = Weights Dg/Batch ([k in batch b] + sum_{t in b, t > k, k in B_t} 1/|B_t|) + 2 rho,
//
// and not at all (the computed values have the same bits) if no such pair is in
// batch b. All updates together have the joint sensitivity sqrt(max_k sum_b s_b(k)^2).
//
// Maximum. Among the records of the burn-in the last one is in every set of pairs
// that an earlier one is in. Let k > T1 + Batch. Record k - Batch has the same place in
// its batch, weights that are not smaller, and at least as many updates before the
// horizon, of which each term is not smaller as |B_t| does not fall with t. So
// the maximum is at a k in [T1, T1 + Batch]. QED
//
// For Batch = 1 and no buffer limit this is Dg sqrt(S), S = max_k ([k > T1] +
// sum_{t > max(k, T1)} 1/(t-1)^2), at most pi^2/6 for any number of records.
func (s PairwiseStream) Certify() (Certificate, error) {
	if err := s.validate(); err != nil {
		return Certificate{}, err
	}
	updates, tail := s.Updates(), 0.0
	if s.Horizon == 0 {
		updates = 1<<20/s.Batch + 2
		if s.Buffer > 0 {
			updates = (s.Buffer + s.Batch + s.Batch - 1) / s.Batch
		} else {
			// U_b <= 1/(T1 + (b-1) m); the sum over b > updates is at most an integral.
			tail = 1 / (float64(s.Batch) * (float64(s.BurnIn) + float64(updates-1)*float64(s.Batch)))
		}
	}
	exact, ops := s.largest(updates, tail, 0)
	total, _ := s.largest(updates, tail, s.Roundoff)
	exact, total = roundUp(math.Sqrt(roundUp(exact, ops)), 2), roundUp(math.Sqrt(roundUp(total, ops)), 2)
	kept := "all earlier records"
	if s.Buffer > 0 {
		kept = fmt.Sprintf("the last %d records", s.Buffer)
		if s.Reservoir {
			kept = fmt.Sprintf("a reservoir of %d records", s.Buffer)
		}
	}
	horizon := fmt.Sprintf("n = %d", s.Horizon)
	if s.Horizon == 0 {
		horizon = "any n"
	}
	ratio := exact / s.PairDiameter
	c, err := newCertificate(exact, max(exact, total), "every iterate of pairwise online descent",
		fmt.Sprintf("noise is fed back, so given the past an update moves by s_b(k) = Dg/m ([k in batch b] + sum_(t > k in b) 1/|B_t|) + 2 rho; joint sensitivity sqrt(max_k sum_b s_b(k)^2) = Dg sqrt(S), S = %.6g; Dg = %.6g, %s, m = %d, T1 = %d, pairs with %s, rho = %.3g (privacy.md 2.2, reading B)",
			ratio*ratio, s.PairDiameter, horizon, s.Batch, s.BurnIn, kept, s.Roundoff))
	c.releases = updates
	if s.Horizon == 0 {
		c.releases = math.MaxInt
	}
	return c, err
}

func (s PairwiseStream) validate() error {
	err := errors.Join(positive("pair diameter Dg", s.PairDiameter), nonNegative("roundoff", s.Roundoff))
	switch {
	case s.Batch < 1 || s.BurnIn < 1 || s.Buffer < 0 || s.Horizon < 0:
		err = errors.Join(err, fmt.Errorf("%w: batch %d, burn-in %d, buffer %d, horizon %d; want batch and burn-in of at least 1 and no negative number", errCertificate, s.Batch, s.BurnIn, s.Buffer, s.Horizon))
	case s.Horizon == 0 && (s.Roundoff > 0 || s.Weights != nil || s.Reservoir):
		err = errors.Join(err, fmt.Errorf("%w: with roundoff, weights or a reservoir the bound grows with the number of records; declare a public maximum of it", errCertificate))
	case s.Horizon > 0 && s.Updates() < 1:
		err = errors.Join(err, fmt.Errorf("%w: %d records after a burn-in of %d make no update of %d records", errCertificate, s.Horizon, s.BurnIn, s.Batch))
	case max(s.Updates(), s.Batch, s.Buffer) > maxStreamUpdates:
		err = errors.Join(err, fmt.Errorf("%w: %d updates, batch %d, buffer %d; want at most %d of each", errCertificate, s.Updates(), s.Batch, s.Buffer, maxStreamUpdates))
	case s.Reservoir && s.Buffer == 0:
		err = errors.Join(err, fmt.Errorf("%w: a reservoir needs a size", errCertificate))
	case s.Weights != nil && len(s.Weights) != s.Updates():
		err = errors.Join(err, fmt.Errorf("%w: %d weights for %d updates", errCertificate, len(s.Weights), s.Updates()))
	}
	for i, w := range s.Weights {
		if !(w > 0) || math.IsInf(w, 0) || i > 0 && w > s.Weights[i-1] {
			return errors.Join(err, fmt.Errorf("%w: weight %d is %v; weights must be positive and must not increase", errCertificate, i+1, w))
		}
	}
	return err
}

// largest returns max_k sum_b s_b(k)^2, to be rounded up by the operations that
// it counts.
func (s PairwiseStream) largest(updates int, tail, rho float64) (sum float64, ops int) {
	m, t1 := s.Batch, s.BurnIn
	move := func(b int, pairs float64) float64 {
		u := s.PairDiameter * pairs / float64(m)
		if s.Weights != nil {
			u *= s.Weights[b-1]
		}
		return (u + 2*rho) * (u + 2*rho)
	}
	evicts := s.Buffer > 0 && !s.Reservoir
	// pairs is sum 1/|B_t| over t in update b with t > k and k in B_t.
	pairs := func(b, k int) float64 {
		from, to := t1+(b-1)*m+1, t1+b*m
		from = max(from, k+1)
		if evicts {
			to = min(to, k+s.Buffer)
		}
		var h float64
		for t := from; t <= to; t++ {
			size := t - 1
			if s.Buffer > 0 {
				size = min(size, s.Buffer)
			}
			h += 1 / float64(size)
		}
		return h
	}
	last := updates // that the first batch and the record before it can reach
	if evicts {
		last = min(last, (m+s.Buffer+m-1)/m)
	}
	whole := make([]float64, last+2) // of updates that see the record in all buffers
	for b := 1; b <= last; b++ {
		whole[b] = move(b, pairs(b, 0+max(0, s.within(evicts, b))))
	}
	after := make([]float64, last+2) // without eviction: sum of whole over later updates
	for b := last; b >= 1; b-- {
		after[b-1] = after[b] + whole[b]
	}
	tail *= s.PairDiameter * s.PairDiameter
	for k := t1; k <= t1+m; k++ {
		own, first := 0.0, 1
		if k > t1 {
			own, first = move(1, 1+pairs(1, k)), 2
		}
		total := own + tail
		if !evicts {
			total += after[first-1]
		} else {
			for b := first; b <= last; b++ {
				switch end := t1 + b*m; {
				case end <= k+s.Buffer:
					total += whole[b]
				case end-m < k+s.Buffer:
					total += move(b, pairs(b, k))
				}
			}
		}
		sum = max(sum, total)
	}
	return sum, 4*(m+last) + 20
}

// within is a record that is in all buffers of update b, for the sum over them.
func (s PairwiseStream) within(evicts bool, b int) int {
	if !evicts {
		return 0
	}
	// With t - Buffer <= k for the last t of the update, and k before its first t.
	return min(s.BurnIn+(b-1)*s.Batch, max(0, s.BurnIn+b*s.Batch-s.Buffer))
}
