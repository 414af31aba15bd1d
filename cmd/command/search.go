package command

import (
	"fmt"
	"slices"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/algorithms/search"
	"dyad/engine/cuda"
	"dyad/engine/dataset"
	"dyad/privacy"
)

type searchCmd struct {
	Candidates string    `required:"" xor:"settings" placeholder:"FILE" help:"Settings to try (YAML), as in \"dyad search --help\"."`
	Models     []string  `required:"" xor:"settings" placeholder:"FILE" help:"Public or released models to choose from, instead of settings."`
	Data       dataFiles `required:"" xor:"records" placeholder:"FILE" help:"As in train: a data file, or several."`
	Schema     string    `required:"" placeholder:"FILE"`
	Out        string    `writes:"model" short:"o" placeholder:"FILE" help:"Model file of the winner. Default: model.json; with --models, winner.json (a copy)."`
	Holdout    *float64  `within:"[0,1)" not:"plan" why:"-n counts the records that are used" placeholder:"F" help:"As in train. \"dyad evaluate\" with the same flags measures the winner on them. Default: 0."`
	SplitSeed  uint64    `default:"1"`
	PublicData bool      `help:"The data are public: no budget is charged, and the report says so."`
	Epsilon    float64   `positive:"" default:"1"`
	Delta      *float64  `placeholder:"DELTA" help:"Delta; 0 asks for pure epsilon. Default: min(1e-5, n^-1.5)."`
	Road       string    `default:"auto" enum:"auto,compose,random-stopping,noisy-max" help:"compose: train every setting, then choose privately. random-stopping: run random settings, and release the best of the first J; J is secret. noisy-max: for --models. auto: noisy-max with --models, else the cheaper of compose and random-stopping."`
	Runs       int       `positive:"" placeholder:"K" help:"Number of runs of random-stopping. Default: 4 for each setting, at least 8 and at most 64."`
	Plan       bool      `required:"" xor:"records" needs:"n" help:"Print what a run on -n records would release and cost. No data are read."`
	N          int       `positive:"" needs:"plan" short:"n" help:"As in plan, with --plan."`
	Workers    int       `positive:"" help:"CPU workers; the result has the same bits for any number. Default: all cores."`
	deviceFlag
	labelsFlag
	storeFlag
	runFlags
	pageFlag
}

// Run prints the plan or carries out the search.
func (c *searchCmd) Run(a *app) error {
	closeDevice, err := c.openDevice(c.Workers, cuda.AutoPrecision)
	if err != nil {
		return err
	}
	defer closeDevice()
	if c.Plan {
		s, _, err := c.planned(func(s *dataset.Schema) (*lib.Data, lib.Shape, error) {
			e, err := dataset.NewEncoder(s)
			if err != nil {
				return nil, lib.Shape{}, asInput(err)
			}
			shape := lib.ShapeOf(e, c.N)
			if s.ColumnOf(dataset.RoleGroup) != nil {
				shape.Groups = []int{c.N}
			}
			return nil, shape, nil
		})
		if err != nil {
			return err
		}
		return a.emitPlan(&s.Plan.Plan)
	}
	return c.search(a)
}

