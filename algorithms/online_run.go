package algorithms

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"dyad/engine"
	"dyad/privacy"
)

// Online is a running stream. It must be used from one goroutine at a time. If the stream has a buffer, its
// memory does not grow with the number of records.
type Online struct {
	// Run is the id of the charge. Session is the number of times that the run was resumed. Schema identifies how
	// records became numbers. All are kept in the saved state.
	Run     string
	Session int
	Schema  string

	plan    *Plan
	session privacy.Session
	update  update
	rows    int // number of rows that the kernel reads
	cap     int // capacity of held

	count, updates int
	// w is the iterate. With a secret state it is noiseless and secret; otherwise it is a function of releases.
	w      []float64
	centre []float64 // w_0 of OnPairC as printed in the paper
	// released is the latest release. played is the sum of the earlier releases, with the start as the first
	// one.
	released, played []float64
	prefix           *prefixState // state of DPFTRL
	x, y             []float64    // x has d features for each row, y one label for each row
	held             []int32      // the rows of the buffer, oldest first if not a reservoir
	fresh            []int32      // the rows of the unfinished batch
	failed           error

	sum, query []float64
	order      []int32
}

// NewStream starts a stream that releases through s. The caller must have charged the Events of the plan
// (ledger.Ledger.Begin), unless s is a session on public data.
func NewStream(p *Plan, s privacy.Session) (*Online, error) {
	if p.stream() == nil {
		return nil, fmt.Errorf("algorithms: the plan of %s is not for a stream; plan an algorithm of StreamCatalog",
			p.Algorithm)
	}
	o := newOnline(p, s)
	if p.stream().start != nil {
		if err := p.stream().start(o); err != nil {
			return nil, err
		}
	}
	copy(o.released, o.w)
	return o, nil
}

// startPrinted draws w_T1, and also w_0 if the objective is centred at w_0. The iterates between w_0 and w_T1
// are random too and are not needed.
func (o *Online) startPrinted() error {
	o.centre = make([]float64, o.plan.stream().centre)
	for _, w := range [][]float64{o.centre, o.w} {
		if len(w) == 0 {
			continue
		}
		radius := o.plan.Spec.Kernel.Problem().Radius
		o.session.UniformBall(w, radius)
		if err := o.update.domain.Project(w, radius*(1+0x1p-40)); err != nil {
			return err
		}
	}
	return nil
}

func newOnline(p *Plan, s privacy.Session) *Online {
	pr := p.Spec.Kernel.Problem()
	o := &Online{plan: p, session: s, rows: pr.N, cap: p.Spec.Buffer}
	o.update = p.Spec.newUpdate(worstMeanRoundoff(p.Spec.Kernel, p.Spec.largestT()+1))
	if o.cap == 0 {
		o.cap = p.Spec.Horizon
	}
	o.w = o.update.domain.Start()
	o.x, o.y = make([]float64, pr.N*pr.D), make([]float64, pr.N)
	o.sum, o.query = make([]float64, len(o.w)), make([]float64, len(o.w))
	o.released, o.played = make([]float64, len(o.w)), make([]float64, len(o.w))
	o.prefix = newPrefixState(p.stream().factor, len(o.w))
	return o
}

// Count returns the number of records taken.
func (o *Online) Count() int { return o.count }

// Updates returns the number of releases made.
func (o *Online) Updates() int { return o.updates }

// Last returns the latest release. It returns nil before the first update and after a failed update.
func (o *Online) Last() []float64 {
	if o.updates == 0 || o.failed != nil {
		return nil
	}
	return slices.Clone(o.released)
}

