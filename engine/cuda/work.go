package cuda

import (
	"dyad/engine"
	"dyad/engine/embedding"
)

// planned is a kernel of this package, with methods that describe the work of a sum over all its pairs.
type planned interface {
	engine.Kernel
	on() Backend
	// programs returns the names of the embedded PTX programs that the kernel runs.
	programs() []string
	// work returns the counts for time models and the name of the method in time models. The name is "" if
	// there is no time model for the kernel.
	work() (w work, method string)
	// bytes returns the number of bytes that the kernel needs on the GPU, including memory for the driver.
	bytes() uint64
}

var (
	_ planned = (*kernel)(nil)
	_ planned = (*metricKernel)(nil)
	_ planned = (*momentsKernel)(nil)
)

func (k *metricKernel) on() Backend { return k.backend }

// Bounds implements engine.Kernel. Seconds is the time on the GPU of the plan.
func (k *kernel) Bounds(q engine.Query) engine.QueryBounds { return boundsOf(k, q) }

// Bounds implements engine.Kernel. Seconds is the time on the GPU of the plan.
func (k *metricKernel) Bounds(q engine.Query) engine.QueryBounds { return boundsOf(k, q) }

func boundsOf(k interface {
	planned
	roundoff(engine.Pairs) float64
	neighbourRoundoff(engine.Pairs) float64
	sharers() string
}, q engine.Query) engine.QueryBounds {
	if !q.IsPlain() {
		return engine.Unanswered()
	}
	return engine.QueryBounds{Sum: k.roundoff(q.Pairs), Neighbour: k.neighbourRoundoff(q.Pairs),
		Seconds: secondsOf(k, q.Pairs), Make: k.sharers()}
}

func (k *kernel) programs() []string {
	names := []string{"rows"}
	if k.nearLinear() {
		names = append(names, "nearlinear")
	}
	if k.direct {
		names = append(names, "score")
		if !k.factored {
			names = append(names, k.splicedName())
		}
	}
	return names
}

// work returns the name "" for query groups, for persons and for losses other than the logistic loss, because
// there is no time model for these kernels.
func (k *kernel) work() (work, string) {
	n := float64(k.problem.N)
	w := work{records: n, numbers: n * float64(k.problem.D)}
	_, logistic := k.loss.(engine.Logistic)
	switch {
	case len(k.problem.Groups) > 0 || k.problem.ByPerson() || !logistic:
		return w, ""
	case k.factored:
		w.pairs = n * n / 4 // upper bound
	case k.direct:
		w.pairs = n * (n - 1) / 2
	}
	return w, k.Method()
}

func (k *kernel) bytes() uint64 {
	return k.grid.bytes(k.columnBytes())
}

func (k *metricKernel) programs() []string { return []string{"metric", k.file} }

func (k *metricKernel) work() (work, string) {
	if k.problem.ByPerson() {
		return metricWork(k.problem), "" // no time model
	}
	return metricWork(k.problem), k.Method()
}

// metricWork returns the work for metric losses. A pair counts as often as it has features, rounded up to whole tiles.
func metricWork(p engine.Problem) work {
	n, d := float64(p.N), float64(p.D)
	return work{records: n, numbers: n * d, pairs: n * (n - 1) / 2 * float64(roundUp(p.D, 64))}
}

// forecast returns the forecast for the kernel of a loss with this network. The CPU computes the sums over pairs.
func (k *networkKernel) forecast(whole engine.Kernel) Forecast {
	b, p := k.backend, whole.Problem()
	f := Forecast{Device: b.Name(), GPU: b.Device.Info().Name, Memory: k.bytes(), Have: b.memory()}
	if k.Seconds() > 0 {
		f.Seconds = whole.Bounds(engine.Query{Pairs: engine.AllPairs{N: p.N}}).Seconds
	}
	return f
}

// models returns the time models that the backend uses.
func (b Backend) models() (Models, error) {
	if b.Models != nil {
		return *b.Models, nil
	}
	return fitted()
}

