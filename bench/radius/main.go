// Command radius sweeps the radius of the domain for certified DPGDSC on public
// data: the evidence behind algorithms.DefaultRadius.
//
//	go run ./bench/radius -data FILE -schema bench/schemas/pima.yaml -n 512 > bench/results/radius-pima.csv
//	go run ./bench/radius -n 20000 > bench/results/radius-synthetic.csv
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"os"

	"dyad/algorithms"
	"dyad/bench"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/privacy"
	"dyad/privacy/account"
)

func main() {
	log.SetFlags(0)
	file := flag.String("data", "", "data file; without it synthetic clinical records")
	schema := flag.String("schema", "", "schema file")
	n := flag.Int("n", 512, "training records")
	splits := flag.Int("splits", 20, "splits")
	flag.Parse()
	if err := sweep(*file, *schema, *n, *splits); err != nil {
		log.Fatal("radius: ", err)
	}
}

func load(file, schema string, n int) (*engine.Records, error) {
	if file == "" {
		d, err := dataset.SyntheticClinical(2*n, 2)
		if err != nil {
			return nil, err
		}
		return d.Records, nil
	}
	return bench.Public(file, schema, n)
}

func sweep(file, schema string, n, splits int) error {
	all, err := load(file, schema, n)
	if err != nil {
		return err
	}
	bench.Header(os.Stdout, "radius", os.Args[1:])
	fmt.Println("# q = n mu/sqrt(d); default: the radius of algorithms.DefaultRadius; data treated as public, noise seeded")
	fmt.Println("epsilon,delta,q,default,radius,steps,sigma,splits,mean_auc,standard_error")
	a := algorithms.DPGDSC{}
	for _, epsilon := range []float64{0.5, 1, 2, 4, 8} {
		b := privacy.Budget{Epsilon: epsilon, Delta: 1e-5}
		q := float64(n) * account.GDPMu(b.Epsilon, b.Delta) / math.Sqrt(float64(all.Dim()))
		for _, radius := range []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1, 3, 10} {
			var aucs []float64
			var report algorithms.Report
			for split := range splits {
				train, test, err := bench.Split(all, n, uint64(split))
				if err != nil {
					return err
				}
				spec, err := algorithms.NewSpec(cpu.Backend{}, engine.Problem{N: n, D: all.Dim(), Bounds: all.Bounds(), Loss: engine.Logistic{}, Radius: radius}, 0.001, b, algorithms.Certified)
				if err != nil {
					return err
				}
				p, err := a.Plan(spec)
				if err != nil {
					return err
				}
				report = p.Report()
				res, err := algorithms.Run(context.Background(), train, a, p, algorithms.Options{Public: true, Source: privacy.NewSeededSource(uint64(split))})
				if err != nil {
					return err
				}
				auc, err := bench.AUC(test, res.Weights)
				if err != nil {
					return err
				}
				aucs = append(aucs, auc)
			}
			mean, se := bench.MeanAndError(aucs)
			fmt.Printf("%g,%g,%.1f,%.4g,%g,%d,%.4g,%d,%.4f,%.4f\n", epsilon, b.Delta, q, algorithms.DefaultRadius(n, all.Dim(), b, algorithms.Certified), radius, report.Steps, report.Sigma, splits, mean, se)
		}
	}
	return nil
}
