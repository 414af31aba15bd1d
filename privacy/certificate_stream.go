package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/internal/round"
)

// PairwiseStream holds the public numbers of pairwise online learning in which every update uses only earlier
// releases. The noise is fed back into the iterates (reading B of [Huai20] Algorithm 1,
// docs/theory.md#pairwise-stream). Records 1..BurnIn only enter the buffer. Update b uses the next Batch
// records t, in (BurnIn + (b-1) Batch, BurnIn + b Batch]. Its query is
//
//	q_b = Weights[b-1]/Batch sum_t 1/D_t sum_{i in B_t} grad l(w_{b-1}; z_t, z_i).
//
// B_t is the set of records in the buffer before record t, and D_t = min(t-1, Buffer) is the largest
// possible size of B_t. The iterate w_{b-1} is a function of public numbers and of earlier noisy queries. A
// map may be applied to q_b if the map is 1-Lipschitz and depends only on the past. With a Factor C, update
// b releases sum_{s<=b} C_bs q_s instead of q_b.
type PairwiseStream struct {
	PairDiameter float64 // PairDiameter is Dg > 0.
	// Horizon is the public maximum n of the number of records. The value 0 means any number of records.
	// With Horizon 0, Roundoff must be 0, Weights and Factor must be nil, and Reservoir and PerClass must be
	// false.
	Horizon int
	Batch   int // Batch is the number of records of an update, >= 1.
	BurnIn  int // BurnIn is T1 >= 1.
	// Buffer is the size s >= 1 of the buffer. The value 0 means that all records are kept. Without Reservoir
	// or PerClass, the buffer holds the last s records.
	Buffer int
	// Reservoir selects Vitter's algorithm R. Coins that do not depend on the data decide which slot a new
	// record takes in the buffer. A record may stay in the buffer for ever.
	Reservoir bool
	// PerClass keeps the last Buffer/2 records of each of two classes. The class of a record is a function of
	// the record, so it is as private as the record.
	PerClass bool
	// Lipschitz is G > 0, the largest norm of a pair gradient. Only PerClass uses it.
	Lipschitz float64
	// Weights are the weights of the updates, positive and non-increasing. If Weights is nil, all weights are
	// 1.
	Weights []float64
	// Factor is the matrix C. If Factor is nil, C is the identity.
	Factor *ToeplitzFactor
	// Roundoff is rho >= 0. It bounds, for every data set, the error of the vector that one update computes
	// before noise is added.
	Roundoff float64
}

// maxStreamUpdates bounds the time and memory of Certify.
const maxStreamUpdates = 1 << 26

// Updates is the number of updates within the horizon.
func (s PairwiseStream) Updates() int { return max(0, (s.Horizon-s.BurnIn)/max(1, s.Batch)) }

