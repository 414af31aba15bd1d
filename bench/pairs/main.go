// Command pairs repeats the experiments of [Li20] Section VII with mechanisms that give
// what they claim, on public data: one line a run, and a plot.
//
//	go -C bench run ./pairs -figure toy -repeats 20 -plot results/pairs-toy.svg > bench/results/pairs-toy.csv
//	go -C bench run ./pairs -figure scatter -repeats 1 > bench/results/pairs-scatter.csv
//	go -C bench run ./pairs -figure table1 -data FILE -schema FILE
//	go -C bench run ./pairs -figure 9 -data FILE -schema schemas/bank.yaml -plot FILE > bench/results/pairs-9-bank.csv
//	go -C bench run ./pairs -figure 10 -data FILE -schema FILE -plot FILE
//	go -C bench run ./pairs -figure 11a|11b|11c|11d|steps -data FILE -schema FILE -plot FILE
//	go -C bench run ./pairs -figure sampled -test 500 -data FILE -schema FILE -plot FILE
//	go -C bench run ./pairs -figure mechanisms
//	go -C bench run ./pairs -figure tuples -pairs 4000 -test 600 -data FILE -schema FILE -plot FILE
//	go -C bench run ./pairs -figure moments > bench/results/pairs-moments.csv
//
// The margin is a public constant (0.25 times -rho), not the mean distance of dissimilar
// pairs as in the paper, and pairs are drawn by ids with a degree cap.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"dyad/bench"
	"dyad/internal/tasks"
)

type settings struct {
	figure, data, schema, plot string
	repeats, pairs, test       int
	parallel                   int
	encoded                    bool // features as the program encodes them, not of L1 norm 1
}

func main() {
	log.SetFlags(0)
	var s settings
	flag.StringVar(&s.figure, "figure", "",
		"toy, scatter, table1, 9, 10, 11a, 11b, 11c, 11d, steps, sampled, tuples, moments or mechanisms")
	flag.StringVar(&s.data, "data", "", "data file")
	flag.StringVar(&s.schema, "schema", "", "schema file")
	flag.StringVar(&s.plot, "plot", "", "SVG file to write")
	flag.IntVar(&s.repeats, "repeats", 20, "repeats, each with records, pairs, start and noise of its own")
	flag.IntVar(&s.pairs, "pairs", 16928,
		"pairs to draw, two per individual (Table I of the paper: Adult 37400, Bank 16928)")
	flag.IntVar(&s.test, "test", 1500, "records outside all pairs that are classified")
	flag.IntVar(&s.parallel, "parallel", 2, "runs at a time")
	flag.Parse()
	bench.Header(os.Stdout, "pairs", os.Args[1:])
	figures := map[string]func() ([]row, axes, error){
		"toy": s.toy, "9": s.privacyBudgets, "10": s.mechanismsTrained, "mechanisms": s.mechanismTable,
		"11a": s.clips, "11b": s.batches, "11c": s.margins, "11d": s.dimensions, "steps": s.steps, "sampled": s.sampled,
		"tuples": s.tuples, "moments": s.pairMoments,
		"table1": s.statistics, "scatter": s.scatter,
	}
	figure, known := figures[s.figure]
	if !known {
		log.Fatalf("pairs: figure %q is unknown", s.figure)
	}
	rows, a, err := figure()
	if err == nil {
		print(rows, a)
		if s.plot != "" {
			err = plotRows(s.plot, rows, a)
		}
	}
	if err != nil {
		log.Fatal("pairs: ", err)
	}
}

// row is one measured value: of a method, at x, in a repeat.
type row struct {
	method string
	x      float64
	repeat int
	value  float64
	// other is a second figure of the run, for the file only.
	other float64
}

// axes name the columns.
type axes struct{ title, x, value, other string }

func print(rows []row, a axes) {
	fmt.Printf("method,%s,repeat,%s", a.x, a.value)
	if a.other != "" {
		fmt.Printf(",%s", a.other)
	}
	fmt.Println()
	for _, r := range rows {
		fmt.Printf("%s,%g,%d,%.6g", r.method, r.x, r.repeat, r.value)
		if a.other != "" {
			fmt.Printf(",%.6g", r.other)
		}
		fmt.Println()
	}
	for _, c := range curves(rows) {
		for i, x := range c.X {
			fmt.Printf("# %s, %s %g: mean %s %.5g, standard error %.2g\n", c.Name, a.x, x, a.value, c.Y[i], c.SE[i])
		}
	}
}

// each runs all jobs, a few at a time, and returns their rows in order.
func (s settings) each(jobs []func() ([]row, error)) ([]row, error) {
	out := make([][]row, len(jobs))
	errs := make([]error, len(jobs))
	if err := tasks.Each(context.Background(), max(1, s.parallel), len(jobs), func(_, i int) {
		out[i], errs[i] = jobs[i]()
	}); err != nil {
		return nil, err
	}
	var rows []row
	for i := range jobs {
		if errs[i] != nil {
			return nil, errs[i]
		}
		rows = append(rows, out[i]...)
	}
	return rows, nil
}
