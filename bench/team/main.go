// Command team measures exact gradients over all pairs by the processes of an MPI job, and prints a
// hash of all of them: it is the same for every number of processes.
//
//	go -C bench build -o /tmp/team ./team
//	for r in 1 2 3; do mpirun --oversubscribe -n $r /tmp/team; done > bench/results/team-*.csv
package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"dyad/bench"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/team/mpi"
)

func main() {
	n := flag.Int("n", 1_000_000, "records")
	d := flag.Int("d", 20, "features")
	steps := flag.Int("steps", 21, "gradients, each at another point")
	flag.Parse()
	bench.Exit("team", run(*n, *d, *steps))
}

func run(n, d, steps int) error {
	team, err := mpi.Open(mpi.Options{Deadline: 10 * time.Minute})
	if err != nil {
		return err
	}
	problem := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	kernel, err := cpu.Backend{Workers: 1, Method: cpu.NearLinear, Team: team}.Plan(problem)
	if err != nil {
		return err
	}
	from, to := engine.Share(kernel, team.Rank())
	x, y := make([]float64, n*d), make([]float64, n)
	for i := from; i < to; i++ { // a record is a function of its number
		rng := rand.New(rand.NewPCG(uint64(i), 7))
		y[i] = float64(2*rng.IntN(2) - 1)
		for k := range d {
			x[i*d+k] = (rng.Float64()*2 - 1 + 0.1*y[i]) / math.Sqrt(float64(d))
		}
	}
	all, err := engine.AdoptRecords(x, y, d, problem.Bounds)
	if err != nil {
		return err
	}
	e, err := kernel.Bind(all.Shard(from, to))
	if err != nil {
		return err
	}
	w, sum, seconds, hash := make([]float64, d), make([]float64, d), []float64(nil), sha256.New()
	for range steps {
		began := time.Now()
		if err := e.Sum(context.Background(), sum, engine.Gradient(w, problem.Pairs())); err != nil {
			return err
		}
		seconds = append(seconds, time.Since(began).Seconds())
		for k := range w {
			w[k] -= 0.02 * sum[k] / float64(n) / float64(n-1)
			hash.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(sum[k])))
		}
	}
	slices.Sort(seconds)
	if team.Rank() == 0 {
		fmt.Printf("%d,%d,%d,%d,%.2f,%.2f,%x\n", team.Size(), n, d, steps, 1e3*seconds[len(seconds)/2],
			1e3*seconds[0], hash.Sum(nil))
	}
	return team.Close()
}
