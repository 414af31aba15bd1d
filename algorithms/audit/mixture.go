package audit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dyad/algorithms/attack"
	"dyad/privacy"
)

const (
	// mixtureReleases is the number of releases on each side from which the exact vectors of secret batches are
	// learned.
	mixtureReleases = 400
	// mostCentres is the largest number of different exact vectors that the score handles.
	mostCentres = 64
	// centreWidth is the width of a cell in standard deviations of the noise. Exact vectors in one cell count
	// as one vector.
	centreWidth = 1.0 / 64
)

// centre is the mean of the exact vectors in one cell, with the frequency of this cell.
type centre struct {
	at     []float64
	weight float64
}

// mixtureScore (docs/theory.md#audit-white-box) is the log-likelihood ratio of releases about secret batches. Given its
// batch, a release is normal about the exact vector. Without the batch, it has a mixture of normal laws, whose centres
// and weights the adversary learns from runs of its own. The score treats releases as independent with one law on each
// side. This holds if gradients do not depend on w; otherwise the score is still a valid attack. ok is false if the
// noise is not Gaussian or there are too many different exact vectors.
func (t Target) mixtureScore(ctx context.Context, seed uint64) (of score, ok bool, err error) {
	if _, gaussian := t.claim().Noise.(privacy.Gaussian); !gaussian || !t.sampled() {
		return score{}, false, nil
	}
	w, err := newWorker(t)
	if err != nil {
		return score{}, false, err
	}
	defer func() { _ = w.close() }()
	var sides [2][]centre
	for side := range sides {
		cells := map[string]*centre{}
		var order []*centre
		for i, seen := 0, 0; seen < mixtureReleases; i++ {
			o, err := w.whole(ctx, side == 1, runSeed(^seed, 2*i+side))
			if err != nil {
				return score{}, false, err
			}
			if seen += len(o.Releases); len(o.Releases) == 0 {
				return score{}, false, errMoreReleases
			}
			for _, r := range o.Releases {
				c := cell(cells, &order, r)
				for k, v := range r.Before {
					c.at[k] += v
				}
				c.weight++
			}
			if len(order) > mostCentres {
				return score{}, false, nil
			}
		}
		total := 0.0
		for _, c := range order {
			for k := range c.at {
				c.at[k] /= c.weight
			}
			total += c.weight
		}
		for _, c := range order {
			sides[side] = append(sides[side], centre{c.at, c.weight / total})
		}
	}
	return score{"log-likelihood ratio over secret batches", func(o Observation) float64 {
		sum := 0.0
		for _, r := range o.Releases {
			sum += logMixture(sides[1], r) - logMixture(sides[0], r)
		}
		return sum
	}}, true, nil
}

// cell returns the centre for the exact vector of r.
func cell(cells map[string]*centre, order *[]*centre, r attack.Call) *centre {
	width := r.Noise.(privacy.Gaussian).Sigma * centreWidth
	key := make([]byte, 0, 8*len(r.Before))
	for _, v := range r.Before {
		key = fmt.Appendf(key, "%d,", int64(math.Round(v/width)))
	}
	c := cells[string(key)]
	if c == nil {
		c = &centre{at: make([]float64, len(r.Before))}
		cells[string(key)] = c
		*order = append(*order, c)
	}
	return c
}

// logMixture returns the log of the density of a release, up to a constant.
func logMixture(centres []centre, r attack.Call) float64 {
	sigma := r.Noise.(privacy.Gaussian).Sigma
	logs := make([]float64, len(centres))
	for i, c := range centres {
		logs[i] = math.Log(c.weight) - distance2(r.After, c.at)/(2*sigma*sigma)
	}
	top, sum := slices.Max(logs), 0.0
	for _, l := range logs {
		sum += math.Exp(l - top)
	}
	return top + math.Log(sum)
}