// search carries out the search.
func (c *searchCmd) search(a *app) error {
	as := targetOf(c.Out, "winner.json", c.PublicData)
	if c.Out == "" && c.Candidates != "" {
		as = target{name: "model.json"}
	}
	r := searchResult{Task: taskAUC, runOutcome: runOutcome{Data: c.Data.String(), Public: c.PublicData}}
	var s *lib.Search
	var data []*lib.Data
	var found *lib.Chosen
	return charging{
		runFlags: c.runFlags, as: as, inputs: c.Data.and(append(c.Models, c.Schema, c.Labels, c.Candidates)...),
		doing: "training", page: c.pageFlag, outcome: &r.runOutcome,
		plan: func() (p planned, err error) {
			read := func(of *dataset.Schema) (*lib.Data, lib.Shape, error) { return c.read(a, of, &r.Heldout) }
			if s, data, err = c.planned(read); err != nil {
				return p, err
			}
			schema := data[0].Schema()
			r.Records, r.DataID, r.Public = data[0].Records.Units(), schema.DataID, c.PublicData || schema.Public
			return planned{plan: &s.Plan.Plan, delta: s.Options.Budget.Delta, n: r.Records, models: c.Models,
				free: as.spare && r.Public}, nil
		},
		run: func(o lib.Run) (bool, error) {
			var away error
			var m *lib.Trained
			if found, away = s.Run(a.ctx, data, o); found != nil {
				m = found.Trained
			}
			done, away := settled(r.ran(a, m, away))
			if !done {
				return false, away
			}
			r.Run, r.Guarantee = found.ChargedRun, found.Promise
			r.Winner, r.Road = found.Winner, string(s.Options.Road)
			if s.Options.Road == search.RandomStopping {
				r.AUC = &found.AUC
			}
			if r.Heldout > 0 && r.Model != "" {
				r.Command = c.trained().heldCommand(r.Model)
			}
			r.Report = s.Report()
			r.Report.Guarantee = r.Guarantee
			if r.Alone = s.Alone.Epsilon; !r.Public {
				r.Choice = s.Guarantee.Epsilon - r.Alone
			}
			return true, away
		},
		tell: func() error { return a.emitBrief(r, r.text(), r.brief(a, s.Plan.Plan.Guarantee)) },
		draw: func(*lib.Ledger) (document, error) { return r.page(found.Trained.Model, s.Plan.Plan.Guarantee), nil },
	}.perform(a)
}

// read reads the records of a candidate, and counts those that are held out.
func (c *searchCmd) read(a *app, s *dataset.Schema, heldout *int) (*lib.Data, lib.Shape, error) {
	o, err := c.storeFlag.options(s, c.Data, c.labelsFlag.options(dataset.Options{Persons: dataset.KeepPersons}))
	if err != nil {
		return nil, lib.Shape{}, err
	}
	d, err := a.readTraining(c.Data, s, o, c.PublicData)
	if err != nil {
		return nil, lib.Shape{}, err
	}
	all, held, err := c.trained().split(lib.NewData(d)) // the same records as a training holds out
	if err != nil {
		return nil, lib.Shape{}, err
	}
	if held != nil {
		*heldout = held.Records.Units()
	}
	return all, all.Shape(), nil
}

// trained returns the training of a winner.
func (c *searchCmd) trained() *trainCmd {
	return &trainCmd{trainedFlags: trainedFlags{Data: c.Data, Holdout: c.Holdout, SplitSeed: c.SplitSeed,
		labelsFlag: c.labelsFlag, runFlags: c.runFlags}}
}

// planned returns the plan of the search. Function read provides the data, or only their shape, for a schema.
func (c *searchCmd) planned(read func(*dataset.Schema) (*lib.Data, lib.Shape,
	error)) (*lib.Search, []*lib.Data, error) {
	schema, err := dataset.LoadSchema(c.Schema)
	if err != nil {
		return nil, nil, asInput(err)
	}
	o := lib.SearchOptions{Epsilon: c.Epsilon, Delta: c.Delta, Runs: c.Runs}
	if c.Road != "auto" {
		o.Road = search.Road(c.Road)
	}
	if len(c.Models) > 0 {
		return c.plannedModels(o, schema, read)
	}
	candidates, err := readCandidates(c.Candidates)
	if err != nil {
		return nil, nil, err
	}
	var data []*lib.Data
	seen := map[string]int{} // maps the features of a setting to the first setting with the same features
	for i, one := range candidates {
		setting, err := one.setting()
		var restricted *dataset.Schema
		if err == nil {
			restricted, err = schema.Restrict(one.Features)
		}
		if err != nil {
			return nil, nil, badInput("candidate %d, %q: %w", i+1, one.Name, err)
		}
		key := strings.Join(one.Features, "\x00")
		if first, ok := seen[key]; ok {
			data, setting.Shape = append(data, data[first]), o.Settings[first].Shape
		} else {
			seen[key] = i
			d, shape, err := read(restricted)
			if err != nil {
				return nil, nil, err
			}
			data, setting.Shape = append(data, d), shape
		}
		setting.Options.On = c.device
		o.Settings = append(o.Settings, setting)
	}
	s, err := lib.PlanSearch(o.Settings[0].Shape, o)
	return s, data, err
}

