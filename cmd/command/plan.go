package command

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/internal/memory"
)

// planCmd has one command for the plan of an algorithm and one for the ranking of all algorithms.
type planCmd struct {
	Train   planTrainCmd   `cmd:"" help:"Print the whole privacy report of a training; \"dyad plan -n N\" is short for it."`
	Compare planCompareCmd `cmd:"" help:"Rank all algorithms that apply, by the noise that reaches the model."`
}

// plannedFlags are the flags for the public numbers of the records and for assertions about a loss.
type plannedFlags struct {
	Schema string `xor:"features" required:"" placeholder:"FILE" help:"Schema file (YAML): gives the number of encoded features. No data file is opened."`
	N      int    `positive:"" short:"n" help:"Number of records, or of persons if the schema has a column with role person. Default: as the schema declares."`
	D      int    `positive:"" xor:"features" required:"" short:"d" help:"Number of features, if there is no schema."`
	Groups []int  `name:"group-sizes" xor:"held" placeholder:"S,..." help:"Sizes of the public query groups that train, if pairs are formed within groups."`
	constantFlags
	storeFlag
	teamFlags
}

type planTrainCmd struct {
	plannedFlags
	plannedHoldout
	studyFlags
	planFlags
	streamFlags
}

// Help returns a text with examples.
func (planTrainCmd) Help() string {
	return `Everything is computed from public numbers: the report is the one that "dyad train" prints.
A plan may also name a GPU that is not here, as --device cuda:h100 or cuda:h200. "dyad plan compare" ranks all algorithms.
--store and --team do not change a plan, and are taken so that a plan takes the flags of its training.

Examples:
  dyad plan -n 512 -d 8 --epsilon 1 --delta 1e-5
  dyad plan -n 768 --schema bench/schemas/pima.yaml --epsilon 2
  dyad plan -n 5000 -d 20 --algorithm offpairstrc --set l2=0.01
  dyad plan -n 60 -d 4 --set group-sizes=10,20,30
  dyad plan -n 100000 -d 20 --json
  dyad plan -n 100000 -d 20 --algorithm dpftrl --set every=100 --set buffer=500
  dyad plan -n 1000000 -d 20 --device cuda:h200
  dyad plan -n 768 --schema bench/schemas/pima.yaml --report plan.html --set study=Diabetes --set purpose=triage
  dyad plan -n 10000 -d 20 --epsilon 1 --holdout 0.3 --holdout-epsilon 0.5
Constants of a loss of your own, as asserted by you, and the limit of many steps:
  dyad plan -n 256 -d 8 --algorithm offpairc --set G=4 --set L=4 --set Dg=8 --set H=1 --set radius-diameter=2
  dyad plan -n 256 -d 8 --algorithm dpgdsc --set G=4 --set L=4 --set Dg=4 --set l2=0.1 --set radius-diameter=2 --set step-size=0.3 --set steps=1000000`
}

// Run prints the report.
func (c *planTrainCmd) Run(a *app) error {
	schema, shape, err := c.shape(a, &c.planFlags, &c.plannedHoldout)
	if err != nil {
		return err
	}
	if asked, err := c.streams(a, shape); asked {
		return err
	}
	shape.Groups = c.Groups
	closeDevice, err := c.planFlags.open(true)
	if err != nil {
		return err
	}
	defer closeDevice()
	p, err := c.assertedPlan(shape, c.assertion())
	if err != nil {
		return err
	}
	return errors.Join(c.plannedHoldout.emit(a, p.Plan, c.Task, c.Delta), c.report(a, p, schema))
}

