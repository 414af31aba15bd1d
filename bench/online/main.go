// Command online measures a stream: records per second on one core, and the memory
// of the process as the number of records grows. Every record is paired with those
// in the buffer.
//
//	go run ./bench/online > bench/results/online-1e6.csv
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"runtime"
	"time"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/privacy"
)

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 1_000_000, "records")
	d := flag.Int("d", 20, "features")
	buffer := flag.Int("buffer", 1000, "records in the buffer")
	batch := flag.Int("batch", 1000, "records per release")
	reservoir := flag.Bool("reservoir", false, "a reservoir in place of the last records")
	perClass := flag.Bool("per-class", false, "a buffer per class in place of the last records")
	algorithm := flag.String("algorithm", "onpairc", "online algorithm, without L2 term")
	flag.Parse()
	o := algorithms.StreamOptions{Horizon: *n, Batch: *batch, Buffer: *buffer, Reservoir: *reservoir, PerClass: *perClass}
	if err := measure(*algorithm, *d, o); err != nil {
		log.Fatal("online: ", err)
	}
}

func measure(algorithm string, d int, o algorithms.StreamOptions) error {
	n := o.Horizon
	runtime.GOMAXPROCS(1)
	const cycle = 10_000 // records, repeated: they are not part of the memory that is measured
	records, err := dataset.SyntheticScores(cycle, d, 1)
	if err != nil {
		return err
	}
	spec, err := algorithms.NewStreamSpec(cpu.Backend{Workers: 1}, engine.Problem{N: 2, D: d, Bounds: records.Bounds(), Loss: engine.Logistic{}, Radius: 1},
		o, 0, privacy.Budget{Epsilon: 1, Delta: privacy.DefaultDelta(n)}, algorithms.Certified)
	if err != nil {
		return err
	}
	a, err := algorithms.StreamByName(algorithm)
	if err != nil {
		return err
	}
	plan, err := a.Plan(spec)
	if err != nil {
		return err
	}
	source, err := privacy.NewSource()
	if err != nil {
		return err
	}
	session, err := privacy.NewPublicSession(source, plan.Events)
	if err != nil {
		return err
	}
	stream, err := algorithms.NewStream(plan, session)
	if err != nil {
		return err
	}
	fmt.Println("records,releases,seconds,records_per_second,live_heap_bytes,bytes_from_system")
	x := make([]float64, d)
	start, every := time.Now(), max(1, n/10)
	for t := 1; t <= n; t++ {
		i := (t - 1) % cycle
		records.Row(i, x)
		if _, err := stream.Step(context.Background(), x, records.Label(i)); err != nil {
			return err
		}
		if t%every == 0 {
			seconds := time.Since(start).Seconds()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			fmt.Printf("%d,%d,%.3f,%.0f,%d,%d\n", t, stream.Updates(), seconds, float64(t)/seconds, m.HeapAlloc, m.Sys)
		}
	}
	return nil
}