// plannedModels plans a choice among released models.
func (c *searchCmd) plannedModels(o lib.SearchOptions, schema *dataset.Schema,
	read func(*dataset.Schema) (*lib.Data, lib.Shape, error)) (*lib.Search, []*lib.Data, error) {
	var data []*lib.Data
	var shape lib.Shape
	for i, name := range c.Models {
		m, err := readModel(name)
		if err != nil {
			return nil, nil, err
		}
		of, err := schemaOf(name, m.Encoder.Schema(), schema)
		if err != nil {
			return nil, nil, err
		}
		if i > 0 && !m.SameClasses(o.Models[0]) {
			return nil, nil, badInput("%s and %s use different labels for the two classes, so their AUCs cannot be "+
				"compared", c.Models[0], name)
		}
		d, same, err := read(of)
		if err != nil {
			return nil, nil, err
		}
		if data = append(data, d); i == 0 {
			shape = same
		}
		o.Models, o.ModelNames = append(o.Models, m), append(o.ModelNames, name)
	}
	s, err := lib.PlanSearch(shape, o)
	return s, data, err
}

// schemaOf returns the schema for reading records for a model. The encoding comes from the model's schema; the
// meaning and the owner of the data come from the given schema.
func schemaOf(name string, m, schema *dataset.Schema) (*dataset.Schema, error) {
	of := *m
	of.DataID, of.Public, of.RowsPerPerson = schema.DataID, schema.Public, schema.RowsPerPerson
	of.Persons, of.IDs, of.MaxRowsPerPerson = schema.Persons, schema.IDs, schema.MaxRowsPerPerson
	of.Columns = slices.Clone(m.Columns)
	for i, c := range of.Columns {
		if c.Role == dataset.RolePerson {
			of.Columns[i] = dataset.Column{Name: c.Name, Field: c.Field, Position: c.Position, Role: dataset.RoleIgnore}
		}
	}
	for _, c := range schema.Columns {
		if c.Role != dataset.RolePerson {
			continue
		}
		at := slices.IndexFunc(of.Columns, func(o dataset.Column) bool {
			return o.Name == c.Name &&
				o.Role == dataset.RoleIgnore
		})
		if at < 0 {
			return nil, badInput("the column %q names persons; the schema of %s must have it with the role person "+
				"or ignore", c.Name, name)
		}
		of.Columns[at].Role = dataset.RolePerson
	}
	return &of, asInput(of.Validate())
}

// writeWinner reports the choice.
func (r *searchResult) writeWinner(b *strings.Builder, how string) {
	line(b, "winner", "%s%s", r.Winner, how)
	if r.AUC != nil {
		line(b, "", "noisy AUC %.4f on the training records, the best of several; expect less on other records", *r.AUC)
	}
}

// brief returns the report in a few lines.
func (r *searchResult) brief(a *app, planned privacy.Guarantee) string {
	var b strings.Builder
	how, use := ", a released model", r.Winner // winner of --models
	if r.Model != "" {
		how, use = ", whose model is "+r.Model, r.Model
	}
	unit := pick(r.Guarantee.Unit == algorithms.OnePerson, "persons", "records")
	r.writeWinner(&b, fmt.Sprintf("%s, chosen by the AUC on %d %s (%s)", how, r.Records, unit, r.Road))
	a.writeWords(&b, r.Guarantee, planned, r.Spent)
	if r.Command != "" {
		line(&b, "next", "to get figures of the %d held-out %s, run %s", r.Heldout, unit, r.Command)
		return b.String()
	}
	line(&b, "next", "dyad predict %s --data FILE scores records; dyad search --plan prints the derivation", use)
	return b.String()
}

func (r *searchResult) text() string {
	var b strings.Builder
	r.writeData(&b, "")
	b.WriteString(r.Report.Text())
	r.writeWinner(&b, "")
	r.writeLedger(&b)
	if r.Heldout > 0 {
		line(&b, "held out", "%d of %d were not used", r.Heldout, r.Heldout+r.Records)
	}
	if r.Command != "" {
		line(&b, "", "private figures of them: %s", r.Command)
	}
	r.writeModel(&b, r.Task)
	r.writeTime(&b)
	return b.String()
}