// shape returns the shape of the training records, without groups, and their schema if there is one. It stores
// assertions in f.
func (c *plannedFlags) shape(a *app, f *planFlags,
	held *plannedHoldout) (s *dataset.Schema, shape lib.Shape, err error) {
	if c.Schema != "" {
		if s, err = dataset.LoadSchema(c.Schema); err != nil {
			return nil, shape, asInput(err)
		}
	}
	shape = lib.Shape{Features: c.D}
	if s != nil && s.Persons > 0 {
		if c.N != 0 && c.N != s.Persons {
			return nil, shape, badInput("-n %d: %s declares %d persons, and -n is a number of persons, not of rows; leave -n out", c.N, c.Schema, s.Persons)
		}
		c.N = s.Persons
	}
	if shape.Records = held.split(c.N); shape.Records < 1 {
		return nil, shape, badInput("give the number of records with -n")
	}
	if s != nil {
		if len(c.Groups) == 0 && s.ColumnOf(dataset.RoleGroup) != nil {
			a.note("dyad: warning: %s has query groups (role: group), and this plan has none; the plan of their training takes "+
				"their sizes: --set group-sizes=S,...", c.Schema)
		}
		if len(c.Groups) > 0 { // training has no groups, whichever column --group-column names
			s = s.Decided()
		} else if s, err = f.plannedBasis(a, s, shape.Records, c.N); err != nil {
			return nil, shape, err
		}
		e, err := dataset.NewEncoder(s)
		if err != nil {
			return nil, shape, asInput(err)
		}
		shape, a.narrow = lib.ShapeOf(e, shape.Records), s.IsNarrow()
	}
	return s, shape, c.resolve(f, shape.Features)
}

// report writes the approval page if it is requested.
func (c *planTrainCmd) report(a *app, p *lib.Training, s *dataset.Schema) error {
	if c.Report == "" {
		return nil
	}
	held, err := c.heldFigures(p.Plan, c.Task, c.Delta)
	if err != nil {
		return err
	}
	return c.studyFlags.write(a, p.Plan, held, s)
}

// emitPlan prints the report of a plan.
func (a *app) emitPlan(p *algorithms.Plan) error {
	r := p.Report()
	var end strings.Builder
	if z := p.Needs(a.narrow); !writeForecast(&end, &r, p, a.narrow) && z.Seconds > 0 {
		writeNeeds(&end, &r, z, p.Spec.Kernel.Problem())
		if z.Seconds >= measuredSeconds {
			gainElsewhere(&end, &r, p, a.narrow)
		}
	}
	if recipe := maps.Clone(a.recipe); len(recipe) > 0 {
		if recipe["delta"] == nil {
			recipe["delta"] = p.Spec.Budget.Delta
		}
		r.Add("recipe", recipe)
		title := "recipe"
		for _, text := range recipeText(recipe) {
			line(&end, title, "%s", text)
			title = ""
		}
	}
	line(&end, "plan only", "no data were read and no budget was charged")
	return a.emit(r, r.Text()+end.String())
}

// measuredSeconds is the estimated time of a run from which on the plan measures the speed of this machine.
const measuredSeconds = 1

// writeNeeds writes the estimated time and memory of a run.
func writeNeeds(b *strings.Builder, r *algorithms.Report, z algorithms.Needs, p engine.Problem) {
	r.Add("estimated_memory_bytes", z.Memory(1))
	r.Add("estimated_passes", z.Passes)
	r.Add("estimated_bytes_per_pass", z.Records)
	r.Add("estimated_seconds", z.Seconds)
	line(b, "memory", "about %s: records %s, numbers of each record %s, program and reader %s",
		algorithms.Size(z.Memory(1)), algorithms.Size(z.Records), algorithms.Size(z.Vectors),
		algorithms.Size(z.Memory(1)-z.Records-z.Vectors))
	line(b, "passes", "about %g over the records, %s each", algorithms.Roughly(z.Passes), algorithms.Size(z.Records))
	line(b, "time", "%s on one core at 2.5 GHz, estimated from costs that were measured there",
		algorithms.Duration(z.Seconds))
	if z.Seconds >= measuredSeconds {
		here := z.Seconds * cpu.Backend{}.Pace(p)
		r.Add("estimated_seconds_here", here)
		line(b, "", "here: %s with %d workers, by a measurement of 20 ms", algorithms.Duration(here), runtime.GOMAXPROCS(0))
	}
	if free := memory.Available(); free > 0 {
		ranks := z.Processes(free)
		r.Add("processes_that_hold_it", ranks)
		if ranks != 1 {
			many := fmt.Sprintf("%d processes with %s each hold the records", ranks, algorithms.Size(free))
			if ranks == 0 {
				many = fmt.Sprintf("no number of processes with %s each holds the records", algorithms.Size(free))
			}
			line(b, "here", "%s", many)
		}
	}
}
