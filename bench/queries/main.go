// Command queries measures scores within query groups: moments of clipped differences against the descent that dyad train takes for a
// loss that is named, on the same queries, with the same seed of the noise. Raw rows are appended as they are made; -summary pairs them.
//
//	go -C bench run ./queries -shared ../../shared/data -out results/queries.csv
//	go -C bench run ./queries -summary results/queries-summary.csv -out results/queries.csv
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	lib "dyad"
	"dyad/algorithms"
	"dyad/bench"
	"dyad/engine/metrics"
	"dyad/internal/experiment"
)

const delta = 1e-5

const header = "data,queries,n,epsilon,method,split,noise,ndcg_at_10,pair_accuracy"

func main() {
	shared := flag.String("shared", "../../shared/data", "folder of the data sets")
	names := flag.String("data", "grades,clicks,long,education", "data sets")
	methods := flag.String("methods", "descent,moments,none,exact",
		"descent: on the logistic loss; moments: the rule, @R with a clip radius R; none: without second moments; exact: "+
			"without privacy")
	splits, noises := flag.Int("splits", 10, "splits"), flag.Int("noises", 2, "noises of a split")
	out := flag.String("out", "results/queries.csv", "file that raw rows are appended to")
	summary := flag.String("summary", "", "write this summary of -out, and measure nothing")
	flag.Parse()
	err := error(nil)
	if *summary != "" {
		err = summarize(*out, *summary)
	} else {
		err = run(*shared, strings.Split(*names, ","), strings.Split(*methods, ","), *splits, *noises, *out)
	}
	bench.Exit("queries", err)
}

func run(shared string, names, methods []string, splits, noises int, out string) error {
	for split := 1; split <= splits; split++ {
		for _, name := range names {
			for _, size := range sources[name].queries {
				var rows [][]string
				train, test, err := sources[name].load(shared, size, uint64(split))
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				for _, epsilon := range []float64{0.5, 1, 2, 4} {
					for noise := range noises {
						for _, method := range methods {
							if method == "exact" && (epsilon != 4 || noise > 0) {
								continue
							}
							ndcg, pairs, err := measure(train, test, method, epsilon, uint64(1000*split+noise))
							if err != nil {
								return fmt.Errorf("%s, %s: %w", name, method, err)
							}
							rows = append(rows, []string{name, strconv.Itoa(size), strconv.Itoa(train.records.Len()), fmt.Sprint(epsilon),
								method, strconv.Itoa(split), strconv.Itoa(noise + 1), fmt.Sprintf("%.6f", ndcg), fmt.Sprintf("%.6f", pairs)})
						}
					}
				}
				if err := bench.AppendRows(out, header, rows...); err != nil {
					return err
				}
			}
		}
		fmt.Fprintln(os.Stderr, "split", split)
	}
	return nil
}

// measure returns NDCG@10 and the share of right pairs within the queries of test.
func measure(train, test set, method string, epsilon float64, seed uint64) (ndcg, pairs float64, err error) {
	limit := delta
	o := lib.Options{Epsilon: epsilon, Delta: &limit}
	name, radius, _ := strings.Cut(method, "@")
	switch name {
	case "descent":
		o.Loss, err = lib.NewLoss("logistic", nil, 0)
	case "moments", "none":
		a := algorithms.Moments{}
		if name == "none" {
			a.Second = name
		}
		if radius != "" {
			a.ClipRadius, err = strconv.ParseFloat(radius, 64)
		}
		o.Algorithm = a
	case "exact":
		o.Mode = algorithms.NonPrivate
	}
	if err != nil {
		return 0, 0, err
	}
	shape := lib.Shape{Records: train.records.Len(), Features: train.records.Dim(), LabelValues: train.labels,
		Groups: train.sizes()}
	w, err := bench.Train(train.records, shape, o, seed, nil)
	if err != nil {
		return 0, 0, err
	}
	scores, err := metrics.Scores(test.records, w)
	if err != nil {
		return 0, 0, err
	}
	relevance := slices.Clone(test.records.Labels())
	for i := range relevance { // 0 to 3; 0 and 3 of two classes
		relevance[i] = 1.5 * (1 + relevance[i])
	}
	g := metrics.Grouping{IDs: test.groups}
	top, err := metrics.NDCG(scores, relevance, 10, g)
	if err != nil {
		return 0, 0, err
	}
	right, err := metrics.RankingAccuracy(scores, relevance, g)
	return top.Mean, right.Mean, err
}

// summarize pairs methods with descent by split: means over the noises of a split, the difference, and its standard error over splits.
func summarize(in, out string) error {
	rows, err := bench.ReadRows(in)
	if err != nil {
		return err
	}
	type cell [4]string // data, queries, epsilon, method: synthetic queries have other numbers of records in each split
	ndcg, pairs := map[cell]map[string][]float64{}, map[cell]map[string][]float64{}
	var order []cell
	for _, r := range rows {
		c := cell{r[0], r[1], r[3], r[4]}
		if ndcg[c] == nil {
			order, ndcg[c], pairs[c] = append(order, c), map[string][]float64{}, map[string][]float64{}
		}
		for i, to := range []map[string][]float64{ndcg[c], pairs[c]} {
			v, err := strconv.ParseFloat(r[7+i], 64)
			if err != nil {
				return err
			}
			to[r[5]] = append(to[r[5]], v)
		}
	}
	slices.SortStableFunc(order, func(a, b cell) int { return slices.Compare(a[:3], b[:3]) })
	lines := [][]string{{"data", "queries", "epsilon", "method", "splits", "runs", "ndcg_at_10", "gain", "standard_error",
		"pair_accuracy", "gain", "standard_error"}}
	for _, c := range order {
		base := c
		base[3] = "descent"
		line := append(slices.Clone(c[:]), strconv.Itoa(len(ndcg[c])), "")
		for _, all := range []map[cell]map[string][]float64{ndcg, pairs} {
			var values, gains []float64
			runs := 0
			for split, v := range all[c] {
				runs += len(v)
				values = append(values, stat.Mean(v, nil))
				if b := all[base][split]; b != nil {
					gains = append(gains, stat.Mean(v, nil)-stat.Mean(b, nil))
				}
			}
			line[5] = strconv.Itoa(runs)
			gain, se := experiment.MeanAndError(gains)
			line = append(line, fmt.Sprintf("%.4f", stat.Mean(values, nil)), fmt.Sprintf("%+.4f", gain), fmt.Sprintf("%.4f", se))
		}
		lines = append(lines, line)
	}
	return bench.WriteRows(out, lines)
}
