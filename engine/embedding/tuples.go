package embedding

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"dyad/engine"
	"dyad/internal/tasks"
)

// DrawTuples returns n/size disjoint tuples of different individuals of 0..n-1, one after another, in random
// order. The remaining n mod size individuals are in no tuple. The tuples are a function of n, size, seed and
// epoch alone. So they reveal nothing about any record, and no individual is in two tuples of one epoch.
// DrawTuples returns an error if size is below 2 or above n.
func DrawTuples(n, size int, seed uint64, epoch int) ([]int32, error) {
	if n > math.MaxInt32 || size < 2 || size > n {
		return nil, fmt.Errorf("embedding: tuples of %d of %d individuals, want 2 to %d", size, n, min(n, math.MaxInt32))
	}
	r := rand.New(rand.NewPCG(seed, 0x6479616474757000+uint64(epoch)))
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	r.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order[:n/size*size], nil
}

// Tuples computes sums of clipped gradients of tuples of individuals with classes. It
// is used from one goroutine at a time.
type Tuples struct {
	data    *Data
	classes []int32
	loss    TupleLoss
	rows    int // rows of a matrix, or m of a network
	length  int // of the weights
	size    int // records of a tuple
	workers int
	partial []float64
	scratch []tupleScratch // of a worker

	elsewhere TermRows  // nil if the CPU computes the network
	given     *TermPass // pass over the embeddings from elsewhere
	g, norms  []float64
}

// tupleScratch holds the intermediate values of one tuple of k records.
type tupleScratch struct {
	termMap
	classes  []int32
	z, g     []float64 // k x rows: the images of the records, and the slopes of the loss in them
	q, c     []float64 // k x k: squared distances, and the slopes of the loss in them
	gradient []float64 // as long as the weights
}

// NewTuples returns a Tuples for a matrix of rows x Dim. Each tuple consists of individuals of data, and
// `size` is their number. The pairs that data lists are not used. classes holds the class of each
// individual. Losses only test whether classes are equal. If workers is below 1, one worker is used. The
// number of workers changes the running time but not the result.
func NewTuples(data *Data, classes []int32, loss TupleLoss, rows, size, workers int) (*Tuples, error) {
	if loss == nil || rows < 1 || rows > MostRows {
		return nil, fmt.Errorf("embedding: NewTuples got %d rows and loss %v; want 1 to 2^20 rows and a loss", rows,
			loss)
	}
	t := &Tuples{data: data, classes: classes, loss: loss, rows: rows, length: rows * data.d, size: size, workers: workers}
	return t.with(func() (termMap, error) {
		return &linearMap{data: data, column: make([]float64, size)}, nil
	})
}

// NewNetworkTuples is NewTuples with a network f_theta(x) in the place of W x, for tuples of at most BlockRows
// individuals. The weights are the parameters of the network (docs/theory.md#network-tuples).
func NewNetworkTuples(data *Data, classes []int32, loss TupleLoss, model Model, size, workers int) (*Tuples, error) {
	return newNetworkTuples(data, classes, loss, model, size, workers, model.NewTermPass)
}

// NewNetworkTuplesOn is NewNetworkTuples with a device that computes the network, clips and sums. The losses of the
// embeddings are computed on the CPU by one worker. The error wraps engine.ErrUnsupported if the device cannot
// compute the terms. Close frees the resources of the device.
func NewNetworkTuplesOn(on TermAccelerator, data *Data, classes []int32, loss TupleLoss, model Model,
	size int) (*Tuples, error) {
	given := model.NewGivenPass(data.bound)
	t, err := newNetworkTuples(data, classes, loss, model, size, 1, func() (*TermPass, error) { return given, nil })
	switch {
	case err != nil:
		return nil, err
	case data.norm != L2:
		return nil, fmt.Errorf("%w: the norm %s cannot clip gradients of tuples on %s; use the CPU (--device cpu)",
			engine.ErrUnsupported, data.norm, on.Name())
	}
	t.elsewhere, err = on.BindTerms(TermsProblem{Network: model.Network, Norm: data.bound, X: data.x, Size: size})
	if err != nil {
		return nil, err
	}
	t.given, t.scratch[0].gradient = given, nil
	t.g, t.norms = make([]float64, t.elsewhere.Room()*size*t.rows), make([]float64, t.elsewhere.Room()*size)
	return t, nil
}