// Certify returns the joint certificate of all updates (a StreamEvent).
//
// Theorem (docs/theory.md#pairwise-stream). Replace record k. Given the released past, w_{b-1} is the same
// for both streams. If k is in batch b, the mean over the pairs of k with its partners moves by at most Dg,
// because the partners are the same. For a later record t, at most one pair (t, k) changes, with weight
// 1/D_t, and only if k may be in B_t. So q_b moves by at most Dg u_k(b),
//
//	u_k(b) = Weights/Batch ([k in batch b] + p sum_{t in b, t > k, k in B_t} 1/D_t),  p = 1.
//
// If no such pair is in batch b, the computed values have the same bits and q_b does not move. Coq has
// checked this bound of one update without PerClass and Factor.
// Checked by Coq: Streams.stream_update.
//
// PerClass. Here p = 1 + max(1, G/Dg), and the sum treats k as a member of B_t for every t > k. A class keeps
// the last Buffer/2 records of the sequence of its records. Suppose that k is in the class and its
// replacement is not. Then one of the two sequences lacks one record of the other sequence. So the two sets
// of kept records differ by k, which only one of the sets contains, and by at most one older record, which
// only the other set contains. For the other class the same statement holds with the roles exchanged. If both
// k and its replacement are in a class, the kept sets differ at most by this record. If neither is in the
// class, the kept sets are equal.
//
// So in the sum over B_t, the pair with k becomes the pair with its replacement, which moves the sum by at
// most Dg. In addition, at most one more pair is exchanged (Dg), or gained or lost (G). How long this
// difference lasts depends on the private classes of later records; in the worst case it lasts for ever. D_t
// is public. The size |B_t| is not public, and may be half of D_t.
//
// Factor C. Given the past, all of w_0..w_{b-1} are the same, so row b moves by at most Dg (C u_k)_b, because
// C >= 0 (docs/theory.md#prefix-sums). The norm of one column of C counts a record only once, and is too
// small. Let s_b(k) = Dg (C u_k)_b + 2 rho from the first touched row on, or for the touched rows if there is
// no Factor. All updates together have the joint sensitivity sqrt(max_k sum_b s_b(k)^2).
//
// Maximum. Among the records of the burn-in, the last record is in every set of pairs that an earlier record
// is in. Let k > T1 + Batch. Record k - Batch has the same place in its batch, weights that are not smaller,
// and at least as many updates before the horizon. Each of its terms is not smaller, because D_t does not
// decrease with t: u_{k-Batch}(b) >= u_k(b+1). Hence (C u_{k-Batch})_b >= (C u_k)_{b+1} for a Toeplitz matrix
// C >= 0 (docs/theory.md#toeplitz-maximum). So the maximum is at a k in [T1, T1 + Batch]. QED
//
// Later records may be chosen after the releases were seen, by anybody who does not know record k. The
// argument is about one update given the past, and both streams have the same later records. So the joint
// event composes adaptively.
//
// For Batch = 1, no buffer limit and no Factor, the certificate is Dg sqrt(S), where S = max_k ([k > T1] +
// sum_{t > max(k, T1)} 1/(t-1)^2). S is at most pi^2/6 for any number of records.
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
			// U_b <= 1/(T1 + (b-1) m). An integral bounds the sum over b > updates.
			tail = 1 / (float64(s.Batch) * (float64(s.BurnIn) + float64(updates-1)*float64(s.Batch)))
		}
	}
	exact, ops := s.largest(updates, tail, 0)
	total, _ := s.largest(updates, tail, s.Roundoff)
	exact, total = round.Up(math.Sqrt(round.Up(exact, ops)), 2), round.Up(math.Sqrt(round.Up(total, ops)), 2)
	kept := "all earlier records"
	if s.Buffer > 0 {
		kept = fmt.Sprintf("the last %d records", s.Buffer)
		switch {
		case s.Reservoir:
			kept = fmt.Sprintf("a reservoir of %d records", s.Buffer)
		case s.PerClass:
			kept = fmt.Sprintf("the last %d records of each class (p = %.6g: one record changes both buffers)",
				s.Buffer/2, s.exchanged())
		}
	}
	horizon := fmt.Sprintf("n = %d", s.Horizon)
	if s.Horizon == 0 {
		horizon = "any n"
	}
	ratio := exact / s.PairDiameter
	released, what, source := "every iterate of pairwise online descent",
		"given the earlier releases, replacing record k moves update b by at most s_b(k) = Dg u_k(b) + 2 rho",
		"docs/theory.md#pairwise-stream"
	if s.Factor != nil {
		released, source = "every noisy prefix sum of pairwise gradients", "docs/theory.md#prefix-sums"
		what = fmt.Sprintf("C g holds the sums: C = Toeplitz factor of %d exponentials, g = gradients of the "+
			"updates; given the earlier releases, replacing record k moves row b of C g by at most s_b(k) = Dg (C "+
			"u_k)_b + 2 rho", len(s.Factor.Decay))
	}
	later := "1/D_t"
	if s.PerClass {
		later = "p/D_t"
	}
	c, err := newCertificate(exact, max(exact, total), released,
		fmt.Sprintf("%s, where u_k(b) = 1/m ([k in batch b] + sum_(t > k in b, k in B_t) %s); the joint "+
			"sensitivity is, for the worst record k, sqrt(sum_b s_b(k)^2) = Dg sqrt(S) with S = %.6g; pair "+
			"diameter Dg = %.6g, %s, batch size m = %d, burn-in T1 = %d, pairs with %s, rounding error rho = %.3g "+
			"(%s)",
			what, later, ratio*ratio, s.PairDiameter, horizon, s.Batch, s.BurnIn, kept, s.Roundoff, source))
	c.form = stream{releases: updates}
	if s.Horizon == 0 {
		c.form = stream{releases: math.MaxInt}
	}
	if s.Horizon == 0 || s.Weights != nil || s.Factor != nil {
		return c, err
	}
	return stated("pairwise-stream", streamNumbers{s.Horizon, s.Batch, s.BurnIn, s.Buffer, s.Reservoir, s.PerClass,
		s.Roundoff}, c, err)
}

