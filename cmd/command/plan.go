package command

import (
	"errors"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/internal/page"
)

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
A plan takes all flags of its training; --store and --team do not change it.

Examples:
  dyad plan -n 512 -d 8 --epsilon 1 --delta 1e-5
  dyad plan -n 768 --schema bench/schemas/pima.yaml --epsilon 2
  dyad plan -n 5000 -d 20 --algorithm offpairstrc --set l2=0.01
  dyad plan -n 60 -d 4 --set group-sizes=10,20,30
  dyad plan -n 100000 -d 20 --algorithm dpftrl --set every=100 --set buffer=500
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
	p, err := c.planFlags.plan(shape)
	if err != nil {
		return err
	}
	held, err := c.heldFigures(p.Plan, c.Task, c.Delta)
	if err != nil {
		return err
	}
	return errors.Join(c.emit(a, p.Plan, held), c.write(a, p.Plan, held, c.held, schema))
}

// emit prints the plan of a training, and the plan of its held-out figures, which is nil if there are none, with the
// verdict whether they will be accurate enough.
func (c *planTrainCmd) emit(a *app, p *algorithms.Plan, held *lib.FigurePlan) error {
	if held == nil {
		return a.emitPlan(p)
	}
	t, err := page.TextsOf("en")
	if err != nil {
		return err
	}
	r := heldPlan{Training: p.Report(), HeldOut: held.Report()}
	r.Purpose, _ = c.verdict(t, held)
	if r.InAll, err = inAll(p, held); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(r.Training.Text() + r.HeldOut.Text())
	line(&b, "purpose", "%s", r.Purpose)
	if r.InAll != nil {
		line(&b, "in all", "%s", r.InAll.String())
	}
	return a.emit(r, b.String()+"plan only   no data were read and no budget was charged\n")
}
