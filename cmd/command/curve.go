package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dyad/algorithms"
	"dyad/engine/dataset"
	"dyad/engine/dataset/catalog"
	"dyad/internal/experiment"
	"dyad/internal/input"
	"dyad/internal/page"
)

type curveCmd struct {
	Plan       string    `arg:"" optional:"" name:"plan" help:"Plan of experiments on public data (YAML, see bench/plans). It replaces the flags for data, epsilons and algorithms."`
	Data       dataFiles `xor:"data" needs:"schema" why:"\"dyad data schema FILE\" drafts one" placeholder:"FILE" help:"As in train, with --schema. Private data cost budget and need --holdout-epsilon."`
	Schema     string    `needs:"data" placeholder:"FILE"`
	PublicData bool      `help:"As in train. The figures are exact."`
	Dataset    string    `xor:"data" placeholder:"NAME" help:"Public data set of the catalogue (\"dyad data list\"), fetched before."`
	Synthetic  string    `xor:"data" placeholder:"KIND" help:"Synthetic data: ar1, clinical, scores, or a kind for --task metric. Default without data: clinical."`
	Records    int       `positive:"" default:"5000" help:"Number of synthetic records."`
	Features   int       `positive:"" default:"20" help:"Features of synthetic ar1 and scores."`
	N          []int     `short:"n" placeholder:"N" help:"Numbers of training records; the other records are tested. Default: set by --holdout."`
	Holdout    float64   `within:"(0,1)" positive:"" default:"0.3" placeholder:"F" help:"Fraction of test records."`
	Epsilons   []float64 `name:"epsilon" within:"(0,)" aliases:"epsilons" placeholder:"E" help:"Epsilons. Default: 0.1,0.3,1,3,10."`
	Delta      *float64  `placeholder:"DELTA" help:"Delta; 0 asks for pure epsilon. Default: min(1e-5, n^-1.5)."`
	Algorithms []string  `name:"algorithm" aliases:"algorithms" placeholder:"NAME" help:"Algorithms with their defaults, see \"dyad lab algorithms\", or auto. Default: auto."`
	NoCeiling  bool      `help:"Leave out the models without privacy. On private data, they are always left out."`
	Task       string    `default:"auc" enum:"auc,metric" help:"As in train. Metrics are judged by nearest neighbours."`
	Splits     int       `positive:"" help:"Random splits into training and test records. Each split of private data is charged. Default: 10; private data: 1."`
	Noises     int       `positive:"" default:"1" help:"Draws of noise for each split."`
	PublicSeed uint64    `aliases:"split-seed" default:"1" help:"Seed of synthetic data and of the noise on public data."`
	Out        string    `short:"o" default:"curve" placeholder:"PREFIX" help:"Prefix of the files: PREFIX.csv, PREFIX-summary.csv and the pictures."`
	Format     []string  `enum:"svg,pdf,png" default:"svg,pdf" placeholder:"FORMAT" help:"Formats of the pictures: svg, pdf, png."`
	Parallel   int       `positive:"" default:"1" help:"Number of training sets processed at a time."`
	Retry      bool      `help:"Repeat runs that failed."`
	partFlag
	privateCurve
	labelsFlag
	cacheFlag
	runFlags
	pageFlag
}

// privateCurve holds the flags of a curve on private data.
type privateCurve struct {
	HoldoutEpsilon *float64 `placeholder:"E" help:"As in train, for the figures of every private run."`
}