// Average returns the mean of the iterates w_0, ..., w_(b-1) at which the gradients of the b updates so far
// were taken. It returns nil before the first update, and after an error of an update. This mean is the
// model of online-to-batch conversion ([Huai20] equation 6 and Theorem 4), whose expected excess risk on
// independent records is at most the mean regret. With a secret state the mean is over the noisy copies. It
// is a function of the releases and the start, so it has no privacy cost.
func (o *Online) Average() []float64 {
	if o.updates == 0 || o.failed != nil {
		return nil
	}
	mean := make([]float64, len(o.played))
	for k, v := range o.played {
		mean[k] = v / float64(o.updates)
	}
	return mean
}

// Step takes the next record, which has d features and is projected to the bounds. At the end of a batch Step
// returns the released iterate, and otherwise nil. Whether a call ends a batch depends on the number of records
// only.
//
// The release may leave the program only after a state (Save) that includes the release is durable. Otherwise a
// crash could lead to a second, different release of the same update. ErrStreamEnd means that the record was
// not taken. If ctx is done before the call, or the record is refused, the record is not taken and the stream
// can continue. An error of an update ends the stream.
func (o *Online) Step(ctx context.Context, x []float64, y float64) ([]float64, error) {
	pr := o.plan.Spec.Kernel.Problem()
	switch {
	case o.failed != nil:
		return nil, o.failed
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case len(x) != pr.D:
		return nil, fmt.Errorf("algorithms: the record has %d features, but records of the stream have %d",
			len(x), pr.D)
	case o.count >= o.plan.Spec.Horizon:
		return nil, fmt.Errorf("%w of %d records", ErrStreamEnd, o.plan.Spec.Horizon)
	}
	record, err := engine.NewRecords(x, []float64{y}, pr.D, pr.Bounds)
	if err != nil {
		return nil, err
	}
	row := o.freeRow()
	record.Row(0, o.x[int(row)*pr.D:(int(row)+1)*pr.D])
	o.y[row] = record.Label(0)
	o.count++
	if o.count <= o.plan.Spec.BurnIn {
		o.hold(row, o.count)
		return nil, nil
	}
	o.fresh = append(o.fresh, row)
	if len(o.fresh) < o.plan.Spec.Batch {
		return nil, nil
	}
	w, err := o.finishBatch(context.WithoutCancel(ctx))
	if err != nil {
		o.failed = fmt.Errorf("algorithms: the stream is over: %w", err)
		clear(o.w)
		return nil, o.failed
	}
	return w, nil
}

// ring reports whether the rows are a ring buffer of the last cap + Batch records.
func (o *Online) ring() bool { return !o.plan.Spec.Reservoir && !o.plan.Spec.PerClass }

// freeRow returns a row that neither the buffer nor the batch uses.
func (o *Online) freeRow() int32 {
	if o.ring() {
		return int32(o.count % o.rows)
	}
	used := make([]bool, o.rows)
	for _, r := range o.held {
		used[r] = true
	}
	for _, r := range o.fresh {
		used[r] = true
	}
	for r := range used {
		if !used[r] {
			return int32(r)
		}
	}
	return 0 // not reached: rows >= cap + Batch
}

// hold puts record t, which is in the given row, into the buffer.
func (o *Online) hold(row int32, t int) {
	switch {
	case o.plan.Spec.PerClass:
		o.holdInClass(row)
	case len(o.held) < o.cap:
		o.held = append(o.held, row)
	case !o.plan.Spec.Reservoir:
		copy(o.held, o.held[1:])
		o.held[len(o.held)-1] = row
	default:
		// By algorithm R the record enters the buffer with probability cap/t. The coin does not depend on
		// data.
		var coin [1]float64
		o.session.UniformBall(coin[:], 1)
		if slot := int(math.Floor((coin[0] + 1) / 2 * float64(t))); slot >= 0 && slot < o.cap {
			o.held[slot] = row
		}
	}
}

// holdInClass puts a row into the buffer. If the row's class already has its share of the buffer, the row
// replaces the oldest row of the class.
func (o *Online) holdInClass(row int32) {
	oldest, count := -1, 0
	for i, r := range o.held {
		if (o.y[r] > 0) == (o.y[row] > 0) {
			if count == 0 {
				oldest = i
			}
			count++
		}
	}
	if count >= o.cap/2 {
		o.held = slices.Delete(o.held, oldest, oldest+1)
	}
	o.held = append(o.held, row)
}

