package cpu

import (
	"context"
	"fmt"

	"dyad/engine"
)

// ScoreSums computes, for given scores s_i, the weights
//
//	c_i = 2 sum over j of phi'(u_ij)(y_i - y_j),   u_ij = (y_i - y_j)(s_i - s_j)
//
// of the gradient sum of a score loss, by the method of a planned kernel. For persons, a term is
// multiplied by the weights of its two rows, and pairs within a person are left out. ScoreSums is used
// from one goroutine at a time.
type ScoreSums struct{ e *evaluator }

// BindScores returns the ScoreSums of a kernel that a Backend planned for a ScoreLoss. The problem
// of the kernel must have one feature and Radius 1, and its FeatureNorm must be the bound of the
// scores. r contains the labels and persons.
func BindScores(planned engine.Kernel, r *engine.Records) (*ScoreSums, error) {
	k, ok := planned.(*kernel)
	if !ok || k.problem.D != 1 || k.problem.Radius != 1 || k.problem.Bounds.LabelAbs != r.Bounds().LabelAbs {
		return nil, fmt.Errorf("cpu: BindScores needs a kernel for a score loss with one feature, Radius 1 and %d "+
			"records", r.Units())
	}
	p := k.problem // the scores take the place of the features
	p.D, p.Bounds, p.NonZerosPerRow = r.Dim(), r.Bounds(), 0
	if err := p.Fits(r); err != nil {
		return nil, err
	}
	if k.team != nil {
		return nil, fmt.Errorf("%w: a team of processes cannot compute scores of a network; train in one process",
			engine.ErrUnsupported)
	}
	e := k.bind(matrix{set: k.set, d: 1}, r)
	return &ScoreSums{e}, e.classify(context.Background())
}

// ScoreSumsError returns a bound of sum_i |computed c_i - exact c_i| for a kernel for BindScores. "Exact"
// has the same meaning as at engine.QueryBounds.Sum. The proof for Bounds (roundoff.go) multiplies a bound
// of this sum by the bound of the scores, so ScoreSumsError divides by the bound of the scores.
func ScoreSumsError(planned engine.Kernel) float64 {
	p := planned.Problem()
	return planned.Bounds(engine.Query{Pairs: engine.AllPairs{N: p.N}}).Sum / p.Bounds.FeatureNorm * (1 + 0x1p-40)
}

// Sum sets c to the weights. The absolute values of the scores must not exceed the planned bound.
func (s *ScoreSums) Sum(ctx context.Context, c, scores []float64) error {
	e := s.e
	e.x.dense = scores
	if err := e.prepare(ctx, []float64{1}); err != nil {
		return err
	}
	return forEach(ctx, e.kernel.workers, e.chunks(), func(worker, chunk int) {
		from, to := e.chunk(chunk)
		for ; from < to; from += coefRows {
			e.weights(worker, c[from:min(from+coefRows, to)], from)
		}
	})
}