// Run computes and draws a curve.
func (c *curveCmd) Run(a *app) error {
	page, err := c.output(c.Force, c.Data.and(c.Plan, c.Schema, c.Labels, c.Ledger)...)
	if err != nil {
		return err
	}
	o := experiment.Options{Machine: "dyad " + version, Parallel: c.Parallel, Retry: c.Retry}
	var p *experiment.Plan
	if o.Part, o.Parts, err = c.given(); err != nil {
		return err
	}
	from := c.Plan
	if c.Plan != "" {
		p, o.Folders, err = c.planned()
	} else {
		data, set, bad := c.source(a)
		if bad != nil {
			return bad
		}
		if from = data.Name; set != nil {
			if o.Parts > 0 || c.Merge != nil {
				return badInput("private data give one release for the whole curve; leave --part and --merge out")
			}
			return c.private(a, data, set, page)
		}
		p, err = c.plan(data)
	}
	if err != nil {
		return err
	}
	if c.HoldoutEpsilon != nil || c.DataID != "" || c.Resume != "" || c.Seed != nil {
		return badInput("--holdout-epsilon, --data-id, --resume and --seed are only for private data")
	}
	bar := a.describedTracker("training")
	o.Progress = func(p experiment.Progress) { bar.Step(p.Done, p.Total) }
	r := curveResult{Data: from, CSV: c.Out + ".csv", Summary: c.Out + "-summary.csv"}
	if o.Parts > 0 {
		r.CSV = partName(c.Out, o.Part, o.Parts, ".csv")
	}
	if c.Merge != nil {
		files, err := c.merged()
		if err == nil {
			err = checkOut(r.CSV, c.Force, files...)
		}
		if err == nil {
			err = p.Merge(r.CSV, files...)
		}
		if err != nil {
			return err
		}
	} else if err := p.Run(a.ctx, r.CSV, o); err != nil {
		if errors.Is(err, context.Canceled) {
			a.note("dyad: the finished runs are in %s; the same command continues with the other runs", r.CSV)
		}
		return err
	}
	rows, err := p.Rows(r.CSV)
	if err != nil {
		return err
	}
	if o.Parts > 0 {
		part := partResult{o.Part, o.Parts, len(rows), r.CSV}
		return a.emit(part, part.text())
	}
	all := p.Summarise(rows)
	r.Means = p.Best(all)
	for _, s := range all {
		r.Failures += s.Failed
	}
	if err := p.WriteSummary(r.Summary, all); err != nil {
		return err
	}
	if r.Figures, err = p.Draw(c.Out, r.Means, c.Format...); err != nil {
		return err
	}
	err = a.emit(r, r.text())
	if page == nil {
		return err
	}
	return errors.Join(err, a.curvePage(page, r, p.Figures(r.Means)))
}

// planned returns the plan for a file of public data.
func (c *curveCmd) planned() (*experiment.Plan, []string, error) {
	for flag, given := range map[string]bool{
		"--data": c.Data.given(), "--dataset": c.Dataset != "", "--synthetic": c.Synthetic != "", "-n": c.N != nil,
		"--epsilon":   c.Epsilons != nil,
		"--algorithm": c.Algorithms != nil, "--delta": c.Delta != nil, "--splits": c.Splits != 0,
	} {
		if given {
			return nil, nil, badInput("%s is already set by the plan %s; leave the flag or the plan out", flag, c.Plan)
		}
	}
	p, err := experiment.Load(c.Plan)
	if err == nil && !c.PublicData && slices.ContainsFunc(p.Data, func(d experiment.Data) bool { return d.File != "" }) {
		err = badInput("the plan %s names data files, which must be public; if they are, add --public-data",
			c.Plan)
	}
	folder := c.Dir
	if err == nil && folder == "" {
		folder, err = catalog.Cache()
	}
	return p, []string{folder}, err
}

// source returns the data set of the flags, and the data that were read if they are private.
func (c *curveCmd) source(a *app) (experiment.Data, *dataset.Dataset, error) {
	switch {
	case c.Data.given():
		s, err := dataset.LoadSchema(c.Schema)
		if err != nil {
			return experiment.Data{}, nil, asInput(err)
		}
		return c.read(a, strings.TrimSuffix(filepath.Base(c.Data.names[0]), filepath.Ext(c.Data.names[0])), c.Data,
			s, c.PublicData)
	case c.Dataset != "":
		return c.fromCatalog(a)
	}
	kind := cmp.Or(c.Synthetic, "clinical")
	d := experiment.Data{Name: kind, Synthetic: kind, Records: c.Records, Features: c.Features, Seed: c.PublicSeed}
	if d.Synthetic != "ar1" && d.Synthetic != "scores" {
		d.Features = 0 // the generator defines the number of features
	}
	return c.sized(d, c.Records), nil, nil
}

// read reads a file. set is nil if the data are public.
func (c *curveCmd) read(a *app, name string, from dataFiles, s *dataset.Schema,
	public bool) (d experiment.Data, set *dataset.Dataset, err error) {
	grouped := slices.ContainsFunc(s.Columns, func(c dataset.Column) bool { return c.Role == dataset.RoleGroup })
	if err := (input.Needs{Ungrouped: "a curve does not support query groups; set role: ignore for the group column"}).Of(input.Lacks{Ungrouped: grouped}); err != nil {
		return d, nil, err
	}
	public = public || s.Public
	if !public {
		if err := c.checkPrivate(); err != nil {
			return d, nil, err
		}
	}
	if set, err = a.readTraining(from, s, c.options(dataset.Options{Persons: dataset.KeepPersons}), public); err != nil {
		return d, nil, err
	}
	d = c.sized(experiment.Data{Name: plainName(name), Given: set.Records, PersonRows: s.PersonCap()}, set.Records.Units())
	if public {
		set = nil
	}
	return d, set, nil
}

