package experiment

import (
	"context"
	"errors"
	"math"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
)

// Regret records a public stream. It measures the regret of the released models, compared with the best fixed
// model. The results are not private.
type Regret struct {
	loss             engine.Loss
	radius, l2       float64
	batch, burnIn, d int
	x, y             []float64
	played           [][]float64 // the model of each update: the start, then the releases
}

// RegretReport holds the regrets, measured after the last update. Update b was made at the model w_(b-1). The
// index t runs over the N records of all updates, and b is the update that contains record t. L_t is the mean
// loss of the pairs of record t with all earlier records, and L is the mean loss of all pairs of the stream.
// Both include the term alpha/2 ||w||^2. The regrets are
//
//	Regret      = sum_t L_t(w_(b-1)) - min_C sum_t L_t        ([Huai20] equation 4),
//	Generalised = sum_t L(w_(b-1)) - N min_C L                ([Huai20] equation 5),
//
// where L replaces the expected loss, which is unknown. Minima are computed by accelerated projected gradient
// descent. The computed minima exceed the exact minima by at most Gap and GeneralisedGap (by convexity, over
// the whole ball), so the regrets may be too small by these amounts. With a secret state, w_(b-1) is a
// released, noisy model.
type RegretReport struct {
	Records        int     `json:"records"` // N
	Updates        int     `json:"updates"`
	Regret         float64 `json:"regret"`
	Gap            float64 `json:"regret_gap"`
	Played         float64 `json:"mean_loss_played"`
	Best           float64 `json:"mean_loss_best"`
	Generalised    float64 `json:"generalised_regret"`
	GeneralisedGap float64 `json:"generalised_regret_gap"`
	Note           string  `json:"note"`
}

// mostRegretWork bounds the pairs of a stream times the parameters, because the minimum takes some hundred
// gradients with this cost.
const mostRegretWork = 3e8

// MostRegretRecords returns the largest number of records for which the regret of a stream can be
// measured. With more records, the computation would take too long. The limit depends on the number of
// parameters of the model.
func MostRegretRecords(parameters int) int {
	return int(math.Sqrt(2 * mostRegretWork / float64(parameters)))
}

// NewRegret records the stream of a plan.
func NewRegret(p *algorithms.Plan) *Regret {
	s := p.Spec
	problem := s.Kernel.Problem()
	return &Regret{
		loss: problem.Loss, radius: problem.Radius, l2: s.L2, batch: s.Batch, burnIn: s.BurnIn, d: problem.D,
		played: [][]float64{problem.Domain().Start()},
	}
}

// Take adds a record to the stream.
func (r *Regret) Take(x []float64, y float64) { r.x, r.y = append(r.x, x...), append(r.y, y) }

// Update adds a release.
func (r *Regret) Update(w []float64) { r.played = append(r.played, w) }

// Measure computes the regrets. Call it after the last update.
func (r *Regret) Measure(ctx context.Context, p *algorithms.Plan) (*RegretReport, error) {
	updates := len(r.played) - 1
	n := r.burnIn + updates*r.batch // records of an unfinished batch met no model
	records, err := engine.NewRecords(r.x[:n*r.d], r.y[:n], r.d, p.Spec.Kernel.Problem().Bounds)
	if err != nil {
		return nil, err
	}
	problem := engine.Problem{N: n, D: r.d, Bounds: records.Bounds(), Loss: r.loss, Radius: r.radius}
	kernel, err := cpu.Backend{}.Plan(problem)
	if err != nil {
		return nil, err
	}
	ev, err := kernel.Bind(records)
	if err != nil {
		return nil, err
	}
	defer ev.Close()
	met := float64(n - r.burnIn)
	report := &RegretReport{Records: n - r.burnIn, Updates: updates,
		Note: "computed from the records without noise: not private"}
	for b, w := range r.played[:updates] {
		for t := r.burnIn + b*r.batch; t < r.burnIn+(b+1)*r.batch; t++ {
			report.Played += r.prefixLoss(records, w, t) / met
		}
		mean, err := meanLoss(ctx, r.loss, w, r.l2, records)
		if err != nil {
			return nil, err
		}
		report.Generalised += float64(r.batch) * mean
	}
	sum := make([]float64, len(r.played[0]))
	prefix := func(dst, w []float64) error {
		clear(dst)
		for t := r.burnIn; t < n; t++ {
			if err := ev.Sum(ctx, sum, engine.Gradient(w, engine.PrefixPairs{T: t})); err != nil {
				return err
			}
			for k, g := range sum {
				dst[k] += g / float64(t) / met
			}
		}
		return nil
	}
	best, gap, err := minimise(problem, p.Spec.Constants, r.l2, prefix)
	if err != nil {
		return nil, err
	}
	for t := r.burnIn; t < n; t++ {
		report.Best += r.prefixLoss(records, best, t) / met
	}
	report.Regret, report.Gap = met*(report.Played-report.Best), met*gap
	least, gap, err := leastLoss(ctx, ev, problem, p.Spec.Constants, r.l2, records)
	if err != nil {
		return nil, err
	}
	report.Generalised -= met * least
	report.GeneralisedGap = met * gap
	return report, nil
}