// Close frees the resources of a device.
func (t *Tuples) Close() error {
	if t.elsewhere == nil {
		return nil
	}
	return t.elsewhere.Close()
}

func newNetworkTuples(data *Data, classes []int32, loss TupleLoss, model Model, size, workers int,
	pass func() (*TermPass, error)) (*Tuples, error) {
	if err := model.maps(data); err != nil {
		return nil, err
	}
	d, m := model.Dims()
	switch {
	case loss == nil:
		return nil, fmt.Errorf("embedding: tuples of network %s need a loss", model.Network.Name())
	case size > BlockRows:
		return nil, fmt.Errorf("embedding: tuples have %d individuals, but at most %d are allowed for a network",
			size, BlockRows)
	}
	t := &Tuples{data: data, classes: classes, loss: loss, rows: m, length: Parameters(model.Network), size: size,
		workers: workers}
	return t.with(func() (termMap, error) {
		pass, err := pass()
		return &networkMap{data: data, pass: pass, x: make([]float64, size*d)}, err
	})
}

// with returns t with scratch space for every worker.
func (t *Tuples) with(made func() (termMap, error)) (*Tuples, error) {
	n, k := t.data.graph.Len(), t.size
	switch {
	case len(t.classes) != n:
		return nil, fmt.Errorf("embedding: %d classes for %d individuals", len(t.classes), n)
	case k < 2 || k > n:
		return nil, fmt.Errorf("embedding: tuples of %d of %d individuals, want 2 to %d", k, n, n)
	}
	t.workers = max(t.workers, 1)
	for range t.workers {
		by, err := made()
		if err != nil {
			return nil, err
		}
		t.scratch = append(t.scratch, tupleScratch{
			termMap: by, classes: make([]int32, k), z: make([]float64, k*t.rows), g: make([]float64, k*t.rows),
			q: make([]float64, k*k), c: make([]float64, k*k), gradient: make([]float64, t.length),
		})
	}
	return t, nil
}

// Len returns the number of weights: the entries of W or the parameters of the network.
func (t *Tuples) Len() int { return t.length }

// Sum sets dst to the sum of the terms of all tuples. members lists the individuals of
// one tuple after another. A term is
//
//	G / max(1, ||G||/clip),  G = grad l(W; tuple)
//
// with the entrywise norm of the data. The gradient of a tuple is clipped as a whole. So the term of a tuple is
// a function of the tuple's records, w and clip, and has norm at most clip. This holds for any number of pairs
// or triplets in the tuple and for any divisor in the loss. w and dst are row-major, rows x Dim, or the
// parameters of the network. SumError bounds the error of the summation of these terms. A gradient that is not
// finite counts as zero. When ctx is done, Sum returns ctx.Err().
//
// Clipping: the computed norm n of the computed G has a relative error below (Len + 8) 2^-53. G is scaled
// whenever n exceeds clip times 1 - slack, with slack (Len + 16) 2^-51. It is scaled to norm clip (1 - slack),
// with three roundings for each entry. So the exact norm of the term is at most clip whether or not G is
// scaled.
func (t *Tuples) Sum(ctx context.Context, dst, w []float64, members []int32, clip float64) error {
	if t.elsewhere != nil {
		return t.sumElsewhere(ctx, dst, w, members, clip)
	}
	chunk := chunkPairs * t.size
	chunks := (len(members) + chunk - 1) / chunk
	t.partial = grow(t.partial, chunks*t.Len())
	limit := clip * (1 - float64(t.Len()+16)*0x1p-51)
	t.set(w)
	err := tasks.Each(ctx, t.workers, chunks, func(worker, c int) {
		sum, s := t.partial[c*t.Len():][:t.Len()], &t.scratch[worker]
		clear(sum)
		part := members[c*chunk : min((c+1)*chunk, len(members))]
		for ; len(part) >= t.size; part = part[t.size:] {
			t.gradient(s, part[:t.size])
			n := t.data.norm.of(s.gradient)
			if !(n <= math.MaxFloat64) {
				continue
			}
			f := 1.0
			if n > limit {
				f = limit / n
			}
			for k, v := range s.gradient {
				sum[k] += f * v
			}
		}
	})
	joinChunks(dst, t.partial, chunks)
	return err
}