// finishBatch makes the update of the records in fresh and returns the release.
func (o *Online) finishBatch(ctx context.Context) ([]float64, error) {
	p := o.plan
	pr := p.Spec.Kernel.Problem()
	records, err := engine.NewRecords(o.x, o.y, pr.D, pr.Bounds)
	if err != nil {
		return nil, err
	}
	ev, err := p.Spec.Kernel.Bind(records)
	if err != nil {
		return nil, err
	}
	clear(o.query)
	first := o.count - len(o.fresh) + 1
	for i, row := range o.fresh {
		o.order = append(append(o.order[:0], o.held...), row)
		pairs := float64(p.Spec.partners(first + i))
		if err := ev.Sum(ctx, o.sum, engine.Gradient(o.w, engine.PrefixPairs{Order: o.order, T: len(o.held)})); err != nil {
			return nil, errors.Join(err, ev.Close())
		}
		for k, g := range o.sum {
			o.query[k] += g / pairs
		}
		o.hold(row, first+i)
	}
	if err := ev.Close(); err != nil {
		return nil, err
	}
	for k := range o.query {
		o.query[k] /= float64(len(o.fresh))
	}
	o.fresh = o.fresh[:0]
	o.updates++
	w, err := p.stream().release(o)
	if err != nil {
		return nil, err
	}
	for k, v := range o.released {
		o.played[k] += v
	}
	copy(o.released, w)
	return w, nil
}

// fedBack releases the noisy gradient and makes a step with it.
func (o *Online) fedBack() ([]float64, error) {
	if err := o.session.Release(o.query, o.plan.Certificate(), o.plan.Noise()); err != nil {
		return nil, err
	}
	eta := o.plan.stream().eta(o.updates)
	for k := range o.w {
		o.w[k] -= eta * (o.query[k] + o.update.alpha*o.w[k])
	}
	return o.publish(o.w)
}

// publish projects w in place and returns a copy. w must be a function of releases.
func (o *Online) publish(w []float64) ([]float64, error) {
	square := 0.0
	for _, v := range w {
		square += v * v
	}
	if err := o.update.domain.Project(w, math.Sqrt(square)*(1+0x1p-20)); err != nil {
		return nil, err
	}
	return append([]float64(nil), w...), nil
}

// secret makes a noiseless step and releases a noisy copy of the iterate. The state and the output are two
// different variables.
func (o *Online) secret(scale float64) ([]float64, error) {
	if err := o.update.apply(o.w, o.query, o.plan.stream().eta(o.updates), 1); err != nil {
		return nil, err
	}
	out := make([]float64, len(o.w))
	for k := range out {
		out[k] = o.w[k] / scale
	}
	if err := o.session.Release(out, o.plan.Certificate(), o.plan.Noise()); err != nil {
		return nil, err
	}
	for k := range out {
		out[k] *= scale
	}
	return o.publish(out)
}

// printed makes the update of [Huai20] Algorithm 1, lines 10 to 13.
func (o *Online) printed() ([]float64, error) {
	for k, v := range o.centre {
		o.query[k] -= o.update.alpha * v
	}
	u := o.update
	u.lipschitz += u.alpha * u.radius
	if err := u.apply(o.w, o.query, o.plan.stream().eta(o.updates), 1); err != nil {
		return nil, err
	}
	unit := u.alpha * float64(o.count) / 2
	for k := range o.w {
		o.w[k] *= unit
	}
	if err := o.session.Release(o.w, o.plan.Certificate(), o.plan.Noise()); err != nil {
		return nil, err
	}
	for k := range o.w {
		o.w[k] /= unit
	}
	return o.publish(o.w)
}
