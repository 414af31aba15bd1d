package cuda

import (
	"context"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/kernels"
)

// Bind implements engine.Kernel. It copies the records to the GPU, sparse records as dense rows. Records that
// do not fit into the memory of the GPU stay on the host, and every call copies them. Bind fails if
// Problem.Fits fails or if the GPU fails.
func (k *kernel) Bind(r *engine.Records) (engine.Evaluator, error) {
	if err := k.problem.Fits(r); err != nil {
		return nil, err
	}
	e := &evaluator{kernel: k, planned: k, y: r.Labels()}
	var err error
	switch {
	case r.ByPerson():
		e.kernel, err = k.ofPersons(r)
	case k.backend.Team != nil:
		e.kernel, err = k.inTeam()
	}
	if err != nil {
		return nil, err
	}
	var cl classes
	if k.nearLinear() {
		cl = classesOf(r, e.groups(), func(size int) bool { return size >= k.nearFrom })
		e.slot = cl.slot
	}
	return e, e.fill(k.backend.Device, func(c *job) { e.bind(c, r, cl) })
}

func (e *evaluator) bind(c *job, r *engine.Records, cl classes) {
	module := e.device.load(c, kernels.PTX("rows"))
	n, first := e.grid.n, e.grid.first
	e.alloc(c, []block{{&e.s, 8 * n}, {&e.c, 8 * n}})
	e.s, e.c = e.s-driver.Pointer(8*first), e.c-driver.Pointer(8*first) // where the numbers of row 0 would be
	if r.ByPerson() {
		e.bindPersons(c, r)
	}
	order := cl.order
	if order != nil {
		order = order[first : first+n]
	}
	e.rows = bindRows(c, &e.held, e.grid, module, r, order)
	switch {
	case e.factored:
		e.pairs = bindFactored(c, e)
	case e.direct:
		e.pairs = bindSpliced(c, e)
	}
	if e.nearLinear() {
		e.near = bindNearLinear(c, e, cl)
		if e.near.whole() && e.prompt() && e.persons == nil && e.backend.Team == nil {
			e.others = append(e.others, e.replay.close)
			e.replay.open(c)
		}
	}
}

// Sum implements engine.Evaluator. It fails if the norm of W exceeds Problem.Radius by a relative amount of
// more than engine.RadiusSlack, because the roundoff bound would not hold. When ctx is done, Sum returns after
// the running kernel, which takes less than 100 ms.
func (e *evaluator) Sum(ctx context.Context, dst []float64, q engine.Query) error {
	if err := e.planned.problem.CheckGradient(ctx, dst, &q); err != nil {
		return err
	}
	if err := e.open("Sum"); err != nil {
		return err
	}
	if e.backend.Team != nil {
		if !e.planned.whole(q.Pairs) {
			return engine.ErrTeamPrefix
		}
		if e.direct {
			return e.pairSum(ctx, dst, q.W)
		}
		return e.teamSum(ctx, dst, q.W)
	}
	return e.device.do(ctx, func(c *job) {
		putFloats(e.rows.vectors, q.W)
		var stream driver.Stream
		if p, ok := q.Pairs.(engine.PrefixPairs); ok {
			e.rows.give(c, stream)
			e.rows.scores(ctx, c, e.s)
			e.prefix(c, p)
			e.rows.weightedSums(ctx, c, e.c)
			e.rows.take(c, stream)
		} else {
			stream = e.replay.stream
			e.replay.run(ctx, c, func(c *job) {
				e.rows.give(c, stream)
				e.all(ctx, c)
				e.rows.take(c, stream)
			})
		}
		// Launches that still run use vectors, so Sum always waits for them.
		c.fail(c.driver.SyncStream(stream))
		if c.err == nil {
			floats(dst, e.rows.vectors[8*e.problem.D:])
		}
	})
}

// all sets rows.sum to the sum over all pairs within groups.
func (e *evaluator) all(ctx context.Context, c *job) {
	if e.persons == nil && e.near != nil && e.near.whole() {
		e.near.sums(ctx, c)
		return
	}
	e.rows.scores(ctx, c, e.s)
	e.coefficients(ctx, c)
	if e.persons != nil && e.near != nil {
		e.ownScores(c)
		e.weigh(ctx, c)
	}
	e.rows.weightedSums(ctx, c, e.c)
}

// coefficients computes c for all pairs within groups. Records that are in no pair have coefficient 0.
func (e *evaluator) coefficients(ctx context.Context, c *job) {
	if e.pairs != nil {
		e.pairs.terms(ctx, c)
		e.pairs.finish(c)
	} else if e.near.covered < e.problem.N {
		c.clear(e.c, 8*e.problem.N)
	}
	if e.near != nil {
		e.near.coefficients(ctx, c)
	}
}

// prefix computes the coefficients for prefix pairs on the host.
func (e *evaluator) prefix(c *job, q engine.PrefixPairs) {
	n := e.problem.N
	s, coefficient := make([]float64, n), make([]float64, n)
	if c.copyOut(s, e.s); c.err != nil {
		return
	}
	at := func(i int32) int {
		if e.slot == nil {
			return int(i)
		}
		return int(e.slot[i])
	}
	last := q.Record(q.T)
	sLast, yLast := s[at(last)], e.y[last]
	var sum, rest float64 // compensated sum (Neumaier)
	for t := range q.T {
		i := q.Record(t)
		if i < 0 || int(i) >= n {
			c.fail(fmt.Errorf("cuda: PrefixPairs.Order has an entry outside 0 to %d", n-1))
			return
		}
		d := yLast - e.y[i]
		if d == 0 {
			continue
		}
		v := e.loss.DPhi(d * (sLast - s[at(i)]))
		if !e.scores.Smooth() {
			v = kernels.Clamp(v, e.scores.SlopeMin, e.scores.SlopeMax)
		}
		v *= d
		coefficient[at(i)] -= v
		next := sum + v
		if math.Abs(sum) >= math.Abs(v) {
			rest += (sum - next) + v
		} else {
			rest += (v - next) + sum
		}
		sum = next
	}
	coefficient[at(last)] += sum + rest
	c.copyIn(e.c, coefficient)
}
