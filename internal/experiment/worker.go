package experiment

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/engine/metrics"
	"dyad/internal/create"
	"dyad/privacy"
)

// worker processes one block after another. It has its own peers.
type worker struct {
	*runner
	peers       map[*Peer]*peerProcess
	at          int              // of its data in the plan
	train, test *engine.Records  // of the block
	encoder     *dataset.Encoder // of a basis that a run took by itself, else nil
	personRows  int              // of its data
	folder      string           // their files for the peers, "" before they are written
	wrote       bool             // those of columns, too
	best        float64          // the least objective on the test records, NaN if unknown
}

// outcome of a run.
type outcome struct {
	weights, scores []float64
	regret          float64 // mean over the records, of a stream
	seconds, passes float64
	version         string
	d               int // features of a basis, 0 for those of the block
}

// block does the runs of a block.
func (w *worker) block(ctx context.Context, b block) error {
	var err error
	w.at, w.wrote = b.data, false
	w.personRows, w.best = w.plan.Data[b.data].PersonRows, math.NaN()
	if w.train, w.test, err = w.data[b.data].split(b.n, b.split); err != nil {
		return fmt.Errorf("experiment: data set %s: %w", w.plan.Data[b.data].Name, err)
	}
	defer func() {
		_ = os.RemoveAll(w.folder) // the rest goes with the runner's folder
		w.folder = ""
	}()
	for _, one := range b.runs {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		start := w.o.Now()
		out, err := w.run(ctx, one)
		if err == nil {
			one.row.Value, err = w.measure(ctx, one.method, out)
		}
		if ctx.Err() != nil {
			return ctx.Err() // an error that comes from the interrupt is not an outcome
		}
		one.row.D, one.row.Status = cmp.Or(out.d, w.train.Dim()), statusOK
		one.row.Seconds, one.row.Passes = out.seconds, out.passes
		if err != nil {
			one.row.Status = status(err)
			one.row.Value, one.row.Seconds, one.row.Passes = 0, 0, 0
		}
		if err := w.finished(one, out.version, w.o.Now().Sub(start)); err != nil {
			return err
		}
	}
	return nil
}

