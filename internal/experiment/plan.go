package experiment

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"dyad/engine"
	"dyad/engine/dataset/strictyaml"
	"dyad/internal/files"
	"dyad/internal/input"
	"dyad/privacy"
)

// Plan is a plan of experiments. In a plan, every method is run on every cell, for every split and every draw
// of noise. A cell consists of a data set, a number of training records and an epsilon.
type Plan struct {
	Title string `yaml:"title"`
	// Task is "auc" (the default), which learns linear scores and measures their AUC, or "metric", which learns
	// Mahalanobis metrics and measures the accuracy of nearest neighbours.
	Task string `yaml:"task"`
	// Neighbours is the k of k nearest neighbours. The default is 3.
	Neighbours int    `yaml:"neighbours"`
	Data       []Data `yaml:"data"`
	// Measure is the name of the result of a run. If Measure is "", the result is AUC or, for metrics, the
	// accuracy of nearest neighbours. The other names come from measures(). Their results are computed from a
	// loss whose L2 term has the weight ObjectiveL2 or, for regret, the weight of the algorithm.
	Measure     string    `yaml:"measure"`
	ObjectiveL2 float64   `yaml:"objective_l2"`
	Epsilon     []float64 `yaml:"epsilon"`
	// Delta is the delta of all cells. If Delta is nil, the delta of a cell is min(1e-5, n^-1.5), or 1/n if
	// DeltaRule is "1/n".
	Delta     *float64 `yaml:"delta"`
	DeltaRule string   `yaml:"delta_rule"`
	// Splits is the number of random splits. Noises is the number of draws of noise for each split; the default is 1.
	Splits int `yaml:"splits"`
	Noises int `yaml:"noises"`
	// Seed and NoiseSeed are described in the package documentation.
	Seed      uint64 `yaml:"seed"`
	NoiseSeed string `yaml:"noise_seed"`
	// Baselines, Algorithms and Peers are the methods. With task auc, the baseline class-means is the exact
	// difference of the class means. With task metric, the baselines are identity and majority; majority
	// predicts the larger class of the training records. If Measure is a figure of a loss, the baseline
	// zero is the model with weights 0.
	Baselines  []string    `yaml:"baselines"`
	Algorithms []Algorithm `yaml:"algorithms"`
	Peers      []Peer      `yaml:"peers"`
	// Reference is the algorithm with which other algorithms are compared. It is given by its name, or by its
	// name and options as in the CSV. The default is the first private batch algorithm of the plan, or the
	// first method if there is no such algorithm.
	Reference string `yaml:"reference"`
	// Paper describes the table or figure that the plan repeats (package reproduce). It is nil for other plans.
	Paper *Paper `yaml:"paper"`

	name    string // of the file, without .yaml
	dir     string // of the file
	schemas fs.FS  // of UseSchemas, or nil
	digest  string // of the text
	body    ast.Node
	all     []method
}

// Data is a data set of a plan.
type Data struct {
	Name string `yaml:"name"`
	// File is the path DATASET/NAME of a data file in the folders of data (Options.Folders). The file may
	// also have this name followed by .gz. Schema is a path relative to the plan.
	File   string `yaml:"file"`
	Schema string `yaml:"schema"`
	// Test is a file of test records. If it is "", the test records are the records that are not drawn for training.
	Test string `yaml:"test"`
	// Synthetic is the name of a generator that replaces File: ar1, clinical, scores, or a kind of
	// dataset.SyntheticMetric. Records is the number of records to be split. Features is the number of
	// features if the generator has a choice. Seed is the seed of the generator.
	Synthetic string `yaml:"synthetic"`
	Records   int    `yaml:"records"`
	Features  int    `yaml:"features"`
	Seed      uint64 `yaml:"seed"`
	// NoiseColumns is the number of columns of uniform noise that are added to the data. The noise is drawn with Seed.
	NoiseColumns int `yaml:"noise_columns"`
	// N are the numbers of training records.
	N []int `yaml:"n"`
	// Splits, if positive, replaces the Splits of the plan.
	Splits int `yaml:"splits"`

	// Given holds records in memory instead of a file, for New. If the records are grouped by person, N
	// counts persons, and PersonRows is the largest number of rows that a person has.
	Given      *engine.Records `yaml:"-" json:"-"`
	PersonRows int             `yaml:"-"`
}

