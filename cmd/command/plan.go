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
