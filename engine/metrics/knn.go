package metrics

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"dyad/engine"
	"dyad/kernels"
)

// KNNOptions are the options of a nearest neighbour classifier.
type KNNOptions struct {
	// K is the number of neighbours that vote. 0 means 3.
	K int
	// Metric is the row-major symmetric positive semidefinite d x d matrix W of the squared distance (x - x')^T
	// W (x - x'). nil means the identity. See FactorMetric for the accepted matrices.
	Metric []float64
	// Workers is the number of goroutines. 0 means GOMAXPROCS. The result does not depend on it.
	Workers int
}

// Classification is the result of a classifier on labelled records.
type Classification struct {
	// Predicted is the predicted label of each test record.
	Predicted []float64
	// Correct is the number of predictions that equal the label.
	Correct int
}

// Accuracy returns Correct divided by the number of records, in [0, 1].
func (c Classification) Accuracy() float64 {
	return float64(c.Correct) / float64(max(len(c.Predicted), 1))
}

// KNN predicts the label of each test record from the K training records nearest
// to it:
//
//	for each test record x {
//		neighbours = the first K training records, ordered by
//			((x - x_i)^T W (x - x_i), i)
//		predicted = the most frequent label of the neighbours; among tied labels,
//			the label whose first neighbour comes first
//	}
//
// So among equal distances the lower index counts as nearer, and a tied vote goes to the class of the nearest
// neighbour. Classes are the distinct label values. The result is exact up to rounding, in O(n m d) time for n training
// and m test records. Inner products by the vector kernels, in float32 if this precision suffices, only exclude pairs;
// see scan. Distances are computed between rows of Transform, or between the features themselves for the identity. Each
// distance has a relative error below gamma(d/4 + 9). Training records with the same features tie exactly.
//
// Besides the records, KNN allocates at most 208 MiB of rows and neighbours. For each worker, it also allocates
// testTile rows and a tile of inner products. Squared norms and Predicted need further memory. KNN returns an error if
// the shapes do not fit, K is above n, the metric is not accepted, distances overflow or ctx is done.
func KNN(ctx context.Context, train, test *engine.Records, o KNNOptions) (Classification, error) {
	return classify(ctx, recordPoints(train), recordPoints(test), o, false)
}

// knnLeaveOneOut predicts the label of each record of r from the other records, like KNN. K is at most n - 1. If
// records are grouped by person, it predicts each row from the rows of other persons. K is then at most n minus the
// largest number of rows of a person.
func knnLeaveOneOut(ctx context.Context, r *engine.Records, o KNNOptions) (Classification, error) {
	p := unitPoints(r)
	return classify(ctx, p, p, o, true)
}

func classify(ctx context.Context, train, test points, o KNNOptions, leaveOneOut bool) (Classification, error) {
	k, workers := o.K, o.Workers
	if k == 0 {
		k = 3
	}
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	candidates := train.n
	if leaveOneOut {
		candidates -= train.mostRows
	}
	if train.d != test.d || k < 1 || k > candidates || workers < 1 {
		return Classification{}, fmt.Errorf("metrics: got K = %d, %d neighbours with %d features, records with %d "+
			"features and Workers = %d; want 1 <= K <= neighbours, equal features and Workers >= 0", o.K, candidates, train.d,
			test.d, o.Workers)
	}
	s, err := newSpace(o.Metric, train.d, train.norm, test.norm)
	if err != nil {
		return Classification{}, err
	}
	set, err := kernels.Select(kernels.Best)
	if err != nil {
		return Classification{}, fmt.Errorf("metrics: %w", err)
	}
	q := search{
		space: s, set: set, slack32: slack32(s, set), train: train, test: test, k: k, leaveOneOut: leaveOneOut,
		workers:    workers,
		predicted:  make([]float64, test.n),
		trainBlock: max(1, blockBytes/8/max(1, s.width)),
		testBlock:  max(1, blockBytes/16/k),
	}
	if err := q.run(ctx); err != nil {
		return Classification{}, err
	}
	c := Classification{Predicted: q.predicted}
	for i, y := range c.Predicted {
		if y == test.labels[i] {
			c.Correct++
		}
	}
	return c, nil
}

func (q *search) run(ctx context.Context) error {
	block := make([]float64, q.bufferLen(q.train, min(q.train.n, q.trainBlock)))
	best := make([]neighbour, min(q.test.n, q.testBlock)*q.k)
	norms := make([]float64, min(q.train.n, q.trainBlock))
	var single []float32
	if q.slack32 > 0 {
		single = make([]float32, len(norms)*(q.width+2))
	}
	for lo := 0; lo < q.test.n; lo += q.testBlock {
		hi := min(lo+q.testBlock, q.test.n)
		for i := range best {
			best[i] = neighbour{math.Inf(1), -1}
		}
		for from := 0; from < q.train.n; from += q.trainBlock {
			to := min(from+q.trainBlock, q.train.n)
			rows, err := q.loadParallel(ctx, from, to, block)
			if err != nil {
				return err
			}
			b := trainBlock{first: from, rows: rows, norms: norms[:to-from], single: single}
			q.squaredNorms(b.norms, rows)
			q.toSingle(b)
			if err := q.scanBlock(ctx, b, lo, hi, best); err != nil {
				return err
			}
		}
		for i := lo; i < hi; i++ {
			q.predicted[i] = vote(best[(i-lo)*q.k:(i-lo+1)*q.k], q.train.labels)
		}
	}
	return nil
}

func (q *search) loadParallel(ctx context.Context, from, to int, block []float64) ([]float64, error) {
	if len(block) == 0 {
		return q.load(q.train, from, to, nil, nil), ctx.Err()
	}
	const chunk = 256
	err := q.forEach(ctx, (to-from+chunk-1)/chunk, func() func(int) {
		scratch := make([]float64, q.train.d)
		return func(job int) {
			a := from + job*chunk
			b := min(a+chunk, to)
			q.load(q.train, a, b, block[(a-from)*q.width:], scratch)
		}
	})
	return block[:(to-from)*q.width], err
}

// vote returns the most frequent label of the neighbours. Among tied labels, it returns the first to occur.
func vote(neighbours []neighbour, labels []float64) float64 {
	var winner float64
	most := 0
	for a, n := range neighbours {
		votes := 0
		for _, m := range neighbours[a:] { // this counts all neighbours of a label at its first occurrence
			if labels[m.index] == labels[n.index] {
				votes++
			}
		}
		if votes > most {
			winner, most = labels[n.index], votes
		}
	}
	return winner
}

// KNNAccuracy compares the accuracy of k nearest neighbours under a metric with the accuracy under the identity.
type KNNAccuracy struct {
	K        int     `json:"k"`
	Learned  float64 `json:"accuracy"`
	Identity float64 `json:"accuracy_identity"`
}