// streamNumbers holds those numbers of a PairwiseStream that the other parts of a plan do not contain.
type streamNumbers struct {
	Horizon   int     `json:"horizon"`
	Batch     int     `json:"batch"`
	BurnIn    int     `json:"burn_in"`
	Buffer    int     `json:"buffer"`
	Reservoir bool    `json:"reservoir"`
	PerClass  bool    `json:"per_class"`
	Roundoff  float64 `json:"roundoff"`
}

func (s PairwiseStream) validate() error {
	err := errors.Join(positive("pair diameter Dg", s.PairDiameter), nonNegative("roundoff", s.Roundoff))
	switch {
	case s.Batch < 1 || s.BurnIn < 1 || s.Buffer < 0 || s.Horizon < 0:
		err = errors.Join(err, fmt.Errorf("%w: Batch = %d and BurnIn = %d must be at least 1; Buffer = %d and "+
			"Horizon = %d must be at least 0",
			errCertificate, s.Batch, s.BurnIn, s.Buffer, s.Horizon))
	case s.Horizon == 0 && (s.Roundoff > 0 || s.Weights != nil || s.Reservoir || s.PerClass):
		err = errors.Join(err, fmt.Errorf("%w: Roundoff, Weights, Reservoir and PerClass need a positive Horizon",
			errCertificate))
	case s.Horizon > 0 && s.Updates() < 1:
		err = errors.Join(err, fmt.Errorf("%w: %d records are too few for a burn-in of %d and one update of %d "+
			"records", errCertificate, s.Horizon, s.BurnIn, s.Batch))
	case max(s.Updates(), s.Batch, s.Buffer) > maxStreamUpdates:
		err = errors.Join(err, fmt.Errorf("%w: updates (%d), batch (%d) and buffer (%d) may each be at most %d",
			errCertificate, s.Updates(), s.Batch, s.Buffer, maxStreamUpdates))
	case s.Reservoir && s.Buffer == 0:
		err = errors.Join(err, fmt.Errorf("%w: a reservoir needs a positive Buffer", errCertificate))
	case s.PerClass && (s.Buffer < 2 || s.Buffer%2 != 0 || s.Reservoir || !(s.Lipschitz > 0) ||
		math.IsInf(s.Lipschitz, 0)):
		err = errors.Join(err, fmt.Errorf("%w: PerClass is set with Buffer = %d and Lipschitz = %v; want an even "+
			"Buffer above 0, a positive finite Lipschitz and no Reservoir", errCertificate, s.Buffer, s.Lipschitz))
	case s.Factor != nil && (s.Horizon == 0 || s.Weights != nil):
		err = errors.Join(err, fmt.Errorf("%w: a Toeplitz factor needs a positive Horizon and no Weights", errCertificate))
	case s.Weights != nil && len(s.Weights) != s.Updates():
		err = errors.Join(err, fmt.Errorf("%w: %d weights for %d updates", errCertificate, len(s.Weights), s.Updates()))
	}
	if s.Factor != nil {
		err = errors.Join(err, s.Factor.Validate())
	}
	for i, w := range s.Weights {
		if !(w > 0) || math.IsInf(w, 0) || i > 0 && w > s.Weights[i-1] {
			return errors.Join(err, fmt.Errorf("%w: weight %d is %v; weights must be positive and must not increase",
				errCertificate, i+1, w))
		}
	}
	return err
}

