// Command localtime measures what the time of a local message tells: two kinds of
// messages are made in random order, and the AUC of their times says how well time alone tells
// them apart (0.5: not at all).
//
//	go run ./bench/localtime -label after -n 10000 -repeats 3
//
// Cases "record" compare a record in the curriculum with one out of it. "tiny" compares
// two records under a model of subnormal numbers, with which processors are slow. "choice"
// compares, for one record, messages whose choice is favoured with those whose is not.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"dyad/algorithms/local"
	"dyad/bench"
	"dyad/engine"
	"dyad/privacy"
)

func main() {
	log.SetFlags(0)
	label := flag.String("label", "", "first column, to tell runs of several programs apart")
	n := flag.Int("n", 2000, "messages of each kind")
	repeats := flag.Int("repeats", 5, "repetitions of each case; each is one line")
	header := flag.Bool("header", true, "print the header")
	flag.Parse()
	if *header {
		bench.Header(os.Stdout, "localtime", os.Args[1:])
		fmt.Println("program,case,method,d,pairs,epsilon,repeat,first_median_us,first_p10_us,second_median_us,second_p90_us,auc_of_time")
	}
	for _, c := range cases() {
		for r := range *repeats {
			if err := c.measure(os.Stdout, *label, *n, r); err != nil {
				log.Fatal("localtime: ", err)
			}
		}
	}
}

type timing struct {
	kind    string
	method  local.Method
	d       int
	pairs   int
	epsilon float64
}

func cases() []timing {
	return []timing{
		{"record", local.Prestige, 2, 1, 1}, {"record", local.Prestige, 2, 16, 1}, {"record", local.Prestige, 2, 64, 1}, {"record", local.Prestige, 2, 1024, 1},
		{"record", local.Prestige, 20, 1024, 1}, {"record", local.Prestige, 20, 1024, 6}, {"record", local.PrestigeParticipation, 2, 64, 1},
		{"record", local.Prestige, 2000, 4, 6},
		{"tiny", local.DJW, 20, 1, 1}, {"tiny", local.DJW, 20, 16, 1}, {"tiny", local.DJW, 2000, 1, 1},
		{"choice", local.Prestige, 2, 1, 1}, {"choice", local.Prestige, 2, 1, 4}, {"choice", local.Prestige, 2, 16, 4},
	}
}

// measure prints one line.
func (c timing) measure(w *os.File, label string, n, repeat int) error {
	e, err := engine.NewExpression("linear", "-u", engine.ExpressionOptions{})
	if err != nil {
		return err
	}
	p, err := local.Protocol{
		Method: c.method, Loss: local.ScalarLoss{Of: e}, Dim: c.d, FeatureNorm: 1, Radius: 5, L2: 0.1, Users: 10, Epochs: 1, Epsilon: c.epsilon, Pairs: c.pairs,
	}.Plan()
	if err != nil {
		return err
	}
	client, st := local.NewClient(p, privacy.NewSeededSource(uint64(repeat)+1)), p.Start()
	records := [2]engine.Record{{X: make([]float64, c.d), Y: 1}, {X: make([]float64, c.d), Y: 1}}
	st.W[0], records[0].X[0], records[1].X[0] = 5, 1, 0.01 // margins 5 and 0.05, the threshold is 1.5
	if c.kind == "tiny" {
		for i := range st.W {
			st.W[i], records[0].X[i], records[1].X[i] = 0x1p-1022, math.Sqrt(1/float64(c.d))/2, 0
		}
		records[1].X[0] = 0.5 // the first has subnormal products with the model everywhere, the second in one place
	}
	var times [2][]float64
	order := rand.New(rand.NewPCG(uint64(repeat), 1))
	z := engine.Record{X: make([]float64, c.d), Y: 1} // one place in memory for both
	for len(times[0]) < n || len(times[1]) < n {
		k := order.IntN(2)
		if c.kind == "choice" {
			k = 0
		}
		copy(z.X, records[k].X)
		began := time.Now()
		m, err := client.Message(st, z)
		took := time.Since(began)
		if err != nil {
			return err
		}
		switch {
		case c.method == local.PrestigeParticipation && !m.Takes:
			continue // silence is public
		case c.kind == "choice":
			g := make([]float64, c.d)
			if err := p.AddEstimate(g, m); err != nil {
				return err
			}
			if g[0] > 0 { // the gradient is -e_1, so the choice is not favoured; with several pairs nearly so
				k = 1
			}
		}
		times[k] = append(times[k], float64(took.Nanoseconds())/1000)
	}
	slices.Sort(times[0])
	slices.Sort(times[1])
	at := func(k int, q float64) float64 { return times[k][int(q*float64(len(times[k])))] }
	_, err = fmt.Fprintf(w, "%s,%s,%s,%d,%d,%g,%d,%.2f,%.2f,%.2f,%.2f,%.3f\n", label, c.kind, c.method, c.d, c.pairs, c.epsilon, repeat,
		at(0, 0.5), at(0, 0.1), at(1, 0.5), at(1, 0.9), auc(times[0], times[1]))
	return err
}

// auc is the probability that a time of a is above one of b, ties counted half; both are
// sorted.
func auc(a, b []float64) float64 {
	sum := 0.0
	for _, t := range a {
		below, _ := slices.BinarySearch(b, t)
		equal, _ := slices.BinarySearchFunc(b[below:], t, func(x, t float64) int { return cmp.Or(cmp.Compare(x, t), -1) })
		sum += float64(below) + float64(equal)/2
	}
	return sum / float64(len(a)) / float64(len(b))
}