// Algorithm is an algorithm of the catalogue with options. The name auto stands for the program's choice. The
// options mode, l2, radius and loss have the defaults of the program. Further options are the fields of the
// algorithm's type (step_size for StepSize). A list of values gives one algorithm for each value.
type Algorithm struct {
	Name    string         `yaml:"name"`
	Options map[string]any `yaml:"options"`
}

// Peer is another program that runs for comparison (see the package documentation).
type Peer struct {
	Name string `yaml:"name"`
	// Command is a program and its arguments. The program is given by its name in Options.Programs or on the PATH.
	Command []string `yaml:"command"`
	// Options are sent with each request. The table of runs contains them.
	Options    map[string]any `yaml:"options"`
	NonPrivate bool           `yaml:"nonprivate"`
	// Columns is true if the peer also gets the columns of the file as they are before records are scaled to norm 1.
	Columns bool `yaml:"columns"`
	// Splits, if positive, is the number of splits, counted from the first split, on which the peer is run.
	Splits int `yaml:"splits"`
	// Limit is the longest time of a run, such as 30s. A run that takes longer is ended. The default is 10m.
	Limit string `yaml:"limit"`

	limit time.Duration
}

// The tasks.
const (
	taskAUC    = "auc"
	taskMetric = "metric"
)

// maxRuns bounds the number of runs of a plan.
const maxRuns = 10_000_000

// Load reads and checks a plan. An error is marked as input and names the file and the line.
func Load(path string) (*Plan, error) {
	text, err := files.ReadStart(path, strictyaml.MaxBytes+1)
	if err != nil {
		return nil, input.As(fmt.Errorf("experiment: cannot read the plan: %w", err))
	}
	p, err := Parse(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), filepath.Dir(path), text)
	if err != nil {
		return nil, input.As(fmt.Errorf("experiment: %s: %w", path, errors.Unwrap(err)))
	}
	return p, nil
}

// Parse reads and checks the text of a plan. The name is used in the head of tables. Schemas and programs of
// peers are relative to dir. An error is marked as input and names the line.
func Parse(name, dir string, text []byte) (*Plan, error) {
	p, err := parse(text)
	if err != nil {
		return nil, input.As(err)
	}
	p.name, p.dir = name, dir
	return p, nil
}

