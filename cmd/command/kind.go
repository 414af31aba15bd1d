package command

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	lib "dyad"
	"dyad/algorithms"
	"dyad/engine/dataset"
	"dyad/internal/files"
	"dyad/internal/page"
	"dyad/privacy"
)

// Reader is implemented by a kind that reads only part of a schema.
type Reader interface {
	algorithms.Kind
	// Reads returns the kind for data with schema s, and the schema with which the data are read. The returned schema
	// can have other columns, ranges and categories. Reads may change s, which is a copy made for this call. The
	// returned schema is refused if it has another data id, another number of persons, another cap on their rows, or
	// other marks of values taken from the data. It is also refused if it declares public what s does not. A kind that
	// leaves out a column with from_data must set BoundsFromData.
	Reads(s *dataset.Schema) (algorithms.Kind, *dataset.Schema, error)
}

// kindCmd is the command of a kind in With.
type kindCmd struct {
	ownFlags
	Data       dataFiles `required:"" xor:"records" placeholder:"FILE" help:"As in train. A label is not read."`
	Schema     string    `required:"" placeholder:"FILE" help:"Schema of the data (YAML)."`
	Out        string    `short:"o" placeholder:"FILE" help:"File to write. Default for private data: COMMAND.json."`
	PublicData bool      `help:"The data are public: no budget is charged, and the report says so."`
	Epsilon    float64   `positive:"" default:"1" help:"Epsilon to spend on all releases together."`
	Delta      *float64  `placeholder:"DELTA" help:"Delta; 0 asks for pure epsilon. Default: min(1e-5, n^-1.5)."`
	Plan       bool      `required:"" xor:"records" needs:"n" help:"Print what a run on -n records would release and cost. No data are read."`
	N          int       `needs:"plan" positive:"" short:"n" help:"Number of records, for --plan."`
	pageFlag
	runFlags

	kind algorithms.Kind
}

// commands returns the kinds as commands for the parser.
func (w With) commands() (all []kong.Option, err error) {
	for _, k := range w.Kinds {
		c := &kindCmd{kind: k}
		if c.ownFlags, err = optionsFrom([]algorithms.Kind{k}, nil); err != nil {
			return nil, err
		}
		all = append(all, kong.DynamicCommand(k.Info().Name, k.Info().Title, "", c))
	}
	return all, nil
}

// releasedKind is the content of the file that a run of a kind writes, and its JSON output.
type releasedKind struct {
	Format    string            `json:"format"` // the constant kindFormat
	Version   string            `json:"dyad_version"`
	Created   time.Time         `json:"created"`
	Kind      string            `json:"kind"`
	DataID    string            `json:"data_id"`
	Run       string            `json:"run,omitempty"`
	Figures   algorithms.Facts  `json:"figures"`
	Report    algorithms.Report `json:"report"`
	Plan      json.RawMessage   `json:"plan,omitempty"` // algorithms.Plan.Record of a run that was charged
	Options   map[string]any    `json:"options,omitempty"`
	Guarantee privacy.Guarantee `json:"guarantee"`
}

const (
	kindFormat = "dyad-release/1"
	kindBytes  = 1 << 20 // reserved size of a file, so that storing it does not depend on its numbers
)

// kindResult is the output of a run.
type kindResult struct {
	runOutcome
	Kind    string            `json:"kind"`
	Figures algorithms.Facts  `json:"figures"`
	Report  algorithms.Report `json:"report"`
}

// Run prints the plan or carries out the run.
func (c *kindCmd) Run(a *app) error {
	k, err := algorithms.KindWith(c.kind, c.ownOptions()...)
	if err != nil {
		return asInput(err)
	}
	schema, err := dataset.LoadUnlabelledSchema(c.Schema)
	if reader, ok := k.(Reader); ok && err == nil {
		k, schema, err = reads(reader, schema)
	}
	if err != nil {
		return asInput(err)
	}
	if c.Plan || schema.ByPerson() { // persons are refused by every kind; rows must not be read as records
		e, err := dataset.NewEncoder(schema)
		if err != nil {
			return asInput(err)
		}
		p, err := c.planned(k, lib.ShapeOf(e, max(c.N, 1)))
		if err != nil {
			return err
		}
		return a.emitPlan(&p.Plan)
	}
	return c.release(a, k, schema)
}

// reads returns the kind for a schema and a copy of the schema with which it reads. It refuses a schema that would
// protect the records differently.
func reads(k Reader, s *dataset.Schema) (algorithms.Kind, *dataset.Schema, error) {
	name, before := k.Info().Name, protection(s)
	own, read, err := k.Reads(s)
	switch {
	case err != nil:
		return nil, nil, err
	case own == nil || read == nil || own.Info().Name != name:
		return nil, nil, badInput("%s: its method Reads must return a schema and a kind, and the kind must have "+
			"this name", name)
	}
	for i, f := range protection(read) {
		if f != before[i] {
			return nil, nil, badInput("kind %s: Reads must not change who is protected, but it changed %s of the "+
				"schema from %s to %s", name, f[0], before[i][1], f[1])
		}
	}
	e, err := dataset.NewEncoder(read) // validates a copy
	if err != nil {
		return nil, nil, err
	}
	return own, e.Schema(), nil
}

