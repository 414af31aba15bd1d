package audit

import (
	"encoding/binary"
	"hash/fnv"
	"math"
)

// keptTrial holds the numbers of a run that are kept, in memory and in the file of a part.
type keptTrial struct {
	// Scores are the scores of the campaign.
	Scores []float64
	// Released holds the released coordinates, and Result the returned weights. Each is nil if it has more than
	// mostFeatures numbers.
	Released, Result []float64
	// Gap and Noise are as in Observation.
	Gap, Noise  float64
	Coordinates int
	Values, Off int
	Noises      []uint64
}

// mostNoises is the largest number of runs of both sides that are searched for repeated noise.
const mostNoises = 40_000

// newTrial returns the kept numbers of run i.
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

// OffGrid counts the released coordinates that are not multiples of the grid of their noise. With exact noise
// the count is 0, because only values on the grid can be released, whatever the data are
// (docs/theory.md#noise-grid). If the float64 numbers near a coordinate are farther apart than a grid step,
// the coordinate counts as a multiple.
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

// Repeated counts the releases whose noise vector also occurs in another release, after each coordinate is
// rounded to 16 grid steps. Noise of standard deviation sigma has sigma/g >= 2^28 grid steps. So two
// independent vectors of two coordinates agree with probability below (16 * 2^-28 / (2 sqrt(pi)))^2 * 4 <
// 2^-49, and 10^5 releases contain such a pair with probability below 10^-5. Vectors of one coordinate are not
// counted.
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

// fingerprints returns hashes of the noise vectors with at least two coordinates, rounded to 16 grid steps. The
// probability that two of n hashes agree by chance is below n^2/2^65.
func fingerprints(o Observation) []uint64 {
	var all []uint64
	for _, r := range o.Releases {
		if len(r.After) < 2 {
			continue
		}
		// The difference is rounded, but the grid is far coarser than the rounding error.
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
