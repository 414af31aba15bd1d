// Command longhaul does one thing very often, and writes what it takes: a line after every tenth, with the live heap,
// what the system gave and the bytes of the files.
//
//	go -C bench run ./longhaul online 1000000 > bench/results/longhaul-online.csv
//	go -C bench run ./longhaul local 1000000 > bench/results/longhaul-local.csv
//	go -C bench run ./longhaul ledger 10000 > bench/results/longhaul-ledger.csv
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"dyad/algorithms"
	"dyad/algorithms/local"
	"dyad/algorithms/local/serve"
	"dyad/algorithms/online"
	"dyad/bench"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/privacy"
	"dyad/privacy/account"
	"dyad/privacy/ledger"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("longhaul: ")
	if len(os.Args) != 3 {
		log.Fatal("want online, local or ledger, and a number")
	}
	n, err := strconv.Atoi(os.Args[2])
	if err != nil || n < 10 {
		log.Fatal("want a number of at least 10")
	}
	work := map[string]func(dir string, n int, at func(int)) error{"online": streams, "local": messages,
		"ledger": runs}[os.Args[1]]
	if work == nil {
		log.Fatal("want online, local or ledger")
	}
	dir, err := os.MkdirTemp("", "dyad-longhaul")
	if err != nil {
		log.Fatal(err)
	}
	bench.Header(os.Stdout, "longhaul", os.Args[1:])
	fmt.Println("done,seconds,live_heap_bytes,bytes_from_system,files,file_bytes")
	began, next := time.Now(), n/10
	err = work(dir, n, func(done int) {
		if done < next && done != n {
			return
		}
		next += n / 10
		seconds := time.Since(began).Seconds()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		files, size := 0, int64(0)
		_ = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
			if err == nil && !info.IsDir() {
				files++
				size += info.Size()
			}
			return nil
		})
		fmt.Printf("%d,%.2f,%d,%d,%d,%d\n", done, seconds, m.HeapAlloc, m.Sys, files, size)
	})
	if again := os.RemoveAll(dir); err == nil {
		err = again
	}
	if err != nil {
		log.Fatal(err)
	}
}

// streams is a durable, private stream of n records with a release after each 1000.
func streams(dir string, n int, at func(int)) error {
	problem := engine.Problem{D: 10, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	spec, err := algorithms.NewStreamSpec(cpu.Backend{}, problem,
		algorithms.StreamOptions{Horizon: n, Batch: min(1000, n/10), Buffer: 100}, 0, privacy.Budget{Epsilon: 1, Delta: 1e-6},
		algorithms.Certified)
	if err != nil {
		return err
	}
	plan, err := algorithms.OnPairC{}.Plan(spec)
	if err != nil {
		return err
	}
	s, err := online.Open(plan, online.Options{
		State: filepath.Join(dir, "state"), DataID: "longhaul",
		Ledger: func() (*ledger.Ledger, error) { return ledger.Open(filepath.Join(dir, "ledger")) },
	})
	if err != nil {
		return err
	}
	defer s.Close()
	x := make([]float64, 10)
	for i := range n {
		y := float64(2*(i*7%3%2) - 1)
		for k := range x {
			x[k] = 0.2 * math.Sin(float64(i*(k+1))) * y
		}
		if _, err := s.Take(context.Background(), x, y); err != nil {
			return err
		}
		at(i + 1)
	}
	return s.Stop(nil)
}

// messages is a server that takes n messages of 1000 users, and is then started again.
func messages(dir string, n int, at func(int)) error {
	e, err := engine.NewExpression("logistic", "log1p(exp(-u))", engine.ExpressionOptions{})
	if err != nil {
		return err
	}
	users := min(1000, n/10)
	plan, err := local.Protocol{Method: local.DJW, Loss: e, Dim: 3, FeatureNorm: 1, Radius: 5, L2: 0.1, Users: users,
		Epochs: n / users, Epsilon: 1}.Plan()
	if err != nil {
		return err
	}
	s, err := serve.Open(dir, plan, "")
	if err != nil {
		return err
	}
	client := local.NewClient(plan, privacy.NewSeededSource(1))
	for epoch := 1; epoch <= plan.Epochs; epoch++ {
		failed := make(chan error, users)
		state := s.State()
		for u := range users {
			m, err := client.Message(&local.State{Epoch: epoch, W: state.Model},
				engine.Record{X: []float64{0.5, -0.2, 0.1}, Y: 1})
			if err != nil {
				return err
			}
			submission, err := serve.NewSubmission("user "+strconv.Itoa(u), epoch, m)
			if err != nil {
				return err
			}
			go func() {
				_, err := s.Submit(context.Background(), submission)
				failed <- err
			}()
		}
		for range users {
			if err := <-failed; err != nil {
				return err
			}
		}
		at(epoch * users)
	}
	if err := s.Close(); err != nil {
		return err
	}
	began := time.Now()
	if s, err = serve.Open(dir, plan, ""); err != nil {
		return err
	}
	if got := s.State(); int(got.Visits) != plan.Epochs*users || !got.Done {
		return fmt.Errorf("after a restart there are %d messages, want %d", got.Visits, plan.Epochs*users)
	}
	fmt.Printf("# started again with all %d messages in %.2f s\n", plan.Epochs*users, time.Since(began).Seconds())
	return s.Close()
}

// runs is a ledger that takes n runs, each charged and released, and is compacted after each 100. The archives are
// moved away: the bytes are those of the ledger.
func runs(dir string, n int, at func(int)) error {
	l, err := ledger.Open(filepath.Join(dir, "ledger"))
	if err != nil {
		return err
	}
	for i := range n {
		if i%100 == 99 {
			done, err := l.Compact()
			if err == nil && done.File != "" {
				err = os.Remove(filepath.Join(dir, done.File))
			}
			if err != nil {
				return err
			}
		}
		s, err := l.Begin(ledger.Charge{
			DataID: "longhaul", Algorithm: "moments", Unit: "one record", Relation: "replacement", Guarantee: "(1, 1e-05)-DP",
			Resumable: true,
			Events:    []account.Event{account.GaussianEvent{Sensitivity: 1, Sigma: 1000}},
		}, privacy.NewSeededSource(1))
		if err != nil {
			return err
		}
		if err := l.Release(s.Receipt().Run, ledger.Kept{Digest: "0f"}); err != nil {
			return err
		}
		at(i + 1)
	}
	total, err := l.Summary("longhaul", 1e-5)
	fmt.Printf("# %v\n", total)
	return err
}