// New checks the plan p, which was made in Go. Tables show name in their headers. All errors are input errors.
func New(name string, p Plan) (*Plan, error) {
	text, err := json.Marshal(p) // exported fields: all but the records
	if err != nil {
		return nil, input.As(fmt.Errorf("experiment: %w", err))
	}
	p.Data, p.name, p.dir, p.digest = slices.Clone(p.Data), name, ".", digest(text)
	if err := p.check(); err != nil {
		return nil, input.As(fmt.Errorf("experiment: %w", err))
	}
	return &p, nil
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

func parse(text []byte) (*Plan, error) {
	body, err := strictyaml.Parse(text)
	p := &Plan{body: body, digest: digest(text)}
	if err == nil {
		err = strictyaml.Decode(body, p)
	}
	if err != nil {
		return nil, errors.New(strictyaml.Describe(err))
	}
	return p, p.check()
}

// at returns an error with the line of a place in the plan, such as data[0].n.
func (p *Plan) at(place, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if p.body == nil { // of New
		return err
	}
	for ; place != ""; place = place[:max(0, strings.LastIndexAny(place, ".["))] {
		path, bad := yaml.PathString("$." + place)
		if bad != nil {
			continue
		}
		if node, bad := path.FilterNode(p.body); bad == nil && node != nil {
			return fmt.Errorf("line %d: %w", node.GetToken().Position.Line, err)
		}
	}
	return err
}

var planName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// check validates the plan, fills in defaults and lists its methods.
func (p *Plan) check() error {
	p.Task, p.Noises, p.Neighbours = cmp.Or(p.Task, taskAUC), cmp.Or(p.Noises, 1), cmp.Or(p.Neighbours, 3)
	delta := 0.0
	if p.Delta != nil {
		delta = *p.Delta
	}
	if p.Paper != nil {
		if err := p.Paper.check(); err != nil {
			return p.at("paper", "paper: %w", err)
		}
		if p.Paper.Outside() {
			if len(p.Data)+len(p.Algorithms)+len(p.Baselines)+len(p.Peers) > 0 {
				return p.at("paper", "paper: this item is not run here; leave out its data and methods")
			}
			return nil
		}
	}
	switch {
	case p.Task != taskAUC && p.Task != taskMetric:
		return p.at("task", "task %q is unknown; want auc or metric", p.Task)
	case len(p.Data) == 0:
		return errors.New("data is empty; name a data set")
	case p.Splits < 1:
		return p.at("splits", "splits is %d, but must be at least 1", p.Splits)
	case p.Measure != "" && !slices.Contains(measures(), p.Measure):
		return p.at("measure", "measure %q is unknown; want one of %s, or remove the key", p.Measure,
			strings.Join(measures(), ", "))
	case !(p.ObjectiveL2 >= 0) || math.IsInf(p.ObjectiveL2, 0) || p.ObjectiveL2 > 0 && p.Measure == "":
		return p.at("objective_l2", "objective_l2 is %v, but must be finite and at least 0; above 0 it needs the "+
			"key measure", p.ObjectiveL2)
	case p.DeltaRule != "" && (p.DeltaRule != "1/n" || p.Delta != nil):
		return p.at("delta_rule", "delta_rule is %q; the only rule is 1/n, and the key delta must be left out", p.DeltaRule)
	case p.Noises < 1:
		return p.at("noises", "noises is %d, but must be at least 1", p.Noises)
	case p.Neighbours < 1:
		return p.at("neighbours", "neighbours is %d, but must be at least 1", p.Neighbours)
	case p.NoiseSeed != "" && p.NoiseSeed != "split":
		return p.at("noise_seed", "noise_seed is %q; set it to split, or remove the key", p.NoiseSeed)
	}
	for i, e := range p.Epsilon {
		if err := (privacy.Budget{Epsilon: e, Delta: delta}).Validate(); err != nil {
			return p.at(fmt.Sprintf("epsilon[%d]", i), "%w", err)
		}
		if slices.Contains(p.Epsilon[:i], e) {
			return p.at(fmt.Sprintf("epsilon[%d]", i), "epsilon %g is there twice", e)
		}
	}
	names := map[string]bool{}
	for i := range p.Data {
		if err := p.checkData(i, names); err != nil {
			return err
		}
	}
	if err := p.listMethods(); err != nil {
		return err
	}
	if len(p.Epsilon) == 0 && slices.ContainsFunc(p.all, func(m method) bool { return !m.nonPrivate }) {
		return errors.New("epsilon is empty, but the plan has private methods; give at least one epsilon")
	}
	if p.Reference != "" && p.reference() == nil {
		return p.at("reference", "reference %q is not a method of the plan; copy the method from the CSV, with its "+
			"options", p.Reference)
	}
	if runs := p.Runs(); runs > maxRuns {
		return fmt.Errorf("the plan has %d runs, want at most %d", runs, maxRuns)
	}
	return nil
}

func (p *Plan) checkData(i int, names map[string]bool) error {
	d, place := &p.Data[i], fmt.Sprintf("data[%d]", i)
	if !planName.MatchString(d.Name) {
		return p.at(place, "the name of a data set is %q, but must consist of letters, digits, dots and dashes", d.Name)
	}
	if names[d.Name] {
		return p.at(place+".name", "data set %s is there twice", d.Name)
	}
	names[d.Name] = true
	sources := 0
	for _, there := range []bool{d.File != "", d.Synthetic != "", d.Given != nil} {
		if there {
			sources++
		}
	}
	switch {
	case sources != 1:
		return p.at(place, "data set %s needs either file or synthetic, but not both", d.Name)
	case d.File != "" && d.Schema == "":
		return p.at(place, "data set %s: a file needs a schema", d.Name)
	case d.File != "" && (d.Records != 0 || d.Features != 0 || d.Seed != 0 && d.NoiseColumns == 0):
		return p.at(place, "data set %s: the keys records, features and seed are only for synthetic data", d.Name)
	case d.Synthetic != "" && (d.Test != "" || d.Schema != ""):
		return p.at(place, "data set %s: the keys test and schema are only for files", d.Name)
	case d.NoiseColumns < 0:
		return p.at(place+".noise_columns", "data set %s: noise_columns is %d, but must be at least 0",
			d.Name, d.NoiseColumns)
	case len(d.N) == 0:
		return p.at(place, "data set %s: n is empty; list the sizes of the training sets", d.Name)
	}
	if d.Synthetic != "" {
		if err := d.checkSynthetic(); err != nil {
			return p.at(place+".synthetic", "data set %s: %w", d.Name, err)
		}
	}
	for k, n := range d.N {
		where := fmt.Sprintf("%s.n[%d]", place, k)
		if n < 2 || d.Synthetic != "" && n >= d.Records || d.Given != nil && n >= d.Given.Units() {
			return p.at(where, "data set %s: n is %d, but must be at least 2 and less than the number of records", d.Name, n)
		}
		if slices.Contains(d.N[:k], n) {
			return p.at(where, "data set %s: n = %d is there twice", d.Name, n)
		}
	}
	if d.Splits = cmp.Or(d.Splits, p.Splits); d.Splits < 1 {
		return p.at(place+".splits", "data set %s: splits is %d, but must be at least 1", d.Name, d.Splits)
	}
	return nil
}

// block is the set of runs on one training set.
type block struct {
	data, n, split int
	runs           []run
}

// run is one row to be.
type run struct {
	row    Row
	method *method
}

// blocks lists the runs of the plan in its order. The dimension of rows is not set.
func (p *Plan) blocks() []block {
	var out []block
	for i, d := range p.Data {
		for _, n := range d.N {
			for s := range d.Splits {
				b := block{data: i, n: n, split: s}
				add := func(nonPrivate bool, epsilon, delta float64, draw int) {
					for k := range p.all {
						if m := &p.all[k]; m.nonPrivate == nonPrivate && m.runs(s) {
							b.runs = append(b.runs, run{method: m, row: Row{Data: d.Name, N: n, Epsilon: epsilon, Delta: delta,
								Algorithm: m.name, Options: m.options, Split: s, Seed: p.noiseSeed(d.Name, n, epsilon, delta, s, draw)}})
						}
					}
				}
				add(true, math.Inf(1), 0, 0)
				for _, e := range p.Epsilon {
					for draw := range p.Noises {
						add(false, e, p.delta(n), draw)
					}
				}
				out = append(out, b)
			}
		}
	}
	return out
}

// Runs returns the number of runs of the plan.
func (p *Plan) Runs() int {
	private := 0
	for _, m := range p.all {
		if !m.nonPrivate {
			private++
		}
	}
	each, total := len(p.all)-private+private*len(p.Epsilon)*p.Noises, 0
	for _, d := range p.Data {
		total += len(d.N) * d.Splits * each
	}
	return total
}

func (p *Plan) delta(n int) float64 {
	if p.Delta != nil {
		return *p.Delta
	}
	if p.DeltaRule != "" {
		return 1 / float64(n)
	}
	return privacy.DefaultDelta(n)
}

// noiseSeed returns a seed below 2^32, the range of seeds of many programs.
func (p *Plan) noiseSeed(data string, n int, epsilon, delta float64, split, draw int) uint64 {
	if p.NoiseSeed == "split" {
		return uint64(split*p.Noises + draw)
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s\n%d\n%s\n%s\n%d\n%d", p.Seed, data, n, number(epsilon),
		number(delta), split, draw))
	return uint64(binary.BigEndian.Uint32(sum[:]))
}