// A Forecast is the predicted memory and time of a planned kernel on its GPU. It follows from public numbers.
type Forecast struct {
	Device string // such as cuda:0, or cuda:h200
	GPU    string // product name of the GPU
	Memory uint64 // largest number of bytes that the kernel uses on the GPU
	Have   uint64 // number of bytes that a plan may use on the GPU
	// Seconds is the time of a gradient sum over all pairs. If Moments is true, it is the time of a pass that
	// sums moments. It is 0 if there is no time model. If Measured is false, Seconds is predicted from counts
	// of instructions and the data sheet.
	Seconds  float64
	Measured bool
	Moments  bool
	// Copying is the time of copying the records to the GPU in seconds, predicted from the data sheet. It is 0
	// if the package has no data sheet of the GPU. CopyingNarrow is the same time for records in float32, which
	// are copied without conversion for moments. Panels is true if the records do not fit on the GPU and are
	// copied for every pass.
	Copying, CopyingNarrow float64
	Panels                 bool
}

// ForecastOf returns the forecast of a kernel that this package planned. For other kernels ok is false.
func ForecastOf(k engine.Kernel) (f Forecast, ok bool) {
	if r, both := k.(engine.Recentred); both {
		if f, ok = ForecastOf(r.Moments); ok {
			gradients, _ := ForecastOf(r.Kernel)
			f.Memory += gradients.Memory
		}
		return f, ok
	}
	if n, network := k.(interface{ Elsewhere() embedding.RowsKernel }); network {
		if rows, ok := n.Elsewhere().(*networkKernel); ok {
			return rows.forecast(k), true
		}
	}
	p, ok := k.(planned)
	if !ok {
		return Forecast{}, false
	}
	b := p.on()
	f = Forecast{Device: b.Name(), GPU: b.Device.Info().Name, Memory: p.bytes(), Have: b.memory()}
	w, method := p.work()
	_, f.Moments = k.(*momentsKernel)
	switch k := k.(type) {
	case *kernel:
		f.Panels = !k.grid.resident
	case *momentsKernel:
		f.Panels = !k.grid.resident
	}
	measured, err := b.models()
	m, found := measured.Of(f.GPU, method)
	if f.Measured = found && err == nil; f.Measured {
		f.Seconds = m.Seconds(w)
	}
	g, known := dataSheet(f.GPU)
	if known {
		problem := p.Problem()
		f.Copying = 8 * float64(problem.N) * float64(problem.D) / (linkShare * g.Link)
		if f.CopyingNarrow = f.Copying; f.Moments {
			f.CopyingNarrow /= 2
		}
	}
	if m, found := g.predicted(method); found && !f.Measured {
		f.Seconds = m.Seconds(w)
	}
	return f, true
}

func secondsOf(k engine.Kernel, p engine.Pairs) float64 {
	if _, all := p.(engine.AllPairs); !all && p != nil {
		return 0
	}
	f, _ := ForecastOf(k)
	return f.Seconds
}

// Bounds implements engine.Kernel (docs/theory.md#computed-moments). The proof is as in package cpu, but with the
// depth of the sums on the GPU. The GPU fuses each product with its addition, so a sum of depth k has an error of at
// most gamma(k) times the sum of absolute values. The host sums t: first blocks of 4096, then the blocks of a chunk,
// then the chunks. A team adds up the same partial sums in the same order. Seconds is the time of a pass with second
// moments. The proof of package cpu also covers persons.
func (k *momentsKernel) Bounds(q engine.Query) engine.QueryBounds {
	if q.Pairs != nil {
		return engine.Unanswered()
	}
	radius, second := q.Radius, q.Second
	n, d := float64(k.problem.N), float64(k.problem.D)
	gamma := engine.Gamma(k.depth())
	lost := n * 0x1p-1074 // loss by underflow of a coordinate
	const up = 1 + 0x1p-40
	e := engine.QueryBounds{Seconds: secondsOf(k, nil), Positives: engine.Gamma(k.positivesDepth()) * n * up}
	if k.problem.ByPerson() {
		lost = float64(k.grid.all) * (1 + radius) * 0x1p-1072
		e.Positives += lost * up
	}
	e.Sum = (gamma*n*radius + lost*d) * up
	if second != engine.NoSecond {
		e.Second = ((gamma+2*engine.SymmetricError)*n*radius*radius + lost*d*d) * up
	}
	return e
}
