// Command search measures whether a private search among settings is worth its charge: the test AUC of
// the program's default, of each setting with the whole budget, and of the searches with the same
// total charge.
//
//	go -C bench run ./search --shared ../../shared/data --out results/search.csv --summary results/search-summary.csv
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	lib "dyad"
	"dyad/algorithms"
	"dyad/algorithms/search"
	"dyad/bench"
	"dyad/engine/dataset"
	"dyad/internal/experiment"
	"dyad/privacy"
)

func main() {
	shared := flag.String("shared", "../../shared/data", "folder of the data sets")
	out := flag.String("out", "results/search.csv", "file of all runs")
	summary := flag.String("summary", "results/search-summary.csv", "file of means and standard errors")
	splits := flag.Int("splits", 10, "random splits")
	flag.Parse()
	bench.Exit("search", run(*shared, *out, *summary, *splits))
}

// problem is a data set with its candidates.
type problem struct {
	name     string
	fraction float64     // of the records to test
	all      []*lib.Data // one for each candidate
	settings []lib.Setting
}

type row struct {
	data, method, winner string
	records, split       int
	epsilon, auc         float64
}

func run(shared, out, summary string, splits int) error {
	var rows []row
	for _, make := range []func(string) (*problem, error){sparse, clinical, a7a} {
		p, err := make(shared)
		if err != nil {
			return err
		}
		for split := range splits {
			for _, epsilon := range []float64{1, 2} {
				more, err := p.measure(split, epsilon)
				if err != nil {
					return fmt.Errorf("%s, split %d: %w", p.name, split, err)
				}
				rows = append(rows, more...)
			}
			fmt.Fprintln(os.Stderr, p.name, "split", split+1, "of", splits)
		}
		if err := write(out, rows); err != nil {
			return err
		}
		if err := writeSummary(summary, rows); err != nil {
			return err
		}
	}
	return nil
}

// named are settings of the program's options.
func named(name, algorithm string, options ...algorithms.Option) lib.Setting {
	s := lib.Setting{Name: name, With: options}
	if algorithm != "" {
		a, err := algorithms.ByName(algorithm)
		if err != nil {
			panic(err)
		}
		s.Options.Algorithm = a
	}
	return s
}

// trainings are settings that differ by algorithm and regularisation.
func trainings() []lib.Setting {
	return []lib.Setting{
		named("default", ""),
		named("moments, full", "moments", algorithms.Option{Field: "Second", Value: "full"}),
		named("moments, full, ridge 4", "moments", algorithms.Option{Field: "Second", Value: "full"},
			algorithms.Option{Field: "Ridge", Value: 4.}),
		named("moments, none", "moments", algorithms.Option{Field: "Second", Value: "none"}),
		named("gradient-perturbation", "gradient-perturbation"),
	}
}

// clinical are the synthetic records of the program.
func clinical(string) (*problem, error) {
	d, err := dataset.SyntheticClinical(12000, 3)
	if err != nil {
		return nil, err
	}
	p := &problem{name: "clinical", fraction: 0.5, settings: trainings()}
	p.all = slices.Repeat([]*lib.Data{lib.NewData(d)}, len(p.settings))
	return p, nil
}

func a7a(shared string) (*problem, error) {
	d, err := lib.Open(filepath.Join(shared, "a7a", "a7a.gz"), "schemas/a7a.yaml")
	if err != nil {
		return nil, err
	}
	p := &problem{name: "a7a", fraction: 0.3, settings: trainings()}
	p.all = slices.Repeat([]*lib.Data{d}, len(p.settings))
	return p, nil
}

// sparse are records with 64 features, and the first four decide: settings differ by the features.
func sparse(string) (*problem, error) {
	const n, d = 12000, 64
	folder, err := os.MkdirTemp("", "search")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	rng := rand.New(rand.NewPCG(5, 64))
	var text bytes.Buffer
	var header []string
	for j := range d {
		header = append(header, fmt.Sprintf("x%d", j+1))
	}
	schema := bench.Generate(&text, n, d, -1, 1, 4, func(x []float64) bool {
		margin := 0.0
		for j := range x {
			if x[j] = 2*rng.Float64() - 1; j < 4 {
				margin += 1.5 * x[j]
			}
		}
		return bench.Positive(rng, margin)
	})
	file := filepath.Join(folder, "sparse.csv")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		return nil, err
	}
	whole, err := dataset.ParseSchema([]byte(schema))
	if err != nil {
		return nil, err
	}
	p := &problem{name: "sparse", fraction: 0.5}
	for _, part := range []struct {
		name     string
		features []string
	}{{"default", nil}, {"x1 to x4", header[:4]}, {"x1 to x16", header[:16]}, {"x33 to x64", header[32:]}, {"x17 to x32", header[16:32]}} {
		s, err := whole.Restrict(part.features)
		if err != nil {
			return nil, err
		}
		data, err := dataset.Load(file, s, dataset.Options{})
		if err != nil {
			return nil, err
		}
		p.settings, p.all = append(p.settings, named(part.name, "")), append(p.all, lib.NewData(data))
	}
	return p, nil
}

// publicRecords is how many public records the candidates of noisy-max are trained on.
const publicRecords = 400

