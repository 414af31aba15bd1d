package embedding

import (
	"context"
	"errors"
	"fmt"

	"dyad/engine"
	"dyad/engine/cpu"
)

// Moments sums the second moments of the clipped differences of pairs,
//
//	x~ x~^T,   x~ = clip(x_a - x_b),   where clip scales longer vectors to norm clip,
//
// once over the similar and once over the dissimilar pairs. Each pair is summed as one record. This record is
// the difference of the two records of the pair, and its label states whether the pair is similar. It is a
// function of its two records and the label alone, bit for bit.
type Moments struct {
	data    *Data
	clip    float64
	workers int
}

// momentPairs is the number of pairs whose differences are in memory at a time.
const momentPairs = 1 << 16

// momentBlocks is the number of blocks of pairs. Block i starts at pair i pairs/blocks.
func momentBlocks(pairs int) int { return (pairs + momentPairs - 1) / momentPairs }

// differenceProblem is the problem of a block of differences of records within bound.
func differenceProblem(pairs, dim int, bound float64) engine.Problem {
	return engine.Problem{
		N: pairs, D: dim, Radius: 1, Loss: engine.Logistic{}, // moments have no loss
		Bounds: engine.Bounds{FeatureNorm: 2 * bound * (1 + 0x1p-40), LabelAbs: 1},
	}
}

// MomentsError bounds the errors of Sum for every data set: the error of the number of similar pairs, and the
// error of each of the two sums (engine.QueryBounds).
//
// Proof. The errors of the blocks add up. Each block also adds the error of one addition. This error is at most
// 2^-53 times the bound of the final norm, which is m or m clip^2 for m pairs. The error within a block is
// proportional to its number of pairs. The depth of a block is at most the depth of a longest block. QED
func MomentsError(pairs, dim int, bound, clip float64) (engine.QueryBounds, error) {
	blocks := momentBlocks(pairs)
	if pairs < 2 {
		return engine.QueryBounds{}, errors.New("embedding: moments need at least 2 pairs")
	}
	k, err := cpu.Backend{}.PlanMoments(differenceProblem((pairs+blocks-1)/blocks, dim, bound))
	if err != nil {
		return engine.QueryBounds{}, err
	}
	e := k.Bounds(engine.Query{Radius: clip, Second: engine.FullSecond})
	scale, m := float64(blocks), float64(pairs)
	add := engine.Gamma(blocks) * (1 + 0x1p-20)
	return engine.QueryBounds{Positives: (scale*e.Positives + add*m) * (1 + 0x1p-40),
		Second: (scale*e.Second + add*m*clip*clip) * (1 + 0x1p-40)}, nil
}

// NewMoments returns a Moments over data. It returns an error if the norm of data is not L2 or data has fewer
// than 2 pairs. The number of workers changes the running time but not the result.
func NewMoments(data *Data, clip float64, workers int) (*Moments, error) {
	if data.norm != L2 || len(data.graph.Pairs()) < 2 {
		return nil, fmt.Errorf("embedding: there are %d pairs, in the norm %s; moments need at least 2 pairs and "+
			"the l2 norm", len(data.graph.Pairs()), data.norm)
	}
	return &Moments{data: data, clip: clip, workers: max(workers, 1)}, nil
}

// Sum sets similar and dissimilar to the sums in the isometric coordinates of engine.Symmetric. It returns the
// number of similar pairs. When ctx is done it returns ctx.Err().
func (m *Moments) Sum(ctx context.Context, similar, dissimilar []float64) (count float64, err error) {
	clear(similar)
	clear(dissimilar)
	all := m.data.graph.Pairs()
	part := engine.NewMoments(m.data.d, engine.FullSecond)
	blocks := momentBlocks(len(all))
	for i := range blocks {
		from, to := len(all)*i/blocks, len(all)*(i+1)/blocks
		ev, err := m.bind(from, to)
		if err != nil {
			return 0, err
		}
		for c, sum := range [][]float64{similar, dissimilar} {
			class := float64(1 - 2*c)
			if err := ev.Sum(ctx, part.All, engine.Query{Radius: m.clip, Class: class, Second: engine.FullSecond}); err != nil {
				return 0, errors.Join(err, ev.Close())
			}
			for k, v := range part.Second {
				sum[k] += v
			}
		}
		count += part.Positives()
		if err := ev.Close(); err != nil {
			return 0, err
		}
	}
	return count, nil
}

// bind makes records of the differences of pairs.
func (m *Moments) bind(from, to int) (engine.Evaluator, error) {
	d := m.data.d
	p := differenceProblem(to-from, d, m.data.bound)
	x, y := make([]float64, (to-from)*d), make([]float64, to-from)
	for i := range y {
		pair, row := m.data.graph.Pairs()[from+i], x[i*d:(i+1)*d]
		b := m.data.Row(int(pair.B))
		for k, a := range m.data.Row(int(pair.A)) {
			row[k] = a - b[k]
		}
		if y[i] = 1; m.data.labels[from+i] {
			y[i] = -1
		}
	}
	records, err := engine.AdoptRecords(x, y, d, p.Bounds)
	if err != nil {
		return nil, err
	}
	k, err := cpu.Backend{Workers: m.workers}.PlanMoments(p)
	if err != nil {
		return nil, err
	}
	return k.Bind(records)
}
