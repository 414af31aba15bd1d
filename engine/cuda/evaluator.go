package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/kernels"
)

// evaluator holds records on a GPU.
type evaluator struct {
	*kernel // of rows, if planned is a kernel of persons
	planned *kernel
	persons *persons // nil if each row is a record

	y    []float64 // labels in the order of the records
	slot []int32   // row of a record, nil if the rows are in the order of the records

	memory memory
	rows   *rows
	s, c   driver.Pointer // scores and coefficients of the rows
	// methods run one after the other. near is the near-linear method among them, or nil if methods has no
	// near-linear method.
	methods []method
	near    *nearLinear
	replay  replay
}

// method computes the coefficients of all pairs in its own groups from the scores. The first method may set the
// coefficients of other groups to arbitrary values.
type method interface {
	coefficients(ctx context.Context, c driver.Context) error
}

// pairMethod is a method that visits pairs. terms adds up the integer terms at places, and finish converts the
// integer sums to coefficients.
type pairMethod interface {
	method
	terms(ctx context.Context, c driver.Context) error
	places() (at driver.Pointer, n int)
	finish(c driver.Context) error
}

// Bind implements engine.Kernel. It copies the records to the GPU, sparse records as dense rows. Records that
// do not fit into the memory of the GPU stay on the host, and every call copies them. Bind fails if
// Problem.Fits fails or if the GPU fails.
func (k *kernel) Bind(r *engine.Records) (engine.Evaluator, error) {
	if r == nil {
		return nil, errors.New("cuda: Bind: no records")
	}
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
	err = k.backend.Device.do(context.Background(), func(c driver.Context) error {
		err := e.bind(c, r, cl)
		if err != nil {
			err = errors.Join(err, e.free(c))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (e *evaluator) bind(c driver.Context, r *engine.Records, cl classes) error {
	module, err := e.backend.Device.load(c, kernels.PTX("rows"))
	if err != nil {
		return err
	}
	n, first := e.grid.n, e.grid.first
	if err := e.memory.alloc(c, []block{{&e.s, 8 * n}, {&e.c, 8 * n}}); err != nil {
		return err
	}
	e.s, e.c = e.s-driver.Pointer(8*first), e.c-driver.Pointer(8*first) // where the numbers of row 0 would be
	if r.ByPerson() {
		if err := e.bindPersons(c, r); err != nil {
			return err
		}
	}
	order := cl.order
	if order != nil {
		order = order[first : first+n]
	}
	if e.rows, err = bindRows(context.Background(), c, &e.memory, e.grid, module, r, order); err != nil {
		return err
	}
	if e.direct {
		var m method
		if e.factored {
			m, err = bindFactored(c, e)
		} else {
			m, err = bindSpliced(c, e)
		}
		if err != nil {
			return err
		}
		e.methods = append(e.methods, m)
	}
	if e.nearLinear() {
		m, err := bindNearLinear(c, e, cl)
		if err != nil {
			return err
		}
		e.methods, e.near = append(e.methods, m), m
		if m.whole() && e.prompt() && e.persons == nil && e.backend.Team == nil {
			return e.replay.open(c)
		}
	}
	return nil
}

func (e *evaluator) free(c driver.Context) error {
	err := e.replay.close(c)
	if e.rows != nil {
		err = errors.Join(err, e.rows.close(c))
	}
	return errors.Join(err, e.memory.free(c))
}

// Kernel implements engine.Evaluator.
func (e *evaluator) Kernel() engine.Kernel { return e.planned }

// Close implements engine.Evaluator. It frees the memory of the GPU.
func (e *evaluator) Close() error {
	if e.memory == nil {
		return nil
	}
	return e.backend.Device.release(e.free)
}

// Sum implements engine.Evaluator. It fails if the norm of W exceeds Problem.Radius by a relative amount of
// more than engine.RadiusSlack, because the roundoff bound would not hold. When ctx is done, Sum returns after
// the running kernel, which takes less than 100 ms.
func (e *evaluator) Sum(ctx context.Context, dst []float64, q engine.Query) error {
	if err := e.planned.problem.CheckGradient(ctx, dst, &q); err != nil {
		return err
	}
	if e.memory == nil {
		return errors.New("cuda: Sum after Close")
	}
	if e.backend.Team != nil {
		if !e.planned.whole(q.Pairs) {
			return fmt.Errorf("%w: pairs of one record with those before it are summed by one process; train without a team",
				engine.ErrUnsupported)
		}
		if e.direct {
			return e.pairSum(ctx, dst, q.W)
		}
		return e.teamSum(ctx, dst, q.W)
	}
	return e.backend.Device.do(ctx, func(c driver.Context) error {
		putFloats(e.rows.vectors, q.W)
		var stream driver.Stream
		var err error
		if p, ok := q.Pairs.(engine.PrefixPairs); ok {
			err = e.steps(c, stream, func() error { return e.sum(ctx, c, func() error { return e.prefix(c, p) }) })
		} else {
			stream = e.replay.stream
			err = e.replay.run(ctx, c, func(c driver.Context) error {
				return e.steps(c, stream, func() error { return e.all(ctx, c) })
			})
		}
		// Launches that still run use vectors, so Sum always waits for them.
		if err := errors.Join(err, c.SyncStream(stream)); err != nil {
			return err
		}
		floats(dst, e.rows.vectors[8*e.problem.D:])
		return nil
	})
}

// steps runs a gradient sum: it copies w to the GPU, calls sum, and copies rows.sum back.
func (e *evaluator) steps(c driver.Context, stream driver.Stream, sum func() error) error {
	if err := e.rows.give(c, stream); err != nil {
		return err
	}
	if err := sum(); err != nil {
		return err
	}
	return e.rows.take(c, stream)
}

// all sets rows.sum to the sum over all pairs within groups.
func (e *evaluator) all(ctx context.Context, c driver.Context) error {
	switch {
	case e.persons != nil && e.near != nil:
		return e.sum(ctx, c, func() error {
			if err := e.coefficients(ctx, c); err != nil {
				return err
			}
			if err := e.ownScores(c); err != nil {
				return err
			}
			return e.weigh(ctx, c)
		})
	case e.near != nil && e.near.whole():
		return e.near.sums(ctx, c)
	}
	return e.sum(ctx, c, func() error { return e.coefficients(ctx, c) })
}

// sum computes the scores, calls coefficients, and sets rows.sum from the coefficients.
func (e *evaluator) sum(ctx context.Context, c driver.Context, coefficients func() error) error {
	if err := e.rows.scores(ctx, c, e.s); err != nil {
		return err
	}
	if err := coefficients(); err != nil {
		return err
	}
	return e.rows.weightedSums(ctx, c, e.c)
}

// coefficients computes c for all pairs within groups. Records that are in no pair have coefficient 0.
func (e *evaluator) coefficients(ctx context.Context, c driver.Context) error {
	if !e.direct && e.near.covered < e.problem.N {
		if err := c.Clear(e.c, uint64(8*e.problem.N), 0); err != nil {
			return err
		}
	}
	for _, m := range e.methods {
		if err := m.coefficients(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// prefix computes the coefficients for prefix pairs on the host.
func (e *evaluator) prefix(c driver.Context, q engine.PrefixPairs) error {
	n := e.problem.N
	s, coefficient := make([]float64, n), make([]float64, n)
	if err := copyOut(c, s, e.s); err != nil {
		return err
	}
	at := func(i int32) int {
		if e.slot == nil {
			return int(i)
		}
		return int(e.slot[i])
	}
	record := func(t int) int32 {
		if q.Order == nil {
			return int32(t)
		}
		return q.Order[t]
	}
	last := record(q.T)
	sLast, yLast := s[at(last)], e.y[last]
	var sum, rest float64 // compensated sum (Neumaier)
	for t := range q.T {
		i := record(t)
		if i < 0 || int(i) >= n {
			return fmt.Errorf("cuda: PrefixPairs.Order has an entry outside 0 to %d", n-1)
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
	return copyIn(c, e.c, coefficient)
}