func (p *problem) measure(split int, epsilon float64) (rows []row, err error) {
	ctx := context.Background()
	train, test, reference := make([]*lib.Data, len(p.all)), make([]*lib.Data, len(p.all)), make([]*lib.Data, len(p.all))
	settings := slices.Clone(p.settings)
	for i, d := range p.all {
		if train[i], test[i], err = d.Split(p.fraction, uint64(split)+1); err != nil {
			return nil, err
		}
		if test[i], reference[i], err = test[i].Split(publicRecords/float64(test[i].Records.Len()), 7); err != nil {
			return nil, err
		}
		settings[i].Shape = train[i].Shape()
	}
	seed := uint64(1000*split) + uint64(10*epsilon)
	o := lib.Run{Public: true}
	noise := func(k int) lib.Run { // the data are public: only the noise matters
		o.Source = privacy.NewSeededSource(seed*100 + uint64(k))
		return o
	}
	add := func(method, winner string, m *lib.Model, at int) error {
		e, err := m.Evaluate(ctx, test[at], lib.EvaluateOptions{})
		if err == nil {
			rows = append(rows, row{data: p.name, records: train[at].Records.Len(), epsilon: epsilon, split: split + 1,
				method: method, winner: winner, auc: *e.AUC})
		}
		return err
	}
	models := lib.SearchOptions{Epsilon: epsilon}
	for i, s := range settings {
		s.Options.Epsilon = epsilon
		plan, err := planOne(s)
		if err != nil {
			return nil, err
		}
		m, err := plan.Run(ctx, train[i], noise(i))
		if err != nil {
			return nil, err
		}
		if err := add("setting: "+s.Name, "", m.Model, i); err != nil {
			return nil, err
		}
		// A candidate for noisy-max: without privacy, on public records.
		l2 := math.Pow(10, -float64(i))
		public := lib.Options{Mode: algorithms.NonPrivate, Algorithm: algorithms.ProjectedGradient{}, L2: &l2}
		if plan, err = lib.Plan(reference[i].Shape(), public); err != nil {
			return nil, err
		}
		if m, err = plan.Run(ctx, reference[i], noise(50)); err != nil {
			return nil, err
		}
		models.Models, models.ModelNames = append(models.Models, m.Model),
			append(models.ModelNames, fmt.Sprintf("public, setting %d, l2 %g", i+1, l2))
	}
	for k, road := range []search.Road{search.Compose, search.RandomStopping, search.NoisyMax} {
		so := lib.SearchOptions{Settings: settings, Epsilon: epsilon, Road: road}
		if road == search.NoisyMax {
			so = models
		}
		s, err := lib.PlanSearch(train[0].Shape(), so)
		if err != nil {
			return nil, err
		}
		found, err := s.Run(ctx, train, noise(60+k))
		if err != nil {
			return nil, err
		}
		if err := add("search: "+string(road), found.Winner, found.Model, found.Index); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// planOne plans a setting with the whole budget.
func planOne(s lib.Setting) (*lib.Training, error) {
	c, err := s.Options.Choose(s.Shape)
	if err != nil {
		return nil, err
	}
	if c, err = c.With(s.With...); err != nil {
		return nil, err
	}
	return s.Options.Plan(c, s.Shape)
}

func write(path string, rows []row) error {
	lines := [][]string{{"data", "training_records", "epsilon", "split", "method", "winner", "test_auc"}}
	for _, r := range rows {
		lines = append(lines, []string{r.data, strconv.Itoa(r.records), fmt.Sprint(r.epsilon), strconv.Itoa(r.split),
			r.method, r.winner, fmt.Sprintf("%.5f", r.auc)})
	}
	return bench.WriteRows(path, lines)
}

// writeSummary writes means over splits, with the best setting in hindsight as the oracle.
func writeSummary(path string, rows []row) error {
	type key struct {
		data    string
		epsilon float64
		method  string
	}
	values := map[key][]float64{}
	var order []key
	for _, r := range rows {
		k := key{r.data, r.epsilon, r.method}
		if values[k] == nil {
			order = append(order, k)
		}
		values[k] = append(values[k], r.auc)
	}
	best := map[key]key{} // of a data set and epsilon
	for _, k := range order {
		cell := key{k.data, k.epsilon, ""}
		if b, ok := best[cell]; strings.HasPrefix(k.method, "setting: ") && (!ok || stat.Mean(values[k], nil) > stat.Mean(values[b], nil)) {
			best[cell] = k
		}
	}
	slices.SortStableFunc(order, func(a, b key) int {
		return strings.Compare(a.data, b.data)*2 + int(math.Copysign(1, a.epsilon-b.epsilon))
	})
	lines := [][]string{{"data", "epsilon", "method", "oracle", "splits", "mean_auc", "standard_error", "above_default",
		"standard_error_of_difference"}}
	for _, k := range order {
		oracle := ""
		if best[key{k.data, k.epsilon, ""}] == k {
			oracle = "oracle"
		}
		base := values[key{k.data, k.epsilon, "setting: default"}]
		var gain []float64
		for i, v := range values[k] {
			gain = append(gain, v-base[i])
		}
		line := []string{k.data, fmt.Sprint(k.epsilon), k.method, oracle, strconv.Itoa(len(gain))}
		for _, v := range [][]float64{values[k], gain} {
			mean, se := experiment.MeanAndError(v)
			line = append(line, fmt.Sprintf("%.4f", mean), fmt.Sprintf("%.4f", se))
		}
		lines = append(lines, line)
	}
	return bench.WriteRows(path, lines)
}
