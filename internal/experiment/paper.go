package experiment

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/internal/input"
	"dyad/privacy"
)

// Paper describes the table or figure of a paper that a plan repeats, and the numbers that the paper prints.
// Package reproduce reads it.
type Paper struct {
	// Name is the key of the paper (huai, kang, xue, han, li). Item is the name of the table or figure. Part is
	// the name of this plan if an item has several plans.
	Name string `yaml:"name"`
	Item string `yaml:"item"`
	Part string `yaml:"part"`
	// Setting describes the experimental setting of the paper and how the plan differs from this setting. Verdict
	// describes the result in a sentence.
	Setting string `yaml:"setting"`
	Verdict string `yaml:"verdict"`
	// Seconds is the estimated time of all runs on one core.
	Seconds float64 `yaml:"seconds"`
	// Axis is "n" or "epsilon". It is the x axis of figures and the axis of the values in Rows. The default is epsilon.
	Axis string `yaml:"axis"`
	// Rows are the numbers that the paper prints. If Rows is empty, the paper has only a figure from which the
	// numbers cannot be read.
	Rows []paperRow `yaml:"rows"`
	// NotPrinted is true if the paper prints no results of the plan's algorithms.
	NotPrinted bool `yaml:"not_printed"`
	// Ours is the method that verdicts show as the program's own choice. The default is auto.
	Ours string `yaml:"ours"`
	// Rates are the exponents that theorems claim.
	Rates []PaperRate `yaml:"rates"`
	// Missing lists data that the item needs and that no command of this program can get. Impossible is the reason why
	// no part of the item can be run.
	Missing    []string `yaml:"missing"`
	Impossible string   `yaml:"impossible"`
	// Differs lists how this run differs from the paper's run, such as other records, fewer records or fewer
	// repeats. An item with such differences counts as partly reproduced.
	Differs []string `yaml:"differs"`
	// Command is a command that computes the item, if the runner of this package does not. It is run
	// in the root of the repository. Table describes how to read its result.
	Command string     `yaml:"command"`
	Quick   string     `yaml:"quick"` // a short form of Command
	Table   paperTable `yaml:"table"`
}

// paperRow is a row of a table of the paper. It has a value for each point of Axis.
type paperRow struct {
	Data      string    `yaml:"data"`
	Algorithm string    `yaml:"algorithm"`
	Values    []float64 `yaml:"values"`
	// Note is set for a row whose printed values are doubtful.
	Note string `yaml:"note"`
}

// PaperRate is the exponent of a rate in n, d or epsilon.
type PaperRate struct {
	Method   string  `yaml:"method"`
	Against  string  `yaml:"against"`
	Exponent float64 `yaml:"exponent"`
	// Less is a method whose values are subtracted before the exponent is fitted. The difference is the cost
	// of privacy without the cost of having few records.
	Less string `yaml:"less"`
	Of   string `yaml:"of"`
}

// paperTable describes means of a column of a CSV file, grouped by the values of other columns.
type paperTable struct {
	File  string   `yaml:"file"` // a path relative to bench/results
	By    []string `yaml:"by"`
	X     string   `yaml:"x"` // the column of the figure's axis, one of By
	Value string   `yaml:"value"`
	// Panels draws each run as a point (X, Value). Runs with the same value in the first column of By share a figure.
	Panels bool `yaml:"panels"`
	// Cells are the numbers that the paper prints. Each number is stored with the values of the columns in By.
	Cells []PaperCell `yaml:"cells"`
}

// PaperCell is a number of a table.
type PaperCell struct {
	At    []string `yaml:"at"`
	Value float64  `yaml:"value"`
}

// Outside reports whether the runner of this package does not run the item.
func (p *Paper) Outside() bool { return p.Command != "" || p.Impossible != "" }

func (p *Paper) check() error {
	switch {
	case p.Name == "" || p.Item == "":
		return errors.New("want name and item")
	case p.Axis != "" && p.Axis != "n" && p.Axis != "epsilon":
		return fmt.Errorf("axis %q is unknown, want n or epsilon", p.Axis)
	case p.Command != "" && (p.Table.File == "" || len(p.Table.By) == 0 || p.Table.Value == ""):
		return errors.New(`the key "command" needs a "table" with "file", "by" and "value"`)
	}
	for _, r := range p.Rates {
		if r.Against != "n" && r.Against != "d" && r.Against != "epsilon" {
			return fmt.Errorf(`the key "against" of a rate is %q, but it must be n, d or epsilon`, r.Against)
		}
	}
	return nil
}

// Quick returns a short form of the plan with only the first data set, size and epsilon, and with one
// split. The runs are of the same kinds.
func (p *Plan) Quick() *Plan {
	q := *p
	q.Data = []Data{p.Data[0]}
	q.Data[0].N, q.Data[0].Splits = p.Data[0].N[:1], 1
	q.Epsilon = p.Epsilon[:min(1, len(p.Epsilon))]
	return &q
}