// exchanged is the factor p of Certify.
func (s PairwiseStream) exchanged() float64 {
	if s.PerClass {
		return round.Up(1+max(1, s.Lipschitz/s.PairDiameter), 3)
	}
	return 1
}

// largest returns max_k sum_b s_b(k)^2. The caller rounds it up by the number of operations ops.
func (s PairwiseStream) largest(updates int, tail, rho float64) (sum float64, ops int) {
	m, t1 := s.Batch, s.BurnIn
	evicts := s.Buffer > 0 && !s.Reservoir && !s.PerClass
	exchanged := s.exchanged()
	// pairs is p sum 1/D_t over t in update b with t > k and k in B_t.
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
		return exchanged * h
	}
	last := updates // last update that the first batch and the record before it can reach
	if evicts {
		last = min(last, (m+s.Buffer+m-1)/m)
	}
	whole := make([]float64, last+1) // bounds of updates that have the record in all buffers
	for b := 1; b <= last; b++ {
		whole[b] = pairs(b, s.within(evicts, b))
	}
	touched := make([]float64, last+1) // m u_k(b)
	tail *= s.PairDiameter * s.PairDiameter
	for k := t1; k <= t1+m; k++ {
		for b := 1; b <= last; b++ {
			switch end := t1 + b*m; {
			case b == 1 && k > t1:
				touched[b] = 1 + pairs(b, k)
			case !evicts || end <= k+s.Buffer:
				touched[b] = whole[b]
			case end-m < k+s.Buffer:
				touched[b] = pairs(b, k)
			default:
				touched[b] = 0
			}
		}
		if s.Factor != nil {
			sum = max(sum, s.rows(touched, updates, rho))
			continue
		}
		total := tail
		for b := 1; b <= last; b++ {
			if touched[b] == 0 {
				continue
			}
			u := s.PairDiameter * touched[b] / float64(m)
			if s.Weights != nil {
				u *= s.Weights[b-1]
			}
			total += (u + 2*rho) * (u + 2*rho)
		}
		sum = max(sum, total)
	}
	ops = 4*(m+last) + 24
	if s.Factor != nil {
		ops += 6*updates + 4*len(s.Factor.Decay)
	}
	return sum, ops
}

// rows returns sum_b (Dg (C u)_b + 2 rho)^2 over all updates, where touched is m u. Every record k that
// Certify tries affects update 1.
func (s PairwiseStream) rows(touched []float64, updates int, rho float64) (total float64) {
	filter := NewToeplitzFilter(s.Factor, 1)
	x, row := make([]float64, 1), make([]float64, 1)
	for b := 1; b <= updates; b++ {
		x[0] = 0
		if b < len(touched) {
			x[0] = s.PairDiameter * touched[b] / float64(s.Batch)
		}
		row[0] = x[0]
		filter.AddPast(row, 1)
		filter.Push(x)
		total += (row[0] + 2*rho) * (row[0] + 2*rho)
	}
	return total
}

// within returns a record that is in all buffers of update b, for the sum over the buffers.
func (s PairwiseStream) within(evicts bool, b int) int {
	if !evicts {
		return 0
	}
	// The record k satisfies t - Buffer <= k for the last t of the update, and comes before the first t of
	// the update.
	return min(s.BurnIn+(b-1)*s.Batch, max(0, s.BurnIn+b*s.Batch-s.Buffer))
}
