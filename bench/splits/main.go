// Command splits compares private and non-private models on random splits of a
// public data set. One line a split and method, then a summary as comments.
//
//	go run ./bench/splits -data FILE -schema bench/schemas/pima.yaml -n 512 -splits 20 \
//	    -epsilon 1 -delta 0.001953125 > bench/results/pima-512-eps1.csv
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"dyad/algorithms"
	"dyad/bench"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/privacy"
)

type settings struct {
	data, schema   string
	only           string
	n, splits      int
	epsilon, delta float64
}

func main() {
	log.SetFlags(0)
	var s settings
	flag.StringVar(&s.data, "data", "", "data file")
	flag.StringVar(&s.schema, "schema", "", "schema file")
	flag.StringVar(&s.only, "only", "", "only methods whose name contains one of these, with commas between")
	flag.IntVar(&s.n, "n", 512, "training records")
	flag.IntVar(&s.splits, "splits", 20, "splits")
	flag.Float64Var(&s.epsilon, "epsilon", 1, "epsilon of each private model")
	flag.Float64Var(&s.delta, "delta", 0, "delta, 0 for min(1e-5, n^-1.5)")
	flag.Parse()
	if s.delta == 0 {
		s.delta = privacy.DefaultDelta(s.n)
	}
	if err := s.compare(); err != nil {
		log.Fatal("splits: ", err)
	}
}

// method trains on records and returns weights.
type method struct {
	name  string
	train func(r *engine.Records, seed uint64) ([]float64, error)
}

func (s settings) compare() error {
	all, err := bench.Public(s.data, s.schema, s.n)
	if err != nil {
		return err
	}
	bench.Header(os.Stdout, "splits", os.Args[1:])
	fmt.Printf("# data treated as public: every split spends nothing; noise seeded by the split\n")
	methods := []method{
		{"class-mean-difference (non-private)", func(r *engine.Records, _ uint64) ([]float64, error) { return meanDifference(r), nil }},
		s.method(algorithms.ProjectedGradient{}, algorithms.NonPrivate, 0.001),
		s.method(algorithms.DPGDSC{}, algorithms.Certified, 0.001),
		s.method(algorithms.OffPairStrC{}, algorithms.Certified, 0.001),
		s.method(algorithms.OffPairC{}, algorithms.Certified, 0),
		s.method(algorithms.DPGDC{}, algorithms.Certified, 0),
		s.method(algorithms.DPGDC2{}, algorithms.Certified, 0),
		s.method(algorithms.DPEGD{}, algorithms.Certified, 0),
		s.method(algorithms.GradientPerturbation{}, algorithms.Certified, 0),
		s.method(algorithms.Moments{}, algorithms.Certified, 0),
		s.method(algorithms.DPGDSC{}, algorithms.Paper, 0.001),
		s.method(algorithms.OffPairStrC{}, algorithms.Paper, 0.001),
		s.method(algorithms.OffPairC{}, algorithms.Paper, 0),
		s.method(algorithms.DPGDC{}, algorithms.Paper, 0),
		s.method(algorithms.DPGDC2{}, algorithms.Paper, 0),
		s.method(algorithms.DPEGD{}, algorithms.Paper, 0),
	}
	methods = slices.DeleteFunc(methods, func(m method) bool {
		return !slices.ContainsFunc(strings.Split(s.only, ","), func(part string) bool { return strings.Contains(m.name, part) })
	})
	fmt.Println("split,method,auc")
	aucs := make(map[string][]float64)
	for split := range s.splits {
		train, test, err := bench.Split(all, s.n, uint64(split))
		if err != nil {
			return err
		}
		for _, m := range methods {
			w, err := m.train(train, uint64(split))
			if errors.Is(err, algorithms.ErrAssumption) {
				if split == 0 {
					fmt.Printf("# refused: %s: %v\n", m.name, err)
				}
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			auc, err := bench.AUC(test, w)
			if err != nil {
				return err
			}
			fmt.Printf("%d,%s,%.6f\n", split, m.name, auc)
			aucs[m.name] = append(aucs[m.name], auc)
		}
	}
	for _, m := range methods {
		if len(aucs[m.name]) > 0 {
			mean, se := bench.MeanAndError(aucs[m.name])
			fmt.Printf("# mean AUC %.4f, standard error %.4f over %d splits: %s\n", mean, se, len(aucs[m.name]), m.name)
		}
	}
	return nil
}

// method wraps an algorithm of the catalogue.
func (s settings) method(a algorithms.Algorithm, mode algorithms.Mode, l2 float64) method {
	return method{a.Info().Name + " (" + mode.String() + ")", func(r *engine.Records, seed uint64) ([]float64, error) {
		budget := privacy.Budget{Epsilon: s.epsilon, Delta: s.delta}
		spec, err := algorithms.NewSpec(cpu.Backend{}, engine.Problem{
			N: r.Len(), D: r.Dim(), Bounds: r.Bounds(), Loss: engine.Logistic{},
			Radius: algorithms.DefaultRadius(r.Len(), r.Dim(), budget, mode),
		}, l2, budget, mode)
		if err != nil {
			return nil, err
		}
		p, err := a.Plan(spec)
		if err != nil {
			return nil, err
		}
		if seed == 0 {
			report := p.Report()
			fmt.Printf("# %s (%s): radius %.6g, %d steps, path %.6g, sensitivity %.6g, sigma %.6g, %s\n", report.Algorithm, report.Mode, report.Radius, report.Steps, report.Path, report.Sensitivity, report.Sigma, p.Guarantee)
		}
		res, err := algorithms.Run(context.Background(), r, a, p, algorithms.Options{Public: true, Source: privacy.NewSeededSource(seed)})
		if err != nil {
			return nil, err
		}
		return res.Weights, nil
	}}
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