// prefixLoss is the mean loss of record t, 0-based, with the t records before it, and
// the L2 term.
func (r *Regret) prefixLoss(records *engine.Records, w []float64, t int) float64 {
	row := func(i int) engine.Record {
		return engine.Record{X: records.Rows(nil, i, 1), Y: records.Label(i)}
	}
	sum, z := 0.0, row(t)
	for i := range t {
		sum += r.loss.Value(w, z, row(i))
	}
	return sum/float64(t) + r.l2/2*squaredNorm(w)
}

func squaredNorm(w []float64) (sum float64) {
	for _, v := range w {
		sum += v * v
	}
	return sum
}

// leastLoss returns the least meanLoss in the domain of the problem, and a bound of how far it is above the minimum.
func leastLoss(ctx context.Context, ev engine.Evaluator, problem engine.Problem, c engine.Constants, l2 float64,
	records *engine.Records) (least, gap float64, err error) {
	n := float64(problem.N)
	best, gap, err := minimise(problem, c, l2, func(dst, w []float64) error {
		err := ev.Sum(ctx, dst, engine.Gradient(w, engine.AllPairs{N: problem.N}))
		for k := range dst {
			dst[k] /= n * (n - 1)
		}
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	least, err = meanLoss(ctx, problem.Loss, best, l2, records)
	return least, gap, err
}

// minimise returns a model of C and a bound of how far the mean loss with this gradient is above its minimum.
// For convex f, f(w) - f(v) <= <g, w - v> <= <g, w> + r ||g|| for every v of the ball.
func minimise(problem engine.Problem, c engine.Constants, l2 float64,
	gradient func(dst, w []float64) error) (best []float64, gap float64, err error) {
	const steps, enough = 300, 1e-9
	domain := problem.Domain()
	w := domain.Start()
	look, g, previous := append([]float64(nil), w...), make([]float64, len(w)), make([]float64, len(w))
	eta, momentum := 1/(c.Smoothness+l2), 0.0
	gap = math.Inf(1)
	for step := 0; ; step++ {
		if err := gradient(g, look); err != nil {
			return nil, 0, err
		}
		inner := 0.0
		for k := range g {
			g[k] += l2 * look[k]
			inner += g[k] * look[k]
		}
		if above := inner + problem.Radius*math.Sqrt(squaredNorm(g)); above < gap {
			best, gap = append(best[:0], look...), max(0, above)
		}
		if gap <= enough*c.Lipschitz*problem.Radius || step == steps {
			return best, gap, nil
		}
		copy(previous, w)
		turn := 0.0
		for k := range w {
			w[k] = look[k] - eta*g[k]
		}
		if err := domain.Project(w, math.Sqrt(squaredNorm(w))*(1+0x1p-20)); err != nil {
			return nil, 0, err
		}
		for k := range w {
			turn += (look[k] - w[k]) * (w[k] - previous[k])
		}
		momentum++
		if turn > 0 {
			momentum = 0
		}
		for k := range look {
			look[k] = w[k] + momentum/(momentum+3)*(w[k]-previous[k])
		}
		if err := domain.Project(look, 3*problem.Radius); err != nil {
			return nil, 0, err
		}
		if math.IsNaN(look[0]) {
			return nil, 0, errors.New("the minimum of the measured loss is not finite")
		}
	}
}
