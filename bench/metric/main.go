// Command metric compares nearest neighbours under a learned metric with the
// identity, private and not, on random splits of a public data set: one line a
// split and method, then paired differences as comments.
//
//	go run ./bench/metric -data FILE -schema bench/schemas/pima.yaml -n 512 -epsilon 2 > bench/results/metric-pima-512-eps2.csv
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"

	"dyad/algorithms"
	"dyad/bench"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/metrics"
	"dyad/privacy"
)

type settings struct {
	data, schema   string
	n, splits, k   int
	epsilon, delta float64
}

func main() {
	log.SetFlags(0)
	var s settings
	flag.StringVar(&s.data, "data", "", "data file")
	flag.StringVar(&s.schema, "schema", "", "schema file")
	flag.IntVar(&s.n, "n", 512, "training records")
	flag.IntVar(&s.splits, "splits", 20, "splits")
	flag.IntVar(&s.k, "k", 3, "neighbours that vote")
	flag.Float64Var(&s.epsilon, "epsilon", 2, "epsilon of each private metric")
	flag.Float64Var(&s.delta, "delta", 1e-5, "delta")
	flag.Parse()
	if err := s.compare(); err != nil {
		log.Fatal("metric: ", err)
	}
}

func (s settings) compare() error {
	all, err := bench.Public(s.data, s.schema, s.n)
	if err != nil {
		return err
	}
	bench.Header(os.Stdout, "metric", os.Args[1:])
	fmt.Printf("# %d-NN accuracy on held-out records; radius 1; data treated as public, noise seeded by the split\n", s.k)
	fmt.Println("split,method,accuracy")
	type method struct {
		a    algorithms.Algorithm
		mode algorithms.Mode
		l2   float64
	}
	methods := []method{
		{algorithms.ProjectedGradient{Steps: 300}, algorithms.NonPrivate, 0.001},
		{algorithms.DPGDSC{}, algorithms.Certified, 0.001},
		{algorithms.OffPairStrC{}, algorithms.Certified, 0.001},
		{algorithms.OffPairC{}, algorithms.Certified, 0},
		{algorithms.OffPairStrC{}, algorithms.Paper, 0.001},
	}
	identity := make([]float64, s.splits)
	accuracies, differences := make(map[string][]float64), make(map[string][]float64)
	var names []string
	for split := range s.splits {
		train, test, err := bench.Split(all, s.n, uint64(split))
		if err != nil {
			return err
		}
		if identity[split], err = s.accuracy(train, test, nil); err != nil {
			return err
		}
		fmt.Printf("%d,identity,%.6f\n", split, identity[split])
		for _, m := range methods {
			name := m.a.Info().Name + " (" + m.mode.String() + ")"
			w, err := s.train(train, m.a, m.mode, m.l2, uint64(split))
			if errors.Is(err, algorithms.ErrAssumption) {
				if split == 0 {
					fmt.Printf("# refused: %s: %v\n", name, err)
				}
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			matrix := make([]float64, all.Dim()*all.Dim())
			engine.Symmetric{Dim: all.Dim()}.Unpack(matrix, w)
			accuracy, err := s.accuracy(train, test, matrix)
			if err != nil {
				return err
			}
			fmt.Printf("%d,%s,%.6f\n", split, name, accuracy)
			if split == 0 {
				names = append(names, name)
			}
			accuracies[name] = append(accuracies[name], accuracy)
			differences[name] = append(differences[name], accuracy-identity[split])
		}
	}
	mean, se := bench.MeanAndError(identity)
	fmt.Printf("# identity: mean accuracy %.4f, standard error %.4f\n", mean, se)
	for _, name := range names {
		mean, se := bench.MeanAndError(accuracies[name])
		gain, gainError := bench.MeanAndError(differences[name])
		fmt.Printf("# %s: mean accuracy %.4f, standard error %.4f; paired difference to the identity %+.4f, standard error %.4f\n", name, mean, se, gain, gainError)
	}
	return nil
}

func (s settings) accuracy(train, test *engine.Records, metric []float64) (float64, error) {
	c, err := metrics.KNN(context.Background(), train, test, metrics.KNNOptions{K: s.k, Metric: metric})
	return c.Accuracy(), err
}

func (s settings) train(r *engine.Records, a algorithms.Algorithm, mode algorithms.Mode, l2 float64, seed uint64) ([]float64, error) {
	spec, err := algorithms.NewSpec(cpu.Backend{}, engine.Problem{
		N: r.Len(), D: r.Dim(), Bounds: r.Bounds(), Loss: engine.MahalanobisLogistic{}, Radius: 1,
	}, l2, privacy.Budget{Epsilon: s.epsilon, Delta: s.delta}, mode)
	if err != nil {
		return nil, err
	}
	p, err := a.Plan(spec)
	if err != nil {
		return nil, err
	}
	if seed == 0 {
		report := p.Report()
		fmt.Printf("# %s (%s): %d steps, path %.6g, sensitivity %.6g, sigma %.6g, noise to radius %.3g\n", p.Algorithm, p.Mode, p.Schedule.Steps, p.Schedule.Path, report.Number("sensitivity"), report.Number("sigma"), report.Number("noise_to_radius"))
	}
	res, err := algorithms.Run(context.Background(), r, a, p, algorithms.Options{Public: true, Source: privacy.NewSeededSource(seed)})
	if err != nil {
		return nil, err
	}
	return res.Weights, nil
}
