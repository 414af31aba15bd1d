// Command sparse times gradients of the logistic score loss over all pairs of sparse
// records, of the shapes of the data sets a7a and real-sim, at three densities: how far the
// cost is proportional to the non-zeros.
//
//	go run ./bench/sparse > bench/results/sparse.csv
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"dyad/bench"
	"dyad/engine"
	"dyad/engine/cpu"
)

// shape is n records of d features, with so many stored ones each.
type shape struct {
	name       string
	n, d, each int
}

func main() {
	log.SetFlags(0)
	runs := flag.Int("runs", 11, "timed runs of each line, after one to warm up")
	flag.Parse()
	bench.Header(os.Stdout, "sparse", os.Args[1:])
	fmt.Printf("# processor time of a whole gradient by one worker, median of %d; the densities take turns\n", *runs)
	fmt.Println("# sums_ms: of ms, what does not read features, the near-linear sums of n scores: the time of records of one feature")
	fmt.Println("# ns_per_nonzero: ms without sums_ms; relative: over that of the data set's own density, 1 is proportional to the non-zeros")
	fmt.Println("# dense_ms: ms with all features stored, where they fit 128 MB")
	fmt.Println("shape,method,n,d,nonzeros_per_record,density,ms,sums_ms,ns_per_nonzero,relative,dense_ms")
	for _, s := range []shape{{"a7a", 16100, 122, 14}, {"real-sim", 72309, 20958, 51}} {
		if err := measure(s, *runs); err != nil {
			log.Fatal("sparse: ", err)
		}
	}
}

func measure(s shape, runs int) error {
	each := []int{(s.each + 1) / 2, s.each, 2 * s.each}
	var all []*timed
	for _, k := range each {
		r, err := records(s, k)
		if err != nil {
			return err
		}
		t, err := newTimed(r, k)
		if err != nil {
			return err
		}
		all = append(all, t)
	}
	// One feature: the scores and X^T c cost next to nothing.
	r, err := records(shape{s.name, s.n, 1, 1}, 1)
	if err != nil {
		return err
	}
	sums, err := newTimed(r, 1)
	if err != nil {
		return err
	}
	all = append(all, sums)
	if s.n*s.d <= 1<<24 {
		t, err := newTimed(dense(s), s.d)
		if err != nil {
			return err
		}
		all = append(all, t)
	}
	for range runs + 1 {
		for _, t := range all {
			if err := t.run(); err != nil {
				return err
			}
		}
	}
	perNonZero := func(i int) float64 { return (all[i].median() - sums.median()) / float64(s.n*each[i]) }
	for i, k := range each {
		full := ""
		if len(all) > len(each)+1 {
			full = fmt.Sprintf("%.3f", 1e3*all[len(each)+1].median())
		}
		fmt.Printf("%s,%s,%d,%d,%d,%.5f,%.3f,%.3f,%.2f,%.2f,%s\n", s.name, all[i].e.Kernel().Method(), s.n, s.d, k, float64(k)/float64(s.d),
			1e3*all[i].median(), 1e3*sums.median(), 1e9*perNonZero(i), perNonZero(i)/perNonZero(1), full)
	}
	for _, t := range all {
		if err := t.e.Close(); err != nil {
			return err
		}
	}
	return nil
}

// timed is a gradient and the times of its runs.
type timed struct {
	e      engine.Evaluator
	w, sum []float64
	times  []float64
}

func newTimed(r *engine.Records, each int) (*timed, error) {
	d := r.Dim()
	k, err := cpu.Backend{Workers: 1}.Plan(engine.Problem{N: r.Len(), D: d, Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: 1, NonZerosPerRow: each})
	if err != nil {
		return nil, err
	}
	e, err := k.Bind(r)
	if err != nil {
		return nil, err
	}
	t := &timed{e: e, w: make([]float64, d), sum: make([]float64, d)}
	for i := range t.w {
		t.w[i] = 0.9 / math.Sqrt(float64(d))
	}
	return t, nil
}

func (t *timed) run() error {
	start := bench.ProcessorTime()
	if err := t.e.GradSum(context.Background(), t.sum, t.w, engine.AllPairs{N: t.e.Kernel().Problem().N}); err != nil {
		return err
	}
	t.times = append(t.times, bench.ProcessorTime()-start)
	return nil
}

// median leaves out the first run.
func (t *timed) median() float64 {
	x := slices.Clone(t.times[1:])
	slices.Sort(x)
	return x[len(x)/2]
}

// records have equal numbers of random features each.
func records(s shape, each int) (*engine.Records, error) {
	rng := rand.New(rand.NewPCG(1, uint64(each)))
	start, index, value, y := []int64{0}, []int32{}, []float64{}, []float64{}
	for i := range s.n {
		for k := range each { // one of each part of the features
			from, to := k*s.d/each, (k+1)*s.d/each
			index = append(index, int32(from+rng.IntN(to-from)))
			value = append(value, 1/math.Sqrt(float64(each)))
		}
		start, y = append(start, int64(len(index))), append(y, float64(2*(i%2)-1))
	}
	return engine.NewSparseRecords(start, index, value, y, s.d, engine.UnitBounds())
}

// dense are records of the shape in which every feature is stored.
func dense(s shape) *engine.Records {
	x, y := make([]float64, s.n*s.d), make([]float64, s.n)
	for i := range y {
		y[i] = float64(2*(i%2) - 1)
	}
	for i := range x {
		x[i] = 0.5 / math.Sqrt(float64(s.d)) * float64(i%3)
	}
	r, err := engine.AdoptRecords(x, y, s.d, engine.UnitBounds())
	if err != nil {
		log.Fatal("sparse: ", err) // finite by construction
	}
	return r
}