// protection returns, as names and values, who is protected by a schema and how far its ranges can be trusted.
func protection(s *dataset.Schema) (all [][2]string) {
	var persons []dataset.Column
	for _, c := range s.Columns {
		if c.Role == dataset.RolePerson {
			persons = append(persons, c)
		}
	}
	for _, f := range []struct {
		what string
		is   any
	}{
		{"public", s.Public}, {"data_id", s.DataID}, {"persons", s.Persons}, {"ids", s.IDs},
		{"max_rows_per_person", s.MaxRowsPerPerson}, {"rows_per_person", s.RowsPerPerson},
		{"the columns of persons", persons}, {"what was taken from the data (from_data)", s.RangesFromData()},
		{"draft", s.Draft}, {"others: drop", s.SelectsByLabel()},
	} {
		text, _ := json.Marshal(f.is) // cannot fail for texts and whole numbers
		all = append(all, [2]string{f.what, string(text)})
	}
	return all
}

// planned returns the plan for a shape.
func (c *kindCmd) planned(k algorithms.Kind, s lib.Shape) (*algorithms.KindPlan, error) {
	p, err := algorithms.PlanKind(k, algorithms.KindShape{
		Records: s.Records, Features: s.Features, PersonRows: s.PersonRows,
		Budget: lib.Options{Epsilon: c.Epsilon, Delta: c.Delta}.Budget(s.Records), Provenance: s.Provenance,
	})
	return p, asInput(err)
}

// release carries out a run.
func (c *kindCmd) release(a *app, k algorithms.Kind, schema *dataset.Schema) error {
	r := kindResult{runOutcome: runOutcome{Data: c.Data.String(), Public: c.PublicData || schema.Public},
		Kind: k.Info().Name}
	var data *lib.Data
	var p *algorithms.KindPlan
	var record *releasedKind
	of := charging{
		runFlags: c.runFlags, as: targetOf(c.Out, r.Kind+".json", r.Public), inputs: c.Data.and(c.Schema), doing: "releasing",
		page: c.pageFlag, outcome: &r.runOutcome,
	}
	of.recovered = func(saved *lib.Outcome, _ *lib.Ledger) error { return of.noteReleased(a, saved, "figures are") }
	of.plan = func() (planned, error) {
		read, err := a.readTraining(c.Data, schema, dataset.Options{Labels: dataset.LabelsIgnored}, c.PublicData)
		if err != nil {
			return planned{}, err
		}
		data = lib.NewData(read)
		if p, err = c.planned(k, data.Shape()); err != nil {
			return planned{}, err
		}
		r.DataID = schema.DataID
		return planned{plan: &p.Plan, delta: p.Shape.Budget.Delta, n: p.Shape.Records}, asInput(p.Fits(data.Records))
	}
	of.run = func(o lib.Run) (bool, error) {
		o.Checkpoint = -1 // a resumed run starts from the beginning
		made := func(res *algorithms.Result) (*releasedKind, error) {
			x := &releasedKind{Format: kindFormat, Version: lib.Version, Created: o.Created, Kind: r.Kind,
				DataID: cmp.Or(o.DataID, r.DataID), Run: res.Run, Report: p.Report(), Plan: res.Record, Options: o.Options,
				Guarantee: res.Guarantee}
			x.Report.Guarantee = res.Guarantee
			var err error
			x.Figures, err = p.Figures(res.Weights)
			return x, err
		}
		res, name, away := o.Keep(a.ctx, data.Source(), func(res *algorithms.Result) ([]byte, int, error) {
			x, err := made(res)
			if err != nil {
				return nil, 0, err
			}
			text, err := files.Sealed(x)
			return text, max(len(text), kindBytes), err
		}, func(o algorithms.Options) (*algorithms.Result, error) {
			return algorithms.Execute(a.ctx, p.Job(data.Records), o)
		})
		if res == nil {
			return false, a.charged(away)
		}
		var err error
		if record, err = made(res); err != nil {
			return false, err
		}
		r.Guarantee, r.Run, r.Figures, r.Report, r.Model = res.Guarantee, res.Run, record.Figures, record.Report, name
		return settled(asResult(away))
	}
	of.tell = func() error { return a.emitBrief(r, r.text(), r.brief(a, p.Guarantee)) }
	of.draw = func(*lib.Ledger) (document, error) { return r.page(k.Info(), p.Guarantee), nil }
	return of.perform(a)
}

func (r *kindResult) text() string {
	var b strings.Builder
	r.writeData(&b, "")
	b.WriteString(r.Report.Text())
	r.writeLedger(&b)
	b.WriteString(r.Figures.Text())
	some(&b, "file", r.Model)
	return b.String()
}

func (r *kindResult) brief(a *app, planned privacy.Guarantee) string {
	var b strings.Builder
	b.WriteString(r.Figures.Text())
	some(&b, "file", r.Model)
	a.writeWords(&b, r.Guarantee, planned, r.Spent)
	return b.String()
}

// page returns the page of a release.
func (r *kindResult) page(i algorithms.Info, planned privacy.Guarantee) document {
	return document{title: i.Title, guarantee: r.Guarantee, planned: planned, seen: "this release",
		report: &r.Report, file: r.Model, sections: []page.Section{{ID: "figures", Title: "Releases",
			Tables: []page.Table{table("Figures", r.Figures.Rows()...)}}}}
}
