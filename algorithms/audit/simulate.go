package audit

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"runtime"
	"sync"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/internal/tasks"
	"dyad/privacy"
)

// Access is the knowledge of the adversary in addition to the releases.
type Access int

// The kinds of access. The zero value is stronger and faster.
const (
	// WhiteBox means that the adversary knows both data sets and all coins except the noise.
	WhiteBox Access = iota
	// BlackBox means that the adversary knows both data sets.
	BlackBox
)

// String returns "white-box" or "black-box".
func (a Access) String() string {
	if a == BlackBox {
		return "black-box"
	}
	return "white-box"
}

// worker runs a target in one goroutine.
type worker struct {
	t    Target
	own  [2]*lookup
	most int // as in attack.Recorder, for pair
}

func newWorker(t Target) (*worker, error) {
	w := &worker{t: t}
	if t.Stream != nil || t.Program != nil {
		return w, nil // streams and programs bind their data themselves
	}
	for side, r := range []*engine.Records{t.Data, t.Neighbour} {
		ev, err := t.Plan.Spec.Kernel.Bind(r)
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
		w.own[side] = &lookup{Evaluator: ev}
	}
	return w, nil
}

func (w *worker) close() error {
	var errs []error
	for _, l := range w.own {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}

func index(neighbour bool) int {
	if neighbour {
		return 1
	}
	return 0
}

// pair runs the plan on one data set, through a real session with the given noise. Then it replays the
// releases on the other data set. It returns the run, including how far the exact vectors moved in the replay.
func (w *worker) pair(ctx context.Context, neighbour bool, noise uint64) (Observation, error) {
	if p := w.t.Program; p != nil && p.Draw != nil {
		return p.draw(neighbour, noise)
	}
	session, err := privacy.NewPublicSession(privacy.NewSeededSource(noise), w.t.claim().Events)
	if err != nil {
		return Observation{}, err
	}
	first := &attack.Recorder{Session: session, Coins: privacy.NewSeededSource(w.t.Coins), Most: w.most}
	var o Observation
	if o.Weights, err = w.train(ctx, neighbour, first); err != nil && !errors.Is(err, attack.ErrEnough) {
		return Observation{}, err
	}
	second := &attack.Recorder{Session: session, Coins: privacy.NewSeededSource(w.t.Coins), Of: first, Most: w.most}
	again, err := w.train(ctx, !neighbour, second)
	if errors.Is(err, attack.ErrEnough) {
		err = nil
	}
	if err := second.Outcome(err); err != nil {
		return Observation{}, err
	}
	if p := w.t.Program; p != nil && p.Rows != nil && !attack.SameBits(again, o.Weights) {
		return Observation{}, errMoreTold
	}
	attacked := 0
	for i, made := range first.Calls {
		other := second.Calls[i]
		data, replaced := made, other
		if neighbour {
			data, replaced = replaced, data
		}
		move, ratio, err := 0.0, 0.0, error(nil)
		switch made.Kind {
		case attack.Choice:
			ratio = logChance(replaced, made.Chosen) - logChance(data, made.Chosen)
		case attack.Selection:
			move, err = selectionMove(other)
		case attack.Release:
			ratio, err = logRatio(made.Noise, made.After, data.Before, replaced.Before)
			gap, noise := gammaParts(made.Noise, made.After, made.Before, other.Before)
			o.gap, o.noise = o.gap+gap, o.noise+noise
		default:
			continue
		}
		if err != nil {
			return Observation{}, err
		}
		attacked++
		o.runsMove, o.LogRatio = max(o.runsMove, move), o.LogRatio+ratio
	}
	if attacked == 0 {
		return Observation{}, errMoreReleases
	}
	o.Releases, o.moves = first.Made(attack.Release), second.Moves()
	return o, nil
}

func (w *worker) train(ctx context.Context, neighbour bool, s privacy.Session) ([]float64, error) {
	if w.t.Program != nil {
		return w.t.Program.Train(ctx, neighbour, s)
	}
	if w.t.Stream != nil {
		return w.stream(ctx, neighbour, s)
	}
	l := w.own[index(neighbour)]
	l.rewind()
	return w.t.Algorithm.Train(ctx, l, w.t.Plan, s, algorithms.Tracker{})
}

func (w *worker) records(neighbour bool) *engine.Records {
	return [2]*engine.Records{w.t.Data, w.t.Neighbour}[index(neighbour)]
}

// stream feeds the records of one side to a stream and returns its last release.
func (w *worker) stream(ctx context.Context, neighbour bool, s privacy.Session) (last []float64, err error) {
	o, err := algorithms.NewStream(w.t.Stream, s)
	if err != nil {
		return nil, err
	}
	records := w.records(neighbour)
	x := make([]float64, records.Dim())
	for i := range records.Len() {
		records.Row(i, x)
		out, err := o.Step(ctx, x, records.Label(i))
		if err != nil {
			return nil, err
		}
		if out != nil {
			last = out
		}
	}
	return last, nil
}

// whole runs everything through algorithms.Run, from binding the records to the returned weights. For a stream
// or a program it runs all of the stream or program.
func (w *worker) whole(ctx context.Context, neighbour bool, seed uint64) (o Observation, err error) {
	if p := w.t.Program; p != nil && p.Draw != nil {
		return p.draw(neighbour, seed)
	}
	var seen attack.Recorder
	if w.t.Stream != nil || w.t.Program != nil {
		if seen.Session, err = privacy.NewPublicSession(privacy.NewSeededSource(seed), w.t.claim().Events); err == nil {
			o.Weights, err = w.train(ctx, neighbour, &seen)
		}
	} else if r, failed := algorithms.Run(ctx, w.records(neighbour), spy{w.t.Algorithm, &seen}, w.t.Plan,
		algorithms.Options{Public: true, Source: privacy.NewSeededSource(seed)}); failed != nil {
		err = failed
	} else {
		o.Weights = r.Weights
	}
	o.Releases = seen.Made(attack.Release)
	return o, err
}

// campaign holds runs of one target on both data sets. More runs can be added.
type campaign struct {
	t       Target
	access  Access
	seed    uint64
	workers int
	scores  []score // computed from every run
	trials  [2][]keptTrial
	// If parts is not 0, only runs whose number is part-1 modulo parts are made; the other trials stay zero.
	part, parts int
}

// extendTo calls extend for one block of runs after another.
func (c *campaign) extendTo(ctx context.Context, runs int, step func(done int)) error {
	for made := len(c.trials[0]); made < runs; made = len(c.trials[0]) {
		if err := c.extend(ctx, min(runs, made+block), step); err != nil {
			return err
		}
	}
	return nil
}

// extend makes runs until each side has the given number. Run i of a side has its own seed, so the result
// depends neither on the number of workers nor on earlier calls. step gets the number of finished runs of both
// sides. If extend returns an error, the trials are unchanged.
func (c *campaign) extend(ctx context.Context, runs int, step func(done int)) error {
	from := len(c.trials[0])
	more := [2][]keptTrial{make([]keptTrial, runs-from), make([]keptTrial, runs-from)}
	workers := c.workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	own := make([]*worker, workers)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex
	done, total := 0, 2*(runs-from)
	_ = tasks.Each(ctx, workers, total, func(k, i int) { // the cause of ctx says more
		if c.parts == 0 || (from+i/2)%c.parts == c.part-1 {
			trial, err := c.trial(ctx, &own[k], 2*from+i)
			if err != nil {
				stop(err)
				return
			}
			more[i%2][i/2] = trial
		}
		mu.Lock()
		defer mu.Unlock()
		if done++; done%64 == 0 || done == total {
			step(2*from + done)
		}
	})
	failed := context.Cause(ctx)
	for _, w := range own {
		if w != nil {
			failed = cmp.Or(failed, w.close())
		}
	}
	if failed != nil {
		return fmt.Errorf("audit: %s: %w", c.t.claim().Algorithm, failed)
	}
	for side := range c.trials {
		c.trials[side] = append(c.trials[side], more[side]...)
	}
	return nil
}

// trial makes run i. Odd runs are on the neighbour. w is made for the first run of a goroutine.
func (c *campaign) trial(ctx context.Context, w **worker, i int) (keptTrial, error) {
	if *w == nil {
		var err error
		if *w, err = newWorker(c.t); err != nil {
			return keptTrial{}, err
		}
	}
	run := (*w).pair
	if c.access == BlackBox {
		run = (*w).whole
	}
	o, err := run(ctx, i%2 == 1, runSeed(c.seed, i))
	if err != nil {
		return keptTrial{}, err
	}
	return newTrial(o, c.scores, i), nil
}

// runSeed mixes a seed with a run number.
func runSeed(seed uint64, run int) uint64 {
	h := fnv.New64a()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], seed)
	binary.LittleEndian.PutUint64(b[8:], uint64(run)+1)
	_, _ = h.Write(b[:])
	return h.Sum64()
}
