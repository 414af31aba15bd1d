// Command curves measures what a public basis (basis: cosine:K in a schema) does to the AUC of dyad train's default, against the same
// run without one: same split, same seed of the noise. Raw rows are appended as they are made; -summary pairs them.
//
//	go -C bench run ./curves -shared ../../shared/data -data adult,bank -out results/curves.csv
//	go -C bench run ./curves -summary results/curves-summary.csv -out results/curves.csv
//	go -C bench run ./curves -interactions -summary results/curves-interactions-summary.csv -out results/curves-interactions.csv
package main

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/bench"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/metrics"
	"dyad/privacy/account"
)

const (
	delta = 1e-5
	// mostTest bounds the records that are scored.
	mostTest = 10_000
)

var (
	epsilons = []float64{0.5, 1, 2, 4}
	header   = "data,n,epsilon,mu,basis,d,split,noise,auc"
)

func main() {
	shared := flag.String("shared", "../../shared/data", "folder of the data sets")
	names := flag.String("data", "adult,bank,wdbc,hepatitis,clinical,linear,bent", "data sets")
	bases := flag.String("bases", "none,curve:2,cosine:6",
		"bases, with interactions as in none+day*month, a clip radius as in none@0.8, or shrunk bends as in "+
			"cosine:6/shrunk; none among them")
	least, most := flag.Int("least", 0, "smallest n"), flag.Int("most", math.MaxInt, "largest n")
	from, splits := flag.Int("from", 1, "first split"), flag.Int("splits", 20, "last split")
	noises := flag.Int("noises", 3, "noises of a split")
	t := flag.Float64("t", 0, "leave out bases with a smaller n mu/sqrt d, and their budgets if there is no other basis")
	out := flag.String("out", "results/curves.csv", "file that raw rows are appended to")
	summary := flag.String("summary", "", "write this summary of -out, and measure nothing")
	pairs := flag.Bool("interactions", false, "a summary compares with the same basis without interactions, not with none")
	spread := flag.Bool("spreads", false, "write how far records are from their mean, and measure nothing")
	flag.BoolVar(&oracle, "accuracy", false,
		"measure the accuracy of the best threshold for the test records in place of AUC")
	only := flag.Float64("epsilon", 0, "measure this budget only; 1000 is next to no noise")
	flag.Parse()
	if *only > 0 {
		epsilons = []float64{*only}
	}
	var err error
	if *spread {
		err = spreads(*shared, strings.Split(*names, ","), *out)
	} else if *summary != "" {
		err = summarize(*out, *summary, *pairs)
	} else {
		s := study{shared: *shared, bases: strings.Split(*bases, ","), least: *least, most: *most, noises: *noises, t: *t}
		err = s.run(strings.Split(*names, ","), *from, *splits, *out)
	}
	bench.Exit("curves", err)
}

// study is what is measured of every cell.
type study struct {
	shared      string
	bases       []string
	least, most int
	noises      int
	t           float64
}

// measures reports whether a basis has a large enough n mu/sqrt d, or, for none, whether one of the others has.
func (s study) measures(encoded []*engine.Records, i, n int, mu float64) bool {
	for k, r := range encoded {
		if (k == i || s.bases[i] == dataset.BasisNone) && s.bases[k] != dataset.BasisNone &&
			float64(n)*mu >= s.t*math.Sqrt(float64(r.Dim())) {
			return true
		}
	}
	return false
}

// run goes through the splits outermost, so that an early end leaves all cells with as many.
func (s study) run(names []string, from, splits int, out string) error {
	encoded := map[string][]*engine.Records{}
	for _, name := range names {
		var err error
		if encoded[name], err = load(s.shared, name, s.bases); err != nil {
			return err
		}
	}
	for split := from; split <= splits; split++ {
		for _, name := range names {
			for _, n := range sources[name].sizes {
				if n < s.least || n > s.most {
					continue
				}
				rows, err := s.cell(name, encoded[name], n, split)
				if err = cmp.Or(bench.AppendRows(out, header, rows...), err); err != nil {
					return fmt.Errorf("%s, n = %d, split %d: %w", name, n, split, err)
				}
			}
		}
		fmt.Fprintln(os.Stderr, "split", split)
	}
	return nil
}

// cell measures all bases, budgets and noises of one split.
func (s study) cell(name string, encoded []*engine.Records, n, split int) (rows [][]string, err error) {
	for i, basis := range s.bases {
		train, test, err := bench.Split(encoded[i], n, uint64(split))
		if err != nil {
			return rows, err
		}
		if test.Len() > mostTest {
			// positions are independent of the records: the order of the file is the same for all bases
			keep := make([]int, mostTest)
			for k := range keep {
				keep[k] = k * test.Len() / mostTest
			}
			test = test.Subset(keep)
		}
		for _, epsilon := range epsilons {
			if !s.measures(encoded, i, n, account.GDPMu(epsilon, delta)) {
				continue
			}
			for noise := range s.noises {
				var bends *dataset.Encoder
				if strings.HasSuffix(basis, shrunk) {
					bends = encoders[encoded[i]]
				}
				auc, err := measure(train, test, epsilon, radius(basis), bends, uint64(1000*split+noise))
				if err != nil {
					return rows, err
				}
				rows = append(rows, []string{name, strconv.Itoa(n), fmt.Sprint(epsilon),
					fmt.Sprintf("%.5f", account.GDPMu(epsilon, delta)), basis, strconv.Itoa(train.Dim()),
					strconv.Itoa(split), strconv.Itoa(noise + 1), fmt.Sprintf("%.6f", auc)})
			}
		}
	}
	return rows, nil
}

// radius is the clip radius R/X of a basis, such as none@0.8; 0 means that of the rule.
func radius(basis string) (r float64) {
	if _, of, ok := strings.Cut(basis, "@"); ok {
		r, _ = strconv.ParseFloat(of, 64)
	}
	return r
}

// measure trains the default of dyad train, with a clip radius if it is not 0, and with the bends of an encoder shrunk if it is not nil.
func measure(train, test *engine.Records, epsilon, radius float64, bends *dataset.Encoder,
	seed uint64) (float64, error) {
	limit := delta
	shape := lib.Shape{Records: train.Len(), Features: train.Dim(), LabelValues: 2}
	w, err := bench.Train(train, shape, lib.Options{Epsilon: epsilon, Delta: &limit}, seed,
		func(chosen algorithms.Algorithm) algorithms.Algorithm {
			a, ok := chosen.(algorithms.Moments)
			if !ok {
				return chosen
			}
			a.ClipRadius = radius
			if bends != nil {
				a.Blocks, a.Lines = bends.Blocks(), bends.Lines()
			}
			return a
		})
	if err != nil {
		return 0, err
	}
	scores, err := metrics.Scores(test, w[:train.Dim()])
	if err != nil {
		return 0, err
	}
	if oracle {
		return bestAccuracy(scores, test.Labels()), nil
	}
	return metrics.AUC(scores, test.Labels())
}

// oracle makes measure return bestAccuracy in place of AUC.
var oracle bool

// bestAccuracy is the largest share of right labels of any threshold: what no threshold that was found without these labels is above.
func bestAccuracy(scores, labels []float64) float64 {
	order := make([]int, len(scores))
	right := 0
	for i := range order {
		order[i] = i
		if labels[i] > 0 { // a threshold below all scores
			right++
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	best := right
	for k, i := range order {
		if right--; labels[i] <= 0 {
			right += 2
		}
		if k+1 == len(order) || scores[order[k+1]] > scores[i] {
			best = max(best, right)
		}
	}
	return float64(best) / float64(len(scores))
}