// status returns an error as one line for a row.
func status(err error) string {
	if r, ok := errors.AsType[*algorithms.Refusal](err); ok && errors.Is(err, algorithms.ErrAssumption) {
		return "refused: " + oneLine(r.Of+r.Why.Error())
	}
	return statusFailed + oneLine(err.Error())
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (w *worker) run(ctx context.Context, one run) (outcome, error) {
	switch m := one.method; {
	case m.peer != nil:
		return w.ask(ctx, one)
	case m.baseline == classMeans:
		return outcome{weights: meanDifference(w.train), passes: 1}, nil
	case m.baseline == zero:
		return outcome{weights: make([]float64, taskLoss(w.plan.Task).ParamDim(w.train.Dim()))}, nil
	case m.baseline != "":
		return outcome{}, nil
	}
	w, err := w.curved(ctx, one)
	if err != nil {
		return outcome{}, err
	}
	start := w.o.Now()
	fit := w.fit
	if one.method.stream != nil {
		fit = w.fitStream
	}
	out, err := fit(ctx, one)
	out.seconds = w.o.Now().Sub(start).Seconds()
	if err == nil && w.encoder != nil {
		out.d = w.train.Dim()
		out.scores, err = metrics.Scores(w.test, out.weights[:out.d])
	}
	return out, err
}

// planned returns the algorithm of a run and its plan.
func (w *worker) planned(one run) (algorithms.Algorithm, *algorithms.Plan, error) {
	r := w.train
	budget := privacy.Budget{Epsilon: one.row.Epsilon, Delta: one.row.Delta}
	backend := cpu.Backend{Workers: max(1, runtime.GOMAXPROCS(0)/max(1, w.o.Parallel))}
	return one.method.plan(w.plan.Task, backend,
		engine.Problem{N: r.Units(), D: r.Dim(), Bounds: r.Bounds(), PersonRows: w.personRows}, budget)
}

// fit plans and trains an algorithm.
func (w *worker) fit(ctx context.Context, one run) (outcome, error) {
	a, p, err := w.planned(one)
	if err != nil {
		return outcome{}, err
	}
	res, err := algorithms.Run(ctx, w.train, shrinks(a, w.encoder), p,
		algorithms.Options{Public: true, Source: privacy.NewSeededSource(one.row.Seed)})
	if err != nil {
		return outcome{}, err
	}
	passes := p.Work.Gradients/float64(p.Spec.Kernel.Problem().Pairs().Len()) + float64(p.Work.Passes)
	return outcome{weights: res.Weights, passes: passes}, nil
}

// plan plans the method's algorithm for a problem, with the loss and radius of the method. The algorithm is nil for
// an online one.
func (m *method) plan(task string, backend engine.Backend, problem engine.Problem,
	budget privacy.Budget) (algorithms.Algorithm, *algorithms.Plan, error) {
	problem.Loss = m.loss(task)
	if m.stream != nil {
		p, err := m.planStream(backend, problem, budget)
		return nil, p, err
	}
	specOf := func(algorithm string) (algorithms.Spec, error) {
		p := problem
		if p.Radius = m.settings.radius; p.Radius == 0 {
			p.Radius = 1
			if task == taskAUC {
				p.Radius = algorithms.DefaultRadius(algorithm, p.N, p.D, budget, m.settings.mode, p.Loss)
			}
		}
		s, err := algorithms.NewSpec(backend, p, 0, budget, m.settings.mode)
		s.PaperUnsound = m.settings.unsound
		return s, err
	}
	spec, err := specOf(m.name)
	if err != nil {
		return nil, nil, err
	}
	choice := m.choose(algorithms.Question{Spec: spec, LossNamed: m.settings.loss != nil, L2: m.settings.l2})
	if spec, err = specOf(choice.Algorithm.Info().Name); err != nil {
		return nil, nil, err
	}
	p, err := choice.Plan(spec)
	return choice.Algorithm, p, err
}

// score returns the AUC, or the accuracy of nearest neighbours under a metric (nil weights mean the identity).
func (w *worker) score(ctx context.Context, m *method, o outcome) (float64, error) {
	if w.plan.Task == taskAUC {
		var err error
		if o.scores == nil {
			if o.scores, err = metrics.Scores(w.test, o.weights); err != nil {
				return 0, err
			}
		}
		return metrics.AUC(o.scores, w.test.Labels())
	}
	if m.baseline == majority {
		return majorityShare(w.train, w.test), nil
	}
	var matrix []float64
	if d := w.train.Dim(); o.weights != nil {
		matrix = make([]float64, d*d)
		engine.Symmetric{Dim: d}.Unpack(matrix, o.weights)
	}
	c, err := metrics.KNN(ctx, w.train, w.test, metrics.KNNOptions{K: w.plan.Neighbours, Metric: matrix})
	return c.Accuracy(), err
}

// ask lets a peer do the run. A peer that died is started again for the next run.
func (w *worker) ask(ctx context.Context, one run) (outcome, error) {
	if w.folder == "" {
		folder, err := os.MkdirTemp(w.temp, "split")
		if err != nil {
			return outcome{}, err
		}
		w.folder = folder
		if err := errors.Join(
			writeNew(w.path("train"), func(to io.Writer) error { return dataset.WriteNPZ(to, w.train, true) }),
			writeNew(w.path("test"), func(to io.Writer) error { return dataset.WriteNPZ(to, w.test, false) }),
		); err != nil {
			return outcome{}, err
		}
	}
	q := request{Train: w.path("train"), Test: w.path("test"), Seed: one.row.Seed, Options: one.method.peer.Options}
	if !one.method.nonPrivate {
		q.Epsilon, q.Delta = one.row.Epsilon, one.row.Delta
	}
	if q.Options == nil {
		q.Options = map[string]any{}
	}
	peer := one.method.peer
	if peer.Columns {
		if err := w.columns(one, &q); err != nil {
			return outcome{}, err
		}
	}
	process := w.peers[peer]
	if process == nil {
		var err error
		if process, err = startPeer(ctx, peer, w.plan.dir, w.o.Programs); err != nil {
			return outcome{}, err
		}
		w.peers[peer] = process
	}
	start := w.o.Now()
	a, died, err := process.ask(ctx, q, peer.limit)
	if err == nil {
		if w.plan.Task == taskMetric {
			err = a.check(engine.Symmetric{Dim: w.train.Dim()}.Len(), -1)
		} else {
			err = a.check(w.train.Dim(), w.test.Len())
		}
	}
	if died {
		process.stop()
		delete(w.peers, peer)
	}
	if err != nil {
		return outcome{}, err
	}
	if a.Seconds == 0 {
		a.Seconds = w.o.Now().Sub(start).Seconds()
	}
	out := outcome{weights: a.Weights, scores: a.Scores, seconds: a.Seconds, passes: a.Passes,
		version: oneLine(a.Version)}
	if len(a.Weights) > 0 {
		out.scores = nil
	}
	return out, nil
}

func (w *worker) path(name string) string { return filepath.Join(w.folder, name+".npz") }

func (w *worker) close() {
	for _, p := range w.peers {
		p.stop()
	}
}

// writeNew writes a new file that its owner alone may read.
func writeNew(path string, write func(w io.Writer) error) error {
	f, err := create.New(path, create.Private)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	return errors.Join(write(out), out.Flush(), f.Close())
}

// meanDifference is the difference of the class means.
func meanDifference(r *engine.Records) []float64 {
	d := r.Dim()
	sums, count := [2][]float64{make([]float64, d), make([]float64, d)}, [2]float64{}
	row := make([]float64, d)
	for i := range r.Len() {
		r.Row(i, row)
		c := 0
		if r.Label(i) > 0 {
			c = 1
		}
		count[c]++
		for k, v := range row {
			sums[c][k] += v
		}
	}
	w := make([]float64, d)
	for k := range w {
		w[k] = sums[1][k]/count[1] - sums[0][k]/count[0]
	}
	return w
}