// plainName returns a name in the form used in plans and file names.
func plainName(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r < 128 && (r == '-' || r == '.' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' ||
			r >= 'a' && r <= 'z') {
			return r
		}
		return '-'
	}, name), "-._")
}

// fromCatalog reads the first file of a data set of the catalogue with its ready-made schema.
func (c *curveCmd) fromCatalog(a *app) (d experiment.Data, set *dataset.Dataset, err error) {
	e, ok := catalog.Find(c.Dataset)
	if !ok || e.Schema == "" {
		return d, nil, badInput("there is no ready schema for the data set %q; \"dyad data list\" names the data sets",
			c.Dataset)
	}
	text, err := fs.ReadFile(catalog.Schemas, e.Schema+".yaml")
	if err != nil {
		return d, nil, err
	}
	s, err := dataset.ParseSchema(text)
	if err != nil {
		return d, nil, err
	}
	folder, err := c.folder(e.Name)
	if err != nil {
		return d, nil, err
	}
	path := filepath.Join(folder, e.Files[0].Name)
	if _, err := os.Stat(path); err != nil {
		if _, packed := os.Stat(path + ".gz"); packed != nil {
			return d, nil, badInput("%s does not exist; \"dyad data fetch %s\" fetches the data set", path, e.Name)
		}
		path += ".gz"
	}
	return c.read(a, e.Name, dataFiles{asked: []string{path}, names: []string{path}}, s, true)
}

// sized returns d with the numbers of training records given by the flags, for n units.
func (c *curveCmd) sized(d experiment.Data, n int) experiment.Data {
	if d.N = c.N; d.N == nil {
		d.N = []int{int(float64(n)*(1-c.Holdout) + 0.5)}
	}
	return d
}

// ceilingRidges are the L2 coefficients of the models without privacy. The best of these models is the ceiling.
// A poor ceiling would make private models look better than they are.
var ceilingRidges = []any{3.0, 0.3, 0.03}

// epsilons returns the epsilons of the trainings in ascending order.
func (c *curveCmd) epsilons() []float64 {
	if c.Epsilons == nil {
		return []float64{0.1, 0.3, 1, 3, 10}
	}
	return slices.Sorted(slices.Values(c.Epsilons))
}

// names returns the names of the algorithms.
func (c *curveCmd) names() []string {
	if c.Algorithms == nil {
		return []string{algorithms.AutoName}
	}
	return c.Algorithms
}

// plan returns the plan of the flags for public data.
func (c *curveCmd) plan(d experiment.Data) (*experiment.Plan, error) {
	p := experiment.Plan{Title: d.Name, Task: c.Task, Data: []experiment.Data{d}, Epsilon: c.epsilons(), Delta: c.Delta,
		Splits: cmp.Or(c.Splits, 10), Noises: c.Noises, Seed: c.PublicSeed}
	for _, name := range c.names() {
		p.Algorithms = append(p.Algorithms, experiment.Algorithm{Name: name})
	}
	if !c.NoCeiling {
		ceiling := experiment.Algorithm{Name: algorithms.ProjectedGradient{}.Info().Name}
		if c.Task == taskAUC {
			ceiling.Options = map[string]any{"ridge": ceilingRidges}
		} else {
			p.Baselines = []string{"identity"}
		}
		p.Algorithms = append(p.Algorithms, ceiling)
	}
	return experiment.New("curve", p)
}

// means returns the table of the means. none stands for a mean without a value.
func (r curveResult) means(none string) page.Table {
	t := page.Table{Caption: "Means", Head: []string{"data", "n", "epsilon", "method", "mean", "standard error", "splits"}}
	for _, m := range r.Means {
		mean, deviation := none, none
		if m.Splits > 0 {
			mean, deviation = fmt.Sprintf("%.4f", m.Mean), fmt.Sprintf("%.4f", m.SE)
		}
		t.Add(m.Data, strconv.Itoa(m.N), fmt.Sprintf("%g", m.Epsilon), m.Label(), mean, deviation, strconv.Itoa(m.Splits))
	}
	return t
}

func (r curveResult) text() string {
	var b strings.Builder
	b.WriteString(r.means("-").Text())
	if r.Failures > 0 {
		fmt.Fprintf(&b, "%d runs gave no value; for the reason, see the column status of %s\n", r.Failures, r.CSV)
	}
	fmt.Fprintf(&b, "\nrows      %s\nmeans     %s\n", r.CSV, r.Summary)
	for _, f := range r.Figures {
		fmt.Fprintf(&b, "picture   %s\n", f)
	}
	b.WriteString("guarantee none, because data are public and noise has a seed. Do not use these figures to " +
		"choose options for private data of the same people\n")
	return b.String()
}