// sumElsewhere computes Sum on a device. It overwrites the embeddings g with the slopes of the loss in g.
func (t *Tuples) sumElsewhere(ctx context.Context, dst, theta []float64, members []int32, clip float64) error {
	if err := t.elsewhere.Begin(ctx, theta, clip); err != nil {
		return err
	}
	s, size := &t.scratch[0], t.size
	for most := t.elsewhere.Room() * size; len(members) >= size; members = members[min(most, len(members)):] {
		part := members[:min(most, len(members)/size*size)]
		if err := t.elsewhere.Embed(ctx, t.g, t.norms, part); err != nil {
			return err
		}
		for i := 0; i < len(part); i += size {
			g := t.g[i*t.rows:][:size*t.rows]
			t.given.Give(g, t.norms[i:])
			if tuple := part[i:][:size]; t.slopes(s, tuple) {
				s.pull(nil, s.g, tuple)
				copy(g, s.g)
			} else {
				clear(g)
			}
		}
		if err := t.elsewhere.Add(ctx, t.g[:len(part)*t.rows]); err != nil {
			return err
		}
	}
	return t.elsewhere.Sum(ctx, dst)
}

// set gives the weights to the maps of the workers.
func (t *Tuples) set(w []float64) {
	for i := range t.scratch {
		t.scratch[i].set(w)
	}
}

// distances sets s.z, s.q and s.classes. It returns false if a network is not finite for a record.
func (t *Tuples) distances(s *tupleScratch, tuple []int32) bool {
	k := len(tuple)
	for i, v := range tuple {
		s.classes[i] = t.classes[v]
	}
	ok := s.embed(s.z, tuple)
	for i := range k {
		for j := i + 1; j < k; j++ {
			s.q[i*k+j] = squaredDistance(s.z[i*t.rows:][:t.rows], s.z[j*t.rows:][:t.rows])
		}
	}
	return ok
}

// gradient sets s.gradient to the gradient of one tuple. The gradient is the sum of J_i^T g_i, or of g_i x_i^T
// for z_i = W x_i.
func (t *Tuples) gradient(s *tupleScratch, tuple []int32) {
	clear(s.gradient)
	if t.slopes(s, tuple) {
		s.pull(s.gradient, s.g, tuple)
	}
}

// slopes sets s.g to the slopes of the loss of a tuple in the images z_i. With q_ij = ||z_i - z_j||^2 and c_ij the
// slope of the loss in q_ij, g_i = sum_j 2 c_ij (z_i - z_j). It returns false if a network is not finite for a record.
func (t *Tuples) slopes(s *tupleScratch, tuple []int32) bool {
	k := len(tuple)
	if !t.distances(s, tuple) {
		return false
	}
	clear(s.c)
	t.loss.Slopes(s.c, s.q, s.classes)
	clear(s.g)
	for i := range k {
		for j := i + 1; j < k; j++ {
			c, a, b := 2*s.c[i*k+j], i*t.rows, j*t.rows
			for r := range t.rows {
				v := c * (s.z[a+r] - s.z[b+r])
				s.g[a+r] += v
				s.g[b+r] -= v
			}
		}
	}
	return true
}

// Objective returns the mean loss over tuples, whose individuals `members` lists tuple by tuple. It is a
// diagnostic for public data and not private. It is NaN on a device or if a network is not finite for a record.
func (t *Tuples) Objective(w []float64, members []int32) float64 {
	if t.elsewhere != nil {
		return math.NaN()
	}
	sum, count := 0.0, 0
	t.set(w)
	for ; len(members) >= t.size; members = members[t.size:] {
		if !t.distances(&t.scratch[0], members[:t.size]) {
			return math.NaN()
		}
		sum += t.loss.Value(t.scratch[0].q, t.scratch[0].classes)
		count++
	}
	return sum / float64(count)
}