// Scales returns one text for each data set, which states the encoder's factor. The encoder maps every range to
// [-1, 1] and multiplies it by the factor before it projects a record to norm 1. Data sets without a schema have
// no factor.
func (p *Plan) Scales() (texts []string, err error) {
	for _, d := range p.Data {
		if d.Schema == "" {
			continue
		}
		schema, err := p.schema(d.Schema)
		if err != nil {
			return nil, err
		}
		e, err := dataset.NewEncoder(schema)
		if err != nil {
			return nil, err
		}
		texts = append(texts, fmt.Sprintf("%.3f on %s", e.Factor(), d.Name))
	}
	return texts, nil
}

// Done returns the number of runs in a file of the plan. It is 0 if the file does not exist.
func (p *Plan) Done(path string) (int, error) {
	if _, err := os.Stat(path); err != nil {
		return 0, nil
	}
	rows, err := p.Rows(path)
	return len(rows), err
}

// Given holds two guarantees of a method in a cell: the requested guarantee, and the guarantee
// that is proved for the method's noise.
type Given struct {
	Data      string  `csv:"data"`
	N         int     `csv:"n"`
	Epsilon   float64 `csv:"epsilon %.6g"`
	Delta     float64 `csv:"delta %.6g"`
	Algorithm string  `csv:"algorithm"`
	Options   string  `csv:"options"`
	// Radius is the radius of the ball. Steps is the number of updates, and TotalStep is the sum of their step sizes.
	Radius    float64 `csv:"radius %.6g"`
	Steps     int     `csv:"steps"`
	TotalStep float64 `csv:"total_step %.6g"`
	// Sigma is the standard deviation of the noise of one release, per coordinate. If the releases have
	// different noise, Sigma describes the release with the highest cost. For a stream, Sigma is the standard
	// deviation of release t, multiplied by alpha t/2.
	Sigma float64 `csv:"sigma %.6g"`
	// Gives is the epsilon that is proved at Delta for the method's noise. It is +Inf if no epsilon is proved.
	Gives float64 `csv:"epsilon_given %.6g"`
	// Refused is the reason why there is no plan.
	Refused string `csv:"refused"`
}

// Gives returns, for every private algorithm in every cell, the requested guarantee and the proved guarantee. It
// makes the plans from public numbers. `d` maps the name of a data set to its number of features.
func (p *Plan) Gives(d map[string]int) []Given {
	var out []Given
	for _, data := range p.Data {
		for _, n := range data.N {
			for _, e := range p.Epsilon {
				for i := range p.all {
					m := &p.all[i]
					if m.nonPrivate || m.peer != nil || d[data.Name] == 0 {
						continue
					}
					g := Given{Data: data.Name, N: n, Epsilon: e, Delta: p.delta(n), Algorithm: m.name, Options: m.options}
					budget := privacy.Budget{Epsilon: e, Delta: g.Delta}
					problem := engine.Problem{N: n, D: d[data.Name], Bounds: engine.UnitBounds()}
					_, plan, err := m.plan(p.Task, cpu.Backend{}, problem, budget)
					if err != nil {
						g.Refused = status(err)
					} else {
						g.Radius = plan.Spec.Kernel.Problem().Radius
						g.Steps, g.TotalStep, g.Gives = plan.Schedule.Steps, plan.Schedule.TotalStep, plan.Guarantee.Epsilon
						if noise, ok := plan.Noise().(privacy.Gaussian); ok {
							g.Sigma = noise.Sigma
						}
					}
					out = append(out, g)
				}
			}
		}
	}
	return out
}

// WriteGives writes the results of Gives as CSV.
func WriteGives(path string, all []Given) error {
	names, _ := csvOf(Given{})
	text := csvLine(names)
	for _, r := range all {
		_, f := csvOf(r)
		if r.Refused != "" {
			clear(f[6:11])
		}
		text += csvLine(f)
	}
	return replace(path, []byte(text))
}

// ReadGives reads a file that WriteGives wrote.
func ReadGives(path string) ([]Given, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	all := make([]Given, max(1, len(lines))-1)
	for i := range all {
		err = cmp.Or(err, parseCSV(&all[i], lines[i+1]))
	}
	if err != nil || len(lines) == 0 {
		return nil, input.As(fmt.Errorf("experiment: %s is not a CSV table of guarantees", path))
	}
	return all, nil
}

// PrivateAlgorithms returns the names of the plan's private algorithms, each once.
func (p *Plan) PrivateAlgorithms() (names []string) {
	for _, m := range p.all {
		if !m.nonPrivate && !slices.Contains(names, m.name) {
			names = append(names, m.name)
		}
	}
	return names
}
