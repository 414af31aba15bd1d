package audit

import (
	"encoding/binary"
	"hash/fnv"
	"math"
)

// keptTrial is what is kept of a run, in a file of a part, too.
type keptTrial struct {
	Scores           []float64 // by the campaign's scores
	Released, Result []float64 // the released coordinates and the returned weights, nil where there are many
	Gap, Noise       float64   // as in Observation
	Coordinates      int
	Values, Off      int
	Noises           []uint64
}

// mostNoises bounds how many runs of both sides are searched for noise that repeats.
const mostNoises = 40_000

// newTrial sums run number i up.
func newTrial(o Observation, scores []score, i int) keptTrial {
	t := keptTrial{Gap: o.gap, Noise: o.noise, Scores: make([]float64, len(scores))}
	for k, s := range scores {
		t.Scores[k] = s.of(o)
	}
	if v := o.flat(); len(v) <= mostFeatures {
		t.Released = v
	}
	if len(o.Weights) <= mostFeatures {
		t.Result = o.Weights
	}
	for _, r := range o.Releases {
		t.Coordinates += len(r.After)
	}
	t.Values, t.Off = OffGrid([]Observation{o})
	if i < mostNoises {
		t.Noises = fingerprints(o)
	}
	return t
}

// OffGrid counts the released coordinates that are not multiples of the grid of their
// noise. With exact noise there are none: the set of values that can be released is
// the grid whatever the data (docs/theory.md#noise-grid), up to where float64 itself is coarser.
func OffGrid(runs []Observation) (values, off int) {
	for _, o := range runs {
		for _, r := range o.Releases {
			grid := r.Noise.GridSize()
			_, e := math.Frexp(grid)
			for _, v := range r.After {
				values++
				if v != 0 && lowBit(v) < e-1 {
					off++
				}
			}
		}
	}
	return values, off
}

// Repeated counts the releases whose noise vector is the same as that of another
// release, to 16 grid steps in each coordinate. Noise of standard deviation sigma has
// sigma/g >= 2^28 grid steps, so two independent vectors of two coordinates agree with
// probability below (16 * 2^-28 / (2 sqrt(pi)))^2 * 4 < 2^-49, and 10^5 releases hold
// such a pair with probability below 10^-5. Vectors of one coordinate are not counted.
func Repeated(runs []Observation) int {
	seen := map[uint64]int{}
	for _, o := range runs {
		for _, f := range fingerprints(o) {
			seen[f]++
		}
	}
	return repeats(seen)
}

func repeats(seen map[uint64]int) (repeated int) {
	for _, count := range seen {
		if count > 1 {
			repeated += count
		}
	}
	return repeated
}

// fingerprints are hashes of the noise vectors of two coordinates or more, to 16 grid
// steps. Two of n have one hash by chance with probability below n^2/2^65.
func fingerprints(o Observation) []uint64 {
	var all []uint64
	for _, r := range o.Releases {
		if len(r.After) < 2 {
			continue
		}
		// Value - Exact is rounded; the grid is far coarser than its error.
		grid := r.Noise.GridSize()
		h := fnv.New64a()
		var b [8]byte
		for k, v := range r.After {
			binary.LittleEndian.PutUint64(b[:], uint64(int64(math.Floor((v-r.Before[k])/grid/16))))
			_, _ = h.Write(b[:])
		}
		all = append(all, h.Sum64())
	}
	return all
}
